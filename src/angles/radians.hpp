// SPDX-License-Identifier: Apache-2.0
// cos and sin of angles that are floats, for the policies that round on the way: each rounded to nearest, the
// same on every machine, which the cosf and sinf of C libraries are not.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <rotary/positions.hpp>

#include "kernels/row_maker.hpp"

namespace rotary::impl {

/// Nearest float; a whole position is rounded once whatever its size.
inline float to_float(Position position) noexcept {
  return position.fraction == 0 ? static_cast<float>(position.whole)
                                : static_cast<float>(to_double(position));
}

/// Angles are made so many at a time.
inline constexpr std::size_t radians_block = 64;

class RadianRow {
 public:
  explicit RadianRow(double attention_factor) : factor_(static_cast<float>(attention_factor)) {}

  /// cos and sin of up to radians_block angles, each times A in float.
  void operator()(const float* angle, std::size_t count, float* cos, float* sin) const noexcept {
    // Not far, and not NaN. Every one is asked: a loop that may stop early is no SIMD.
    unsigned far = 0;
    for (std::size_t i = 0; i < count; ++i) far |= std::fabs(angle[i]) <= max_radians ? 0u : 1u;
    if (far == 0) {
      maker_->of_radians(angle, static_cast<std::int64_t>(count), {cos, sin, static_cast<double>(factor_)});
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      cos[i] = static_cast<float>(std::cos(static_cast<double>(angle[i]))) * factor_;
      sin[i] = static_cast<float>(std::sin(static_cast<double>(angle[i]))) * factor_;
    }
  }
  void operator()(const float* angle, std::size_t count, double* cos, double* sin) const noexcept {
    std::array<float, radians_block> c, s;
    (*this)(angle, count, c.data(), s.data());
    std::copy_n(c.begin(), count, cos);
    std::copy_n(s.begin(), count, sin);
  }

 private:
  const RowMaker* maker_ = &best_row_maker();
  float factor_;
};

}  // namespace rotary::impl
