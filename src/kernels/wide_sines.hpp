// SPDX-License-Identifier: Apache-2.0
// cos and sin of a phase, a turn being 2^64, as doubles: for heads of f64. A SIMD version does the same operations.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace rotary::impl {

namespace wide_sines {

/// Added to a phase, it leaves the nearest quarter in the two highest bits.
inline constexpr std::uint64_t to_quarter = 0x2000'0000'8000'0000u;

/// 2 pi / 2^32 in two parts, the first of 23 bits, so that a whole number below 2^29 times it is exact; 2 pi / 2^64.
inline constexpr double step = 0x1.921fb4p-30, step_tail = 0x1.4442d18469899p-54,
                        small_step = 0x1.921fb54442d18p-62;

/// Taylor, sin r = r + r z (sin[0] + z sin[1] + ...), cos r = 1 - z / 2 + z z (cos[0] + ...) with z = r r: the first
/// terms left out are below 3e-18.
inline constexpr double sin[] = {
    -1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
    -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
inline constexpr double cos[] = {1.0 / 24,        -1.0 / 720,         1.0 / 40320,         -1.0 / 3628800,
                                 1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000};

}  // namespace wide_sines

struct CosSin {
  double cos, sin;
};

/// Within 1.0e-16 of cos and sin of phase * 2 pi / 2^64.
inline CosSin sincos_of_phase(std::uint64_t phase) noexcept {
  namespace w = wide_sines;
  const auto series = [](double z, const double* terms, std::size_t count) {
    double sum = terms[count - 1];
    for (std::size_t i = count - 1; i-- > 0;) sum = terms[i] + z * sum;
    return sum;
  };
  // phase = quarter * 2^62 + high * 2^32 + low, with |high| <= 2^29 and |low| <= 2^31: at most an eighth of a
  // turn away from a quarter.
  const std::uint64_t quarter = (phase + w::to_quarter) >> 62;
  const std::uint64_t rest = phase + 0x8000'0000u - (quarter << 62);
  const auto high = static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(rest >> 32)));
  const auto low = static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(phase)));

  // The rest in radians as r + tail.
  const double exact = high * w::step;
  const double more = high * w::step_tail + low * w::small_step;
  const double r = exact + more;
  const double tail = more - (r - exact);

  const double z = r * r;
  const double sin_series = z * series(z, w::sin, std::size(w::sin));
  const double cos_series = z * z * series(z, w::cos, std::size(w::cos));
  const double half = 0.5 * z;
  const double one_less_half = 1.0 - half;
  const double s = r + (r * sin_series + tail * one_less_half);
  const double c = one_less_half + (((1.0 - one_less_half) - half) + (cos_series - r * tail));

  // Quarters turn (c, s) into (-s, c), (-c, -s), (s, -c): a swap and two signs.
  const std::uint64_t swap = 0 - (quarter & 1);
  const auto c_bits = std::bit_cast<std::uint64_t>(c), s_bits = std::bit_cast<std::uint64_t>(s);
  const std::uint64_t differ = (c_bits ^ s_bits) & swap;
  const std::uint64_t cos_sign = ((quarter + 1) & 2) << 62;
  const std::uint64_t sin_sign = (quarter & 2) << 62;
  return {std::bit_cast<double>(c_bits ^ differ ^ cos_sign),
          std::bit_cast<double>(s_bits ^ differ ^ sin_sign)};
}

}  // namespace rotary::impl
