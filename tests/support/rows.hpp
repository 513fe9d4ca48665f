// SPDX-License-Identifier: Apache-2.0
// Rows of cos and sin beside those of somebody else.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/fixture.hpp"

namespace rotary::testing {

/// The largest distance between a rope's rows of exact angles and <name>.cos, <name>.sin of a fixture
/// [tokens, pairs], in units of `slack` * (1 + |angle|): theirs come from fp32 or better. Huge if the shapes
/// differ.
inline double worst_of_rows(const Spectrum& spectrum, const Positions& positions, const Fixture& fixture,
                            const std::string& name, double slack = 1e-6) {
  const auto pairs = static_cast<std::size_t>(spectrum.pairs());
  const std::vector<std::int64_t> shape{positions.tokens(), spectrum.pairs()};
  if (fixture.shape(name + ".cos") != shape) return 1e9;
  const auto cos = fixture.numbers<float>(name + ".cos"), sin = fixture.numbers<float>(name + ".sin");
  const Angles angles = Rope::make({.spectrum = spectrum}).value().angles(positions).value();
  std::vector<double> c(pairs), s(pairs);
  double worst = 0;
  for (std::int64_t t = 0; t < positions.tokens(); ++t) {
    angles.row(0, t, std::span(c), std::span(s)).value();
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::size_t at = static_cast<std::size_t>(t) * pairs + i;
      const double angle = to_double(positions.at(spectrum.axis()[i], 0, t)) * spectrum.inv_freq()[i];
      const double apart = std::max(std::fabs(c[i] - static_cast<double>(cos[at])),
                                    std::fabs(s[i] - static_cast<double>(sin[at])));
      worst = std::max(worst, apart / (slack * (1 + std::fabs(angle))));
    }
  }
  return worst;
}

}  // namespace rotary::testing
