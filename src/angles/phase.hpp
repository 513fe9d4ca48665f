// SPDX-License-Identifier: Apache-2.0
// Angles as phases: a turn is 2^64, so position * frequency is a wrapping integer product, without range
// reduction and without drift. Everything here is a plain function of numbers, fit for a loop over pairs; a
// SIMD version that does the same operations has the same bits.
#pragma once

#include <cstdint>

#include "angles/frequency.hpp"
#include "kernels/wide_sines.hpp"
#include "positions/fixed_point.hpp"

namespace rotary::impl {

/// |position|, and its sign as a mask: turning by -p is the mirror image of turning by p, to the bit.
struct Distance {
  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;
  std::uint64_t negative = 0;  ///< 0 or all ones
};

inline Distance distance_of(Position position) noexcept {
  const bool negative = position.whole < 0;
  const auto fixed = static_cast<uint128>(to_fixed(position));
  const uint128 magnitude = negative ? 0 - fixed : fixed;
  return {static_cast<std::uint64_t>(magnitude >> 64), static_cast<std::uint64_t>(magnitude),
          negative ? ~std::uint64_t{0} : 0};
}

/// True of a whole position below 2^32: 32 bits of guard are enough.
inline bool is_near(const Distance& d) noexcept { return d.fraction == 0 && d.whole >> 32 == 0; }

/// The phase of any position, within 2^-62 of a turn.
inline std::uint64_t phase_of(const Distance& d, const Frequency& f) noexcept {
  const std::uint64_t guard =
      d.whole >> 32 == 0 ? (d.whole * (f.guard >> 32)) >> 32 : multiply_high(d.whole, f.guard);
  const std::uint64_t of_whole = d.whole * f.fraction + guard;
  const std::uint64_t of_fraction = multiply_high(d.fraction, f.fraction) + d.fraction * f.turns;
  const std::uint64_t phase = of_whole + of_fraction;
  return (phase ^ d.negative) - d.negative;
}

}  // namespace rotary::impl
