// SPDX-License-Identifier: Apache-2.0
// A rope and shapes as a kernel sees them.
#pragma once

#include <rotary/rope.hpp>

#include "kernels/kernel_list.hpp"

namespace rotary::impl {

inline KernelQuery kernel_query(const Rope& rope, const OperandShape& q, const OperandShape* k) noexcept {
  const bool from_adjacent = rope.pairing() != Pairing::half_split;
  const bool to_adjacent = rope.pairing() == Pairing::interleaved;
  // Turning back undoes the lane order as well.
  const bool back = rope.direction() == Direction::inverse || rope.direction() == Direction::gradient;
  const auto lanes = [](bool adjacent) { return adjacent ? Lanes::adjacent : Lanes::halves; };
  const auto unit = [](const OperandShape& shape) {
    return shape.in.lane_stride == 1 && shape.out.lane_stride == 1;
  };
  return {.dtype = q.in.dtype,
          .in_lanes = lanes(back ? to_adjacent : from_adjacent),
          .out_lanes = lanes(back ? from_adjacent : to_adjacent),
          .pairs = rope.pairs(),
          .unit_lane_strides = unit(q) && (k == nullptr || unit(*k))};
}

}  // namespace rotary::impl
