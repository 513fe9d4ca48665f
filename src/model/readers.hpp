// SPDX-License-Identifier: Apache-2.0
// From a description to a Model, one reader a kind of file.
#pragma once

#include <rotary/formats/gguf.hpp>

#include "model/builder.hpp"
#include "model/json.hpp"

namespace rotary::impl {

void read_hf_config(const Json& document, ModelBuilder& builder);
void read_gguf(const formats::Gguf& file, ModelBuilder& builder);

}  // namespace rotary::impl
