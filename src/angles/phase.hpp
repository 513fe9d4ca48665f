// SPDX-License-Identifier: Apache-2.0
// Angles as phases: a turn is 2^64, so position * frequency is a wrapping integer product, without range
// reduction and without drift. Everything here is a plain function of numbers, fit for a loop over pairs; a
// SIMD version that does the same operations has the same bits.
#pragma once

#include <bit>
#include <cstdint>

#include "angles/frequency.hpp"
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

struct CosSin {
  double cos, sin;
};

/// Within 1.0e-16 of cos and sin of phase * 2 pi / 2^64.
inline CosSin sincos_of_phase(std::uint64_t phase) noexcept {
  // phase = quarter * 2^62 + high * 2^32 + low, with |high| <= 2^29 and |low| <= 2^31: at most an eighth of a
  // turn away from a quarter.
  const auto upper = static_cast<std::uint32_t>((phase + 0x8000'0000u) >> 32);
  const std::uint32_t quarter = (upper + 0x2000'0000u) >> 30;
  const auto high = static_cast<double>(static_cast<std::int32_t>(upper - (quarter << 30)));
  const auto low = static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(phase)));

  // The rest in radians as r + tail. 2 pi / 2^32 is split so that high times its first part is exact.
  constexpr double step = 0x1.921fb4p-30;               // 23 bits
  constexpr double step_tail = 0x1.4442d18469899p-54;   // 2 pi / 2^32 - step
  constexpr double small_step = 0x1.921fb54442d18p-62;  // 2 pi / 2^64
  const double exact = high * step;
  const double more = high * step_tail + low * small_step;
  const double r = exact + more;
  const double tail = more - (r - exact);

  // Taylor: the first terms left out are below 3e-18.
  const double z = r * r;
  const double sin_series =
      z * (-1.0 / 6 +
           z * (1.0 / 120 +
                z * (-1.0 / 5040 +
                     z * (1.0 / 362880 + z * (-1.0 / 39916800 +
                                              z * (1.0 / 6227020800 + z * (-1.0 / 1307674368000 +
                                                                           z * (1.0 / 355687428096000))))))));
  const double cos_series =
      z * z *
      (1.0 / 24 +
       z * (-1.0 / 720 + z * (1.0 / 40320 + z * (-1.0 / 3628800 +
                                                 z * (1.0 / 479001600 + z * (-1.0 / 87178291200 +
                                                                             z * (1.0 / 20922789888000)))))));
  const double half = 0.5 * z;
  const double one_less_half = 1.0 - half;
  const double s = r + (r * sin_series + tail * one_less_half);
  const double c = one_less_half + (((1.0 - one_less_half) - half) + (cos_series - r * tail));

  // Quarters turn (c, s) into (-s, c), (-c, -s), (s, -c): a swap and two signs.
  const std::uint64_t swap = 0 - static_cast<std::uint64_t>(quarter & 1);
  const auto c_bits = std::bit_cast<std::uint64_t>(c), s_bits = std::bit_cast<std::uint64_t>(s);
  const std::uint64_t differ = (c_bits ^ s_bits) & swap;
  const std::uint64_t cos_sign = static_cast<std::uint64_t>((quarter + 1) & 2) << 62;
  const std::uint64_t sin_sign = static_cast<std::uint64_t>(quarter & 2) << 62;
  return {std::bit_cast<double>(c_bits ^ differ ^ cos_sign),
          std::bit_cast<double>(s_bits ^ differ ^ sin_sign)};
}

}  // namespace rotary::impl
