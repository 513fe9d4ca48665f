// SPDX-License-Identifier: Apache-2.0
// cos and sin of one angle in double, before anything is rounded to float: the operations, in their order.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/sine_series.hpp"

namespace rotary::impl {

struct SinesOf {
  double cos, sin;
};

/// Of r, in the unit of the series, and as many quarters of a turn as the two highest bits of `quarter` say.
inline SinesOf sines(double r, const sine_series::Series& of, std::uint64_t quarter) noexcept {
  const double z = r * r;
  const auto series = [z](const double(&k)[6]) {
    double sum = k[5];
    for (int i = 4; i >= 0; --i) sum = std::fma(z, sum, k[i]);
    return sum;
  };
  const double s = r * series(of.sin), c = series(of.cos);
  // Quarters turn (c, s) into (-s, c), (-c, -s), (s, -c): a swap and two signs.
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  const bool swap = (quarter & (top >> 1)) != 0;
  const auto cos_bits = std::bit_cast<std::uint64_t>(swap ? s : c) ^ ((quarter + (top >> 1)) & top);
  const auto sin_bits = std::bit_cast<std::uint64_t>(swap ? c : s) ^ (quarter & top);
  return {std::bit_cast<double>(cos_bits), std::bit_cast<double>(sin_bits)};
}

inline SinesOf sines_of_phase(std::uint64_t phase) noexcept {
  const auto r = static_cast<double>(static_cast<std::int64_t>(phase << 2));
  return sines(r, sine_series::of_phase, phase + (std::uint64_t{1} << 61));
}

inline SinesOf sines_of_radians(float radians) noexcept {
  using namespace sine_series;
  const double x = static_cast<double>(radians);
  const double shifted = x * quarters_a_radian + to_whole;
  const double quarters = shifted - to_whole;
  const double r = ((x - quarters * quarter_1) - quarters * quarter_2) - quarters * quarter_3;
  return sines(r, sine_series::of_radians, std::bit_cast<std::uint64_t>(shifted) << 62);
}

}  // namespace rotary::impl
