// SPDX-License-Identifier: Apache-2.0
// What the tests of public fault reports share. Each test's suite carries the number of its report in
// tests/reports.md.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <rotary/kernels.hpp>

#include "support/fixture.hpp"
#include "support/status_matchers.hpp"

namespace rotary::testing {

inline Rope plain_rope(std::int64_t rotary_dim, RopeOptions options = {}, double base = 10000) {
  options.spectrum = Spectrum::make({.rotary_dim = rotary_dim, .base = base}).value();
  return Rope::make(options).value();
}

inline Positions at(std::int64_t position) { return Positions::range(position, position + 1); }

/// The names of the kernels that run here and take this work.
inline std::vector<std::string> kernels_for(const Rope& rope, const HeadsShape& shape) {
  std::vector<std::string> names;
  for (const KernelVerdict& kernel : explain_kernels(rope, shape, shape)) {
    if (kernel.accepted) names.emplace_back(kernel.name);
  }
  return names;
}

/// cos and sin of pair 0, which turns by one radian a step.
struct Turn {
  float cos, sin;
};
inline Turn first_pair(const Rope& rope, const Positions& positions) {
  const auto pairs = static_cast<std::size_t>(rope.pairs());
  std::vector<float> cos(pairs), sin(pairs);
  rope.angles(positions).value().row(0, 0, std::span(cos), std::span(sin)).value();
  return {cos[0], sin[0]};
}

inline double dot(const Tensor& a, HeadIndex i, const Tensor& b, HeadIndex j) {
  double sum = 0;
  for (std::int64_t lane = 0; lane < a.shape.head_dim; ++lane) sum += a.get(i, lane) * b.get(j, lane);
  return sum;
}
inline double norm(const Tensor& a, HeadIndex i) { return std::sqrt(dot(a, i, a, i)); }

inline constexpr DType rotatable[] = {DType::f64, DType::f32, DType::f16, DType::bf16};

}  // namespace rotary::testing
