// SPDX-License-Identifier: Apache-2.0
// Outputs that no cache would hold: heads turn into a small buffer and go from there past the caches, so that memory is
// not read before it is overwritten.
#pragma once

#include <cstdint>

#include "kernels/kernel_list.hpp"
#include "rotate/shape.hpp"

namespace rotary::impl {

/// Bytes that are written past the caches at once; rows and strides are multiples of it.
inline constexpr std::int64_t stream_line = 64;

/// Of an output: its lanes lie together and fill whole lines, wherever a head begins.
bool fills_lines(const HeadsShape& out, std::int64_t element_size) noexcept;

/// As kernel.rotate(args). Outputs are such; those that are not aligned, or are in place, are written as ever.
void rotate_past_caches(const Kernel& kernel, const RotateArgs& args) noexcept;

}  // namespace rotary::impl
