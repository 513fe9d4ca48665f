// SPDX-License-Identifier: Apache-2.0
// What happens to heads around their rotation: they are loaded into a stage, which stays in the first-level
// cache, as f32 (f64 from f64), turned there, and stored from it. Any element type goes in, any goes out; the
// two kernels know nothing of each other.
#pragma once

#include <cstdint>
#include <rotary/dtype.hpp>

namespace rotary::impl {

/// Sums of squares in flight: the j-th takes the lanes j, j + norm_sums, ... of a head.
inline constexpr std::int64_t norm_sums = 16;

/// Heads in memory and in the stage. Strides count elements; lanes of the stage lie together.
struct StageBlock {
  std::int64_t tokens, heads, head_dim;
  std::int64_t token_stride, head_stride, lane_stride;
  std::int64_t stage_token_stride, stage_head_stride;
};

struct LoadArgs {
  StageBlock block;
  const void* in;
  DType dtype;  ///< f64: the stage and the weights are double, else float
  void* stage;
  bool norm;
  const void* weight;  ///< of the norm, head_dim numbers of the stage's type; null: none
  float epsilon;
};

struct StoreArgs {
  StageBlock block;
  const void* stage;
  bool wide;  ///< the stage is double
  void* out;
  DType dtype;
  const float* scales;  ///< one a head, scale_stride apart (0: one for all)
  std::int64_t scale_stride;
  Overflow overflow;
};

using LoadFunction = void (*)(const LoadArgs&) noexcept;
using StoreFunction = void (*)(const StoreArgs&) noexcept;

}  // namespace rotary::impl
