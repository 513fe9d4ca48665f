// SPDX-License-Identifier: Apache-2.0
// The ropes of an image encoder: rows and columns of patches, and perhaps time.
#pragma once

#include <string_view>

#include "model/keys.hpp"

namespace rotary::impl {

/// True where the table of image encoders has a row for this model_type.
bool is_vision_model(std::string_view model_type) noexcept;

/// Adds rope "vision" of an encoder that this object describes, or ropes "vision-x" and "vision-y"; `pairing` where
/// its file orders lanes otherwise than Hugging Face's. A type without rope adds nothing.
void add_vision(const Keys& config, std::string_view model_type, std::optional<Pairing> pairing,
                ModelBuilder& builder);

/// The same for a file that describes nothing but the encoder: its layers have that rope.
void add_encoder(const Keys& config, std::string_view model_type, ModelBuilder& builder);

}  // namespace rotary::impl
