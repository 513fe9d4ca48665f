// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which position axis drives which pair. A model states two things: how many pairs each axis has (its
/// sections), and in which order they lie (its AxisOrder). Together they are one map, the axis of each pair:
///
///     const std::vector<std::int64_t> sections = {24, 20, 20};
///     auto map = rotary::axis_map(AxisOrder::interleaved, sections).value();
///     map[0], map[1], map[2], map[3];   // 0 1 2 0: time, height, width, time
///
/// Sections are always in the order of the position axes: sections[a] pairs for axis a.
#pragma once

#include <cstdint>
#include <optional>
#include <rotary/export.hpp>
#include <rotary/status.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace rotary {

/// The order of the pairs of several axes. Pictures: t, h, w are axes 0, 1, 2; the sections are in braces.
enum class AxisOrder : std::uint8_t {
  contiguous,   ///< {2,3,3} t t h h h w w w: in runs (Qwen2-VL, GLM-4V; with four axes Hunyuan-VL's XD-RoPE)
  interleaved,  ///< {4,2,2} t h w t h w t t: in turns, axis 0 where the turn has none (Qwen3-VL, Qwen3.5)
  imrope,       ///< {4,2,2} t h w t h w t x: in turns, axis 3 where the turn has none (ggml's IMROPE)
  round_robin,  ///< {2,3,3} t h w t h w h w: in turns, the next axis where the turn has none (SGLang's GLM)
  spread,       ///< {2,3,3} t h w h w h w t: the axis that lags most, never twice; ends on axis 0 (openPangu)
  space_then_time,  ///< {2,3,3} h w h w h w t t: all but axis 0 in turns, then axis 0 (Ernie 4.5-VL, Bailing)
};
/// "contiguous", "interleaved", ...
ROTARY_API std::string_view name(AxisOrder order) noexcept;
ROTARY_API std::optional<AxisOrder> axis_order_from_name(std::string_view word) noexcept;

/// The axis of each pair; as long as the sections sum to. Errors: more sections than Spectrum::max_axes, a
/// negative one, too many pairs; interleaved and imrope: more pairs of an axis than it has turns; imrope: not
/// 3 sections (or 4, the last of them 0); spread: not 2 or 3 sections, or of 3 the first is 0.
ROTARY_API Result<std::vector<std::uint8_t>> axis_map(AxisOrder order,
                                                      std::span<const std::int64_t> sections);

}  // namespace rotary
