// SPDX-License-Identifier: Apache-2.0
// One pass from memory to memory: heads are normed, turned, scaled and rounded without leaving the registers. What a
// stage does in three (stage_args.hpp), with the same operations.
#pragma once

#include <cstdint>

#include "kernels/rotate_args.hpp"
#include "kernels/stage_args.hpp"

namespace rotary::impl {

/// The most that turn in registers.
inline constexpr std::int64_t max_fused_pairs = 256;

/// f32, f16 or bf16 to f32 or less. The lanes of a head lie together and all turn or none does; they, or of halves the
/// pairs, fill Kernel::fused_lanes one or more times.
struct FuseArgs {
  std::int64_t tokens, heads, head_dim;
  const void* in;
  DType in_dtype;
  std::int64_t in_token_stride, in_head_stride;
  void* out;  ///< the memory of `in`, or other memory
  DType out_dtype;
  std::int64_t out_token_stride, out_head_stride;

  const float* rows;  ///< of cos and sin, as those of RotateArgs
  std::int64_t pairs;
  Lanes lanes;
  bool conjugate;

  bool norm;
  const float* weight;  ///< of the norm; null: none
  float epsilon;
  const float* scales;  ///< one a head, scale_stride apart (0: one for all)
  std::int64_t scale_stride;
  Overflow overflow;
};

using FuseFunction = void (*)(const FuseArgs&) noexcept;

}  // namespace rotary::impl
