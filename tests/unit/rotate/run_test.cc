// SPDX-License-Identifier: Apache-2.0
// What the rotation computes, against numbers worked out with 40 digits. base 10000 and rotary_dim 4 give the
// inverse frequencies 1 and 0.01.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <rotary/rope.hpp>
#include <vector>

#include "support/allocations.hpp"
#include "support/status_matchers.hpp"

namespace rotary {
namespace {

Rope rope_of(RopeOptions options, std::int64_t rotary_dim = 4) {
  options.spectrum = Spectrum::make({.rotary_dim = rotary_dim}).value();
  return Rope::make(options).value();
}

Rope with_factor(double attention_factor) {
  const double inv_freq[] = {1, 0.01};
  return Rope::make({.spectrum = Spectrum::from_inv_freq(inv_freq, attention_factor).value()}).value();
}

std::array<double, 4> rotated(const Rope& rope, std::int64_t position) {
  std::array<double, 4> x = {1, 2, 3, 4};
  const auto angles = rope.angles(Positions::range(position, position + 1)).value();
  EXPECT_SUCCEEDS(rope.rotate(angles, thd(x.data(), 1, 1, 4)));
  return x;
}

void expect_near(const std::array<double, 4>& got, const std::array<double, 4>& expected) {
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], expected[i], 1e-10) << "lane " << i;
}

TEST(Rotate, HalfSplitPairsLanesHalfAWindowApart) {
  const Rope rope = rope_of({.pairing = Pairing::half_split});
  expect_near(rotated(rope, 0), {1, 2, 3, 4});
  expect_near(rotated(rope, 1000), {-1.91825954531, 0.497941385405, 2.5140167694, -4.44432833808});
  expect_near(rotated(rope, 131071), {0.907741551876, 0.898186092774, -3.02919218192, -4.38101149767});
  expect_near(rotated(rope, -77), {2.96758544401, 4.22036229373, -1.09244525377, 1.47937220119});
}

TEST(Rotate, InterleavedPairsNeighbours) {
  const Rope rope = rope_of({.pairing = Pairing::interleaved});
  expect_near(rotated(rope, 1000), {-1.09138000477, 1.95163769311, -0.341130143672, -4.98834944897});
  expect_near(rotated(rope, 131071), {0.332499868122, -2.21120868253, 0.111802402517, -4.998749866});
}

TEST(Rotate, InterleavedToHalfReadsNeighboursAndWritesHalves) {
  const Rope rope = rope_of({.pairing = Pairing::interleaved_to_half});
  expect_near(rotated(rope, 1000), {-1.09138000477, -0.341130143672, 1.95163769311, -4.98834944897});
}

TEST(Rotate, InverseOfInterleavedToHalfRestoresTheLaneOrder) {
  const Rope rope = rope_of({.pairing = Pairing::interleaved_to_half});
  const auto angles = rope.angles(Positions::range(70000, 70001)).value();
  std::array<double, 4> x = {1, 2, 3, 4};
  ASSERT_SUCCEEDS(rope.rotate(angles, thd(x.data(), 1, 1, 4)));
  ASSERT_SUCCEEDS(rope.inverse().rotate(angles, thd(x.data(), 1, 1, 4)));
  expect_near(x, {1, 2, 3, 4});
}

TEST(Rotate, DirectionsDifferWhereTheAttentionFactorIsNotOne) {
  const Rope rope = with_factor(1.25);
  expect_near(rotated(rope, 1000), {-2.39782443163, 0.622426731756, 3.14252096176, -5.55541042261});
  expect_near(rotated(rope.gradient(), 1000), {3.80377212236, -4.81778437714, 1.07532211043, -2.83530486816});
  expect_near(rotated(rope.inverse(), 1000), {2.43441415831, -3.08338200137, 0.688206150672, -1.81459511562});
  EXPECT_EQ(rope.inverse().inverse(), rope);
  EXPECT_EQ(rope.gradient().gradient(), rope);
  EXPECT_EQ(rope.inverse().gradient().direction(), Direction::inverse_gradient);
  EXPECT_EQ(compose(Direction::inverse, Direction::inverse), Direction::forward);
}

TEST(Rotate, InverseUndoesForwardInF32WithAttentionFactor) {
  const Rope rope = with_factor(1.36888795);
  const auto angles = rope.angles(Positions::range(4095, 4096)).value();
  std::array<float, 4> x = {1, 2, 3, 4};
  ASSERT_SUCCEEDS(rope.rotate(angles, thd(x.data(), 1, 1, 4)));
  EXPECT_NEAR(x[0] * x[0] + x[2] * x[2], 10 * 1.36888795 * 1.36888795, 1e-5);
  ASSERT_SUCCEEDS(rope.inverse().rotate(angles, thd(x.data(), 1, 1, 4)));
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(x[static_cast<std::size_t>(i)], i + 1, 2e-6);
}

TEST(Rotate, WindowAtAnOffsetLeavesTheOtherLanesAlone) {
  const Rope rope = rope_of({.head_dim = 8, .rotary_offset = 3});
  const auto angles = rope.angles(Positions::range(1000, 1001)).value();
  std::array<float, 8> x = {-0.0f, 11, 12, 1, 2, 3, 4, 13};
  std::array<float, 8> out;
  out.fill(99);
  ASSERT_SUCCEEDS(rope.rotate(angles, {thd(x.data(), 1, 1, 8), thd(out.data(), 1, 1, 8)}));
  EXPECT_TRUE(std::signbit(out[0]));
  EXPECT_EQ(out[1], 11);
  EXPECT_EQ(out[2], 12);
  EXPECT_NEAR(out[3], -1.91825954531, 1e-6);
  EXPECT_NEAR(out[6], -4.44432833808, 1e-6);
  EXPECT_EQ(out[7], 13);
  ASSERT_SUCCEEDS(rope.rotate(angles, thd(x.data(), 1, 1, 8)));
  EXPECT_EQ(x, out);
}

TEST(Rotate, EachBatchRowTurnsByItsOwnPositions) {
  const Rope rope = rope_of({});
  const std::int64_t ids[] = {1000, 131071};
  const auto angles = rope.angles(Positions::ids(std::span(ids), 2, 1).value()).value();
  std::array<double, 8> x = {1, 2, 3, 4, 1, 2, 3, 4};
  ASSERT_SUCCEEDS(rope.rotate(angles, bhtd(x.data(), 2, 1, 1, 4)));
  EXPECT_NEAR(x[0], -1.91825954531, 1e-10);
  EXPECT_NEAR(x[4], 0.907741551876, 1e-10);
}

TEST(Rotate, QAndKTurnTogetherWithDifferentHeadCounts) {
  const Rope rope = rope_of({});
  const auto angles = rope.angles(Positions::range(999, 1001)).value();
  std::vector<double> q(2 * 3 * 4), k(2 * 1 * 4);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<double>(i % 4 + 1);
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = static_cast<double>(i % 4 + 1);
  ASSERT_SUCCEEDS(rope.rotate(angles, thd(q.data(), 2, 3, 4), thd(k.data(), 2, 1, 4)));
  for (std::size_t head = 0; head < 3; ++head) EXPECT_NEAR(q[12 + 4 * head], -1.91825954531, 1e-10);
  EXPECT_NEAR(k[4], -1.91825954531, 1e-10);
  EXPECT_NE(k[0], k[4]);
}

TEST(Rotate, ZeroOfAnythingIsANoOp) {
  const Rope rope = rope_of({});
  const auto angles = rope.angles(Positions::range(0, 3)).value();
  float x[12] = {};
  EXPECT_SUCCEEDS(rope.rotate(angles, thd(x, 0, 1, 4)));
  EXPECT_SUCCEEDS(rope.rotate(angles, thd(x, 3, 0, 4), thd(x, 3, 1, 4)));
  EXPECT_SUCCEEDS(rope.rotate(angles, bthd<float>(nullptr, 0, 3, 1, 4)));
  const auto none = rope.angles(Positions()).value();
  EXPECT_SUCCEEDS(rope.rotate(none, thd(x, 0, 1, 4)));
}

TEST(Rotate, WhatWasMovedFromStillHolds) {
  Rope rope = rope_of({});
  auto angles = rope.angles(Positions::range(5, 6)).value();
  float x[4] = {1, 2, 3, 4};
  RotatePlan plan = rope.plan(thd(x, 1, 1, 4).shape).value();
  const Rope other_rope = std::move(rope);
  const RotatePlan other_plan = std::move(plan);
  const Angles other = std::move(angles);
  EXPECT_TRUE(rope == other_rope);  // NOLINT: the point of the test
  EXPECT_SUCCEEDS(plan.run(other, thd(x, 1, 1, 4)));
  EXPECT_EQ(angles.tokens(), 0);
  EXPECT_FAILS(rope.rotate(angles, thd(x, 1, 1, 4)), StatusCode::invalid_argument,
               "angles have 0 tokens, q has 1");
  EXPECT_SUCCEEDS(angles.refill(Positions::range(5, 6)));
  EXPECT_SUCCEEDS(rope.inverse().rotate(angles, thd(x, 1, 1, 4)));
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(x[i], i + 1, 1e-6);
}

TEST(Rotate, TheStrideOfASingleElementMeansNothing) {
  for (const std::int64_t wild :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    for (const char* kernel : {"", "scalar", "reference"}) {
      const Rope rope = rope_of({.pairing = Pairing::interleaved_to_half, .head_dim = 6, .rotary_offset = 1});
      const auto angles = rope.angles(Positions::range(700, 701)).value();
      float x[6] = {1, 2, 3, 4, 5, 6}, tame[6] = {}, out[6] = {};
      ASSERT_SUCCEEDS(rope.rotate(angles, {thd(x, 1, 1, 6), thd(tame, 1, 1, 6)}, {.kernel = kernel}));
      const auto untied = [&](Heads heads) {
        return heads.with_batch_stride(wild).with_token_stride(wild).with_head_stride(wild);
      };
      ASSERT_SUCCEEDS(
          rope.rotate(angles, {untied(thd(x, 1, 1, 6)), untied(thd(out, 1, 1, 6))}, {.kernel = kernel}));
      EXPECT_EQ(std::to_array(out), std::to_array(tame));
    }
    const Rope still = rope_of({.head_dim = 1, .rotary_offset = 1}, 0);
    const auto angles = still.angles(Positions::range(700, 701)).value();
    float x[1] = {7}, out[1] = {};
    Heads from = thd(x, 1, 1, 1);
    from.shape.lane_stride = wild;
    ASSERT_SUCCEEDS(still.rotate(angles, {from, thd(out, 1, 1, 1)}));
    EXPECT_EQ(out[0], 7);
  }
}

TEST(Rotate, RotaryDimZeroCopies) {
  const Rope rope = rope_of({.head_dim = 3}, 0);
  const auto angles = rope.angles(Positions::range(5, 6)).value();
  float x[3] = {1, 2, 3}, out[3] = {};
  ASSERT_SUCCEEDS(rope.rotate(angles, {thd(x, 1, 1, 3), thd(out, 1, 1, 3)}));
  EXPECT_EQ(out[2], 3);
}

TEST(Rotate, TheForcedKernelRuns) {
  // The reference computes in double and rounds once, so its last bits differ from the others' somewhere.
  const Rope rope = rope_of({}, 128);
  const auto angles = rope.angles(Positions::range(5000, 5064)).value();
  std::vector<float> x(64 * 128), by_reference, by_scalar, by_default;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 977) * 0.37f - 100;
  const auto run = [&](std::string_view kernel) {
    std::vector<float> out(x.size());
    const auto plan = rope.plan({thd(x.data(), 64, 1, 128).shape}, {.kernel = kernel}).value();
    if (!kernel.empty()) {
      EXPECT_EQ(plan.kernel(), kernel);
    }
    EXPECT_SUCCEEDS(
        rope.rotate(angles, {thd(x.data(), 64, 1, 128), thd(out.data(), 64, 1, 128)}, {.kernel = kernel}));
    return out;
  };
  EXPECT_NE(run("reference"), run("scalar"));
  EXPECT_EQ(run(""), run("scalar"));
}

TEST(Rotate, AllocatesNothing) {
  const Rope rope = rope_of({}, 64);
  std::vector<bf16> q(40 * 8 * 64), k(40 * 2 * 64);
  for (const Rows rows : {Rows::held, Rows::on_the_way}) {
    const auto angles = rope.angles(Positions::range(600, 640), rows).value();
    const auto before = testing::allocations();
    EXPECT_TRUE(rope.rotate(angles, thd(q.data(), 40, 8, 64), thd(k.data(), 40, 2, 64)).ok());
    EXPECT_TRUE(rope.inverse().rotate(angles, thd(q.data(), 40, 8, 64)).ok());
    EXPECT_EQ(testing::allocations(), before);
  }
}

TEST(Rotate, FailsInOrderWithoutMemory) {
  const Rope rope = rope_of({}), other = rope_of({}, 8);
  const auto angles = other.angles(Positions::range(0, 1)).value();
  float x[4] = {};
  const Heads q = thd(x, 1, 1, 4), wrong = thd(x, 1, 1, 3);
  Status of_angles, of_shape;
  {
    const testing::NoMemory none;
    of_angles = rope.rotate(angles, q);
    of_shape = rope.rotate(angles, wrong);
  }
  EXPECT_FAILS(of_angles, StatusCode::invalid_argument, "no memory");
  EXPECT_FAILS(of_shape, StatusCode::invalid_argument, "");
}

}  // namespace
}  // namespace rotary
