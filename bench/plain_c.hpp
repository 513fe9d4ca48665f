// SPDX-License-Identifier: Apache-2.0
// What a careful person would write first: loops that the compiler vectorises, for heads of 128 lanes.
#pragma once

#include <cstdint>
#include <rotary/dtype.hpp>

namespace rotary::bench {

inline constexpr std::int64_t head_dim = 128;

#define ROTARY_PLAIN_C_FUNCTIONS                                                                     \
  /* Loads, scales by `factor` and stores all bytes: the least that an in-place operation does. */   \
  void scale_in_place(void* data, DType dtype, std::int64_t count, float factor);                    \
  /* One row of cos[64] sin[64] a token; heads packed. */                                            \
  void rotate_plain(void* data, DType dtype, bool adjacent, std::int64_t tokens, std::int64_t heads, \
                    const float* rows);

/// With the flags of this build.
namespace release {
ROTARY_PLAIN_C_FUNCTIONS
}
/// With the flags of this machine.
namespace native {
ROTARY_PLAIN_C_FUNCTIONS
}

}  // namespace rotary::bench
