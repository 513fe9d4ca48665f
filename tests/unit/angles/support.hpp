// SPDX-License-Identifier: Apache-2.0
// Rows of a policy as vectors, and the error of one against MPFR.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "angles/angle_source.hpp"
#include "unit/angles/true_value.hpp"

namespace rotary::test {

inline std::shared_ptr<const impl::AngleSource> source(AnglePolicy policy, const Spectrum& spectrum) {
  return impl::make_angle_source(policy, spectrum).value();
}

inline Spectrum spectrum_of_base(double base) {
  return Spectrum::make({.rotary_dim = 128, .base = base}).value();
}

/// cos, then sin, of every token of one batch row.
template <class Real>
std::vector<Real> rows(const impl::AngleSource& source, const Positions& positions,
                       std::int64_t batch_row = 0) {
  std::vector<Real> all(static_cast<std::size_t>(positions.tokens() * 2 * source.pairs()));
  source.fill(positions, batch_row, 0, positions.tokens(), all.data());
  return all;
}

/// The largest error of cos and sin over every pair of the positions first ... last - 1.
inline double largest_error(const impl::AngleSource& source, std::int64_t first, std::int64_t last) {
  const auto pairs = static_cast<std::size_t>(source.pairs());
  double largest = 0;
  for (std::int64_t p = first; p < last; ++p) {
    const std::vector<float> row = rows<float>(source, Positions::range(p, p + 1));
    for (std::size_t i = 0; i < pairs; ++i) {
      const TrueValue t = true_value({p, 0}, source.spectrum().inv_freq()[i]);
      largest = std::max(largest, static_cast<double>(std::fabs(row[i] - t.cos)));
      largest = std::max(largest, static_cast<double>(std::fabs(row[pairs + i] - t.sin)));
    }
  }
  return largest;
}

}  // namespace rotary::test
