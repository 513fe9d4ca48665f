// SPDX-License-Identifier: Apache-2.0
// 128-bit integers, which g++ and clang have on every 64-bit target.
#pragma once

#include <cstdint>

namespace rotary::impl {

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

/// The upper 64 bits of the product.
inline std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) noexcept {
  return static_cast<std::uint64_t>((static_cast<uint128>(a) * b) >> 64);
}

}  // namespace rotary::impl
