// SPDX-License-Identifier: Apache-2.0
// The one plain struct that every rotation kernel takes: some tokens of one batch row, their rows of cos and
// sin, and the heads of q (and k) that turn by them. A kernel knows no policies, positions or layouts, and
// trusts what it is given: the plan has validated it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <rotary/dtype.hpp>

namespace rotary::impl {

/// Where the two lanes of pair i lie, counted from the first lane of the rotary window.
enum class Lanes : std::uint8_t {
  halves,   ///< i and i + pairs
  adjacent  ///< 2i and 2i + 1
};

/// Half the widest rotary window, Rope::max_rotary_dim.
inline constexpr std::int64_t max_pairs = 4096;

struct RotateArgs {
  /// One tensor. Pointers are to the first lane of the window of the first token's first head; strides count
  /// elements. In place: in == out and the strides agree.
  struct Operand {
    const void* in;
    void* out;
    std::int64_t heads;
    std::int64_t in_token_stride, in_head_stride, in_lane_stride;
    std::int64_t out_token_stride, out_head_stride, out_lane_stride;
  };
  Operand operand[2];
  std::int32_t operands;  ///< 1 or 2

  DType dtype;
  Lanes in_lanes, out_lanes;
  bool conjugate;  ///< turn by -angle: the sines change sign
  std::int64_t tokens;
  std::int64_t pairs;  ///< 1 ... max_pairs
  const void* rows;    ///< cos[pairs] sin[pairs] a token; double if dtype is f64, else float
  std::int64_t bytes;  ///< that the whole call turns, of which this may be a part
};

using RotateFunction = void (*)(const RotateArgs&) noexcept;

}  // namespace rotary::impl
