// SPDX-License-Identifier: Apache-2.0
// The rope description of real models, as their own configs state it; keys that say nothing about the rope are left
// out. `source` says whose numbers they are: of a published file, or of a class of Transformers or diffusers where that is
// what is known for certain. The rows stand in presets/, in any order.
#include <algorithm>
#include <array>
#include <rotary/model.hpp>

namespace rotary {
namespace {

// clang-format off
constexpr auto table = [] {
  auto rows = std::to_array<Preset>({
#include "presets/gpt.inc"
#include "presets/llama.inc"
#include "presets/qwen.inc"
#include "presets/deepseek.inc"
#include "presets/gemma.inc"
#include "presets/image.inc"
#include "presets/audio.inc"
#include "presets/others.inc"
  });
  std::ranges::sort(rows, {}, &Preset::name);
  return rows;
}();
// clang-format on

}  // namespace

std::span<const Preset> presets() noexcept { return table; }

}  // namespace rotary
