// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <rotary/rope.hpp>

#include "support/status_matchers.hpp"
#include "support/tensor.hpp"

namespace rotary::testing {
namespace {

constexpr std::int64_t dim = 8;

Spectrum spectrum() { return Spectrum::make({.rotary_dim = dim, .base = 100}).value(); }
Rope rope(const Xpos& xpos, Direction direction = Direction::forward) {
  return Rope::make({.spectrum = spectrum(), .direction = direction, .xpos = xpos}).value();
}
const Rope queries = rope({.scale_base = 20, .centre = 3}),
           keys = rope({.scale_base = 20, .centre = 3, .keys = true});

std::vector<double> turned(const Rope& by, std::int64_t position, std::vector<double> x) {
  const auto angles = by.angles(Positions::range(position, position + 1)).value();
  EXPECT_SUCCEEDS(
      by.rotate(angles, Heads{x.data(), HeadsShape::contiguous(Layout::bthd, DType::f64, 1, 1, 1, dim)}));
  return x;
}
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
const std::vector<double> x = {1, -2, 0.5, 3, 0.25, 4, -1, 2}, y = {0.5, 1, -3, 2, 1, -1, 2, 0.75};

// z_0 = 0.4 * 8 / (1.4 * 8) = 0.2857142857, and z of pair 3 = (6 + 3.2) / 11.2 = 0.8214285714.
TEST(Xpos, MultipliesByAPowerOfThePosition) {
  for (const auto& [pair, z] : {std::pair{0, 0.285714285714285714L}, {3, 0.821428571428571429L}}) {
    std::vector<double> one(dim, 0.0);
    one[static_cast<std::size_t>(pair)] = 1;
    const auto got = turned(queries, 50, one);
    const long double angle = 50 * std::pow(100.0L, -2.0L * pair / dim);
    const auto expected = std::polar(std::pow(z, 47 / 20.0L), angle);
    EXPECT_NEAR(got[static_cast<std::size_t>(pair)], static_cast<double>(expected.real()), 1e-14);
    EXPECT_NEAR(got[static_cast<std::size_t>(pair) + 4], static_cast<double>(expected.imag()), 1e-14);
  }
  EXPECT_EQ(turned(queries, 3, x), turned(keys, 3, x)) << "nothing is stretched at the centre";
}

TEST(Xpos, ScoresDependOnTheDistanceAloneAndDecay) {
  const double here = dot(turned(queries, 10, x), turned(keys, 4, y));
  EXPECT_NEAR(dot(turned(queries, 60, x), turned(keys, 54, y)), here, 1e-11);
  EXPECT_NEAR(dot(turned(queries, 200, x), turned(keys, 194, y)), here, 1e-8);
  const Rope plain = Rope::make({.spectrum = spectrum()}).value();
  EXPECT_LT(std::fabs(dot(turned(queries, 64, x), turned(keys, 4, y))),
            std::fabs(dot(turned(plain, 64, x), turned(plain, 4, y))));
}

TEST(Xpos, TheInverseDividesAndTheGradientIsTheTranspose) {
  for (const Rope& by : {queries, keys}) {
    for (const std::int64_t position : {-40, 0, 3, 90}) {
      const auto there = turned(by, position, x);
      const auto back = turned(by.inverse(), position, there);
      for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back[i], x[i], 1e-13);
      EXPECT_NEAR(dot(there, y), dot(x, turned(by.gradient(), position, y)),
                  1e-10 * std::fabs(dot(there, y)));
      EXPECT_NEAR(dot(back, y), dot(there, turned(by.inverse().gradient(), position, y)), 1e-10);
    }
  }
}

TEST(Xpos, TheGradientEqualsFiniteDifferences) {
  constexpr double h = 1e-3;
  const auto gradient = turned(queries.gradient(), 31, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto more = x, less = x;
    more[i] += h;
    less[i] -= h;
    const double slope = (dot(turned(queries, 31, more), y) - dot(turned(queries, 31, less), y)) / (2 * h);
    EXPECT_NEAR(gradient[i], slope, 1e-11) << i;
  }
}

TEST(Xpos, RowsOfFp32AreRoundedOnceAndTheSameHeldOrMade) {
  const Positions positions = Positions::range(0, 100);
  const auto held = queries.angles(positions).value(),
             made = queries.angles(positions, Rows::on_the_way).value();
  std::vector<float> cos(4), sin(4), cos2(4), sin2(4);
  std::vector<double> exact_cos(4), exact_sin(4);
  for (std::int64_t t = 0; t < 100; ++t) {
    held.row(0, t, std::span(cos), std::span(sin)).value();
    made.row(0, t, std::span(cos2), std::span(sin2)).value();
    held.row(0, t, std::span(exact_cos), std::span(exact_sin)).value();
    EXPECT_EQ(cos, cos2);
    EXPECT_EQ(sin, sin2);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(cos[i], static_cast<float>(exact_cos[i]));
  }
}

TEST(Xpos, AMovingCentreIsOffByAConstantFactor) {
  // What flash-attn does when a table grows from 8 to 100 tokens between a key and its query.
  const Rope before = rope({.scale_base = 20, .centre = Xpos::moving(8).centre, .keys = true});
  EXPECT_EQ(Xpos::moving(8).centre, 4);
  std::vector<double> one(dim, 0.0);
  one[0] = 1;
  const auto fixed = turned(rope({.scale_base = 20, .centre = 50, .keys = true}), 5, one),
             moved = turned(before, 5, one);
  EXPECT_NEAR(fixed[0] / moved[0], std::pow(0.2857142857142857, 46 / 20.0), 1e-12);
}

TEST(Xpos, QAndKTogetherAreRefused) {
  const HeadsShape shape = HeadsShape::contiguous(Layout::bthd, DType::f64, 1, 1, 1, dim);
  EXPECT_FAILS(
      queries.plan(shape, shape), StatusCode::invalid_argument,
      "k: this rope stretches queries as xPos does; rotate q and k apart, each by a rope of its own");
  EXPECT_FAILS(keys.plan(shape, shape), StatusCode::invalid_argument, "stretches keys");
  auto q = x, k = y;
  const auto angles = queries.angles(Positions::range(0, 1)).value();
  EXPECT_FAILS(queries.rotate(angles, Heads{q.data(), shape}, Heads{k.data(), shape}),
               StatusCode::invalid_argument, "rotate q and k apart");
  EXPECT_EQ(q, x);
  EXPECT_FAILS(keys.rotate(angles, Heads{k.data(), shape}), StatusCode::invalid_argument,
               "angles of another rope");
}

TEST(Xpos, IsAnotherRopeThanThatWithoutIt) {
  const Rope plain = Rope::make({.spectrum = spectrum()}).value();
  EXPECT_FALSE(plain == queries);
  EXPECT_FALSE(queries == plain);
  EXPECT_FALSE(queries == keys);
  EXPECT_TRUE(queries == rope({.scale_base = 20, .centre = 3}));
  const HeadsShape shape = HeadsShape::contiguous(Layout::bthd, DType::f64, 1, 1, 1, dim);
  auto q = x;
  const auto without = plain.angles(Positions::range(300, 301)).value(),
             with = queries.angles(Positions::range(300, 301)).value();
  EXPECT_FAILS(queries.rotate(without, Heads{q.data(), shape}), StatusCode::invalid_argument,
               "angles of another rope");
  EXPECT_FAILS(plain.rotate(with, Heads{q.data(), shape}), StatusCode::invalid_argument,
               "angles of another rope");
  EXPECT_EQ(q, x);
}

TEST(Xpos, RefusesWhatLeavesFp32) {
  const auto make = [](const Xpos& xpos) { return Rope::make({.spectrum = spectrum(), .xpos = xpos}); };
  EXPECT_FAILS(make({.scale_base = 0}), StatusCode::invalid_argument, "xpos: scale_base 0: must be positive");
  EXPECT_FAILS(make({.gamma = -1}), StatusCode::invalid_argument, "xpos: gamma -1: must be positive");
  EXPECT_FAILS(make({.centre = NAN}), StatusCode::invalid_argument, "xpos: centre nan: must be finite");
  EXPECT_FAILS(queries.angles(Positions::range(0, 10000)), StatusCode::out_of_range,
               "position 642 (row 0, token 642): xPos of scale_base 20 stretches beyond fp32 further than "
               "638 from the "
               "centre 3");
  const auto two = Spectrum::make({.rotary_dim = 8, .axis_sections = {2, 2}}).value();
  EXPECT_FAILS(Rope::make({.spectrum = two, .xpos = Xpos{}}), StatusCode::invalid_argument,
               "xpos: the spectrum has 2 axes, must have one");
  EXPECT_EQ(queries.xpos()->scale_base, 20);
  EXPECT_EQ(Rope::make({.spectrum = spectrum()})->xpos(), std::nullopt);
  EXPECT_FALSE(queries == keys);
}

}  // namespace
}  // namespace rotary::testing
