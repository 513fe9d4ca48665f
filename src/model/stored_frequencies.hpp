// SPDX-License-Identifier: Apache-2.0
// Inverse frequencies that a checkpoint holds beside its weights, against those of its description.
#pragma once

#include <filesystem>
#include <optional>
#include <rotary/formats/safetensors.hpp>

#include "model/builder.hpp"

namespace rotary::impl {

/// The weights of a folder: model.safetensors.index.json of a split checkpoint, else model.safetensors.
std::optional<std::filesystem::path> weights_in(const std::filesystem::path& folder);

/// Compares every tensor of frequencies in these weights (a .safetensors, or an index of several) with the rope it
/// belongs to. A value a rope says how they agree, a warning what differs; weights that cannot be read are one.
void compare_stored(const std::filesystem::path& weights, ModelBuilder& builder);

/// The same for the tensors of one file that is open.
void compare_stored(const formats::Safetensors& file, const std::string& origin, ModelBuilder& builder);

}  // namespace rotary::impl
