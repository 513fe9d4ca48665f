// SPDX-License-Identifier: Apache-2.0
// Angles through the public API: held and made rows, refilling, errors that change nothing, no allocation.
#include <gtest/gtest.h>

#include <limits>
#include <rotary/rope.hpp>
#include <vector>

#include "support/allocations.hpp"

namespace rotary {
namespace {

using Ids = std::vector<std::int64_t>;
constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

Rope rope_of(AnglePolicy policy) {
  return Rope::make({.spectrum = Spectrum::make({.rotary_dim = 32, .base = 10000}).value(), .policy = policy})
      .value();
}

/// Every row as row() gives them.
template <class Real>
std::vector<Real> all_rows(const Angles& angles) {
  const auto pairs = static_cast<std::size_t>(angles.pairs());
  std::vector<Real> all;
  std::vector<Real> cos(pairs), sin(pairs);
  for (std::int64_t b = 0; b < angles.batch(); ++b) {
    for (std::int64_t t = 0; t < angles.tokens(); ++t) {
      angles.row(b, t, std::span(cos), std::span(sin)).value();
      all.insert(all.end(), cos.begin(), cos.end());
      all.insert(all.end(), sin.begin(), sin.end());
    }
  }
  return all;
}

TEST(Angles, HeldAndMadeRowsAreTheSameBits) {
  const Positions positions[] = {
      Positions::range(131000, 131040), Positions::offsets(Ids{7, 90, -3}, 5).value(),
      Positions::packed(Ids{0, 17, 17, 40}).value(), Positions::spaced(-2.25, 0.5, 9).value(), Positions()};
  for (const AnglePolicy policy : {AnglePolicy::exact, AnglePolicy::fp32, AnglePolicy::ggml}) {
    const Rope rope = rope_of(policy);
    for (const Positions& p : positions) {
      const Angles held = rope.angles(p).value(), made = rope.angles(p, Rows::on_the_way).value();
      EXPECT_EQ(held.policy(), policy);
      EXPECT_EQ(held.pairs(), 16);
      EXPECT_EQ(held.positions(), p);
      EXPECT_EQ(held.rows(), Rows::held);
      EXPECT_EQ(made.rows(), Rows::on_the_way);
      EXPECT_EQ(all_rows<float>(held), all_rows<float>(made));
      EXPECT_EQ(all_rows<double>(held), all_rows<double>(made));
      EXPECT_EQ(all_rows<float>(held).size(), static_cast<std::size_t>(p.batch() * p.tokens() * 32));
    }
  }
}

TEST(Angles, DoubleRowsRoundToTheFloatOnes) {
  const Angles angles = rope_of(AnglePolicy::exact).angles(Positions::range(4090, 4100)).value();
  const auto wide = all_rows<double>(angles);
  EXPECT_EQ(std::vector<float>(wide.begin(), wide.end()), all_rows<float>(angles));
}

TEST(Angles, PrefillEqualsSingleStepsAndChunks) {
  const Rope rope = rope_of(AnglePolicy::exact);
  const auto prefill = all_rows<float>(rope.angles(Positions::range(0, 100)).value());
  Angles step = rope.angles(Positions::range(0, 1)).value();
  std::vector<float> steps;
  for (std::int64_t p = 0; p < 100; ++p) {
    ASSERT_TRUE(step.refill(Positions::range(p, p + 1)).ok());
    const auto row = all_rows<float>(step);
    steps.insert(steps.end(), row.begin(), row.end());
  }
  EXPECT_EQ(prefill, steps);
}

TEST(Angles, RefillLargerAndSmaller) {
  const Rope rope = rope_of(AnglePolicy::exact);
  Angles angles = rope.angles(Positions::range(0, 2048)).value();
  for (const Positions& p : {Positions::range(0, 8192), Positions::range(5, 6), Positions::range(3, 3),
                             Positions::offsets(Ids{9, 1}, 70).value(), Positions::range(0, 8192)}) {
    ASSERT_TRUE(angles.refill(p).ok());
    EXPECT_EQ(angles.tokens(), p.tokens());
    EXPECT_EQ(angles.batch(), p.batch());
    EXPECT_EQ(all_rows<float>(angles), all_rows<float>(rope.angles(p).value()));
  }
  ASSERT_TRUE(angles.refill(angles.positions()).ok());
}

TEST(Angles, RefillWithinCapacityAllocatesNothing) {
  const Ids ids{5, 3, 1, 9}, lengths{100, 7};
  const Positions by_ids = Positions::ids(std::span(ids)).value(),
                  by_row = Positions::offsets(lengths, 2).value();
  for (const Rows rows : {Rows::held, Rows::on_the_way}) {
    Angles angles = rope_of(AnglePolicy::exact).angles(by_ids, rows).value();
    ASSERT_TRUE(angles.refill(by_row).ok());
    const std::size_t before = testing::allocations();
    for (std::int64_t p = 4; p < 20; ++p) {
      EXPECT_TRUE(angles.refill(Positions::range(p, p + 4)).ok());
      EXPECT_TRUE(angles.refill(by_row).ok());
      EXPECT_TRUE(angles.refill(by_ids).ok());
    }
    EXPECT_EQ(testing::allocations(), before);
    EXPECT_TRUE(angles.refill(Positions::range(0, 4000)).ok());
    if (rows == Rows::held) {
      EXPECT_GT(testing::allocations(), before);  // the count counts
    }
  }
}

TEST(Angles, FailedRefillChangesNothing) {
  const std::vector<float> numbers(64, 0.5f);
  const Rope rope = Rope::from_table({.cos = numbers, .sin = numbers, .rows = 4, .width = 16}, {}).value();
  Angles angles = rope.angles(Positions::range(1, 3)).value();
  const Status outside = angles.refill(Positions::range(0, 5));
  EXPECT_EQ(outside.code(), StatusCode::out_of_range);
  EXPECT_EQ(outside.message(), "position 4 (row 0, token 4): the table has the rows 0 to 3");
  EXPECT_EQ(angles.positions(), Positions::range(1, 3));

  Angles exact = rope_of(AnglePolicy::exact).angles(Positions::range(1, 3)).value();
  const auto rows = all_rows<float>(exact);
  for (const std::int64_t tokens : {std::int64_t{1} << 45, int64_max / 32, int64_max}) {
    const Status large = exact.refill(Positions::range(0, tokens));
    EXPECT_EQ(large.code(), StatusCode::unsupported);
    EXPECT_EQ(large.message().substr(0, 32),
              "angles of batch 1, tokens " + std::to_string(tokens).substr(0, 6));
    EXPECT_EQ(exact.positions(), Positions::range(1, 3));
    EXPECT_EQ(all_rows<float>(exact), rows);
  }
  // Made on the way they need no memory.
  Angles made = rope_of(AnglePolicy::exact).angles(Positions::range(0, int64_max), Rows::on_the_way).value();
  std::vector<float> cos(16), sin(16);
  EXPECT_TRUE(made.row(0, int64_max - 1, std::span(cos), std::span(sin)).ok());
}

TEST(Angles, RowChecksWhatItIsGiven) {
  const Angles angles = rope_of(AnglePolicy::exact).angles(Positions::range(0, 4)).value();
  std::vector<float> sixteen(16), eight(8);
  const std::span<float> good(sixteen), small(eight);
  EXPECT_EQ(angles.row(1, 0, good, good).message(), "batch row 1: the angles have 1");
  EXPECT_EQ(angles.row(0, 4, good, good).message(), "token 4: the angles have 4");
  EXPECT_EQ(angles.row(0, -1, good, good).code(), StatusCode::out_of_range);
  EXPECT_EQ(angles.row(0, 0, small, good).message(), "cos: room for 8 numbers, expected 16, one a pair");
  EXPECT_EQ(angles.row(0, 0, good, small).message(), "sin: room for 8 numbers, expected 16, one a pair");
}

TEST(Angles, AxesMustSuffice) {
  const Spectrum spectrum =
      Spectrum::make({.rotary_dim = 8, .base = 10000, .axis_sections = {2, 1, 1}}).value();
  const Rope rope = Rope::make({.spectrum = spectrum}).value();
  EXPECT_EQ(rope.angles(Positions::range(0, 4)).status().message(),
            "positions: axes 1, expected at least 3 as the pairs ask for");
}

}  // namespace
}  // namespace rotary
