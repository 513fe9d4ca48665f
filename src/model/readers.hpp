// SPDX-License-Identifier: Apache-2.0
// From a description to a Model, one reader a kind of file.
#pragma once

#include <string_view>

#include "model/builder.hpp"
#include "model/gguf_values.hpp"
#include "model/json.hpp"

namespace rotary::impl {

void read_hf_config(const Json& document, ModelBuilder& builder);
/// True for the config.json of a model of diffusers.
bool is_diffusers(const Json& document);
/// One of the generators that read_diffusers knows.
bool is_generator(std::string_view class_name) noexcept;
void read_diffusers(const Json& document, ModelBuilder& builder);
/// True for a params.json of Mistral or Meta and the .json of gpt-oss's and DeepSeek's own code.
bool is_params(const Json& document);
void read_params(const Json& document, ModelBuilder& builder);
void read_gguf(GgufParts parts, ModelBuilder& builder);

}  // namespace rotary::impl
