// SPDX-License-Identifier: Apache-2.0
// A Position as one signed integer in units of 2^-64.
#pragma once

#include <rotary/positions.hpp>

#include "base/wide.hpp"

namespace rotary::impl {

inline int128 to_fixed(Position position) noexcept {
  const auto whole = static_cast<uint128>(static_cast<std::uint64_t>(position.whole)) << 64;
  return static_cast<int128>(whole | position.fraction);
}

inline Position from_fixed(int128 fixed) noexcept {
  return {static_cast<std::int64_t>(fixed >> 64), static_cast<std::uint64_t>(fixed)};
}

/// a - b; wraps.
inline Position difference(Position a, Position b) noexcept {
  return from_fixed(
      static_cast<int128>(static_cast<uint128>(to_fixed(a)) - static_cast<uint128>(to_fixed(b))));
}

/// start + steps * step; wraps.
inline Position advance(Position start, Position step, std::int64_t steps) noexcept {
  const auto way = static_cast<uint128>(to_fixed(step)) * static_cast<uint128>(steps);
  return from_fixed(static_cast<int128>(static_cast<uint128>(to_fixed(start)) + way));
}

}  // namespace rotary::impl
