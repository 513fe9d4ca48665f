// SPDX-License-Identifier: Apache-2.0
// Reports about the precision of positions, frequencies and tables. Literals were worked out with 50 digits.
#include <rotary/store.hpp>

#include "reports.hpp"

namespace rotary::testing {
namespace {

/// What the angle really is, as a unit vector; good to 1e-9 at the positions used here.
std::complex<double> truth(std::int64_t position, double inv_freq) {
  const long double angle = static_cast<long double>(position) * static_cast<long double>(inv_freq);
  return {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
}

struct Rows {
  std::vector<float> cos, sin;
};
Rows row(const Rope& rope, const Angles& angles, std::int64_t token) {
  const auto pairs = static_cast<std::size_t>(rope.pairs());
  Rows rows{std::vector<float>(pairs), std::vector<float>(pairs)};
  angles.row(0, token, std::span(rows.cos), std::span(rows.sin)).value();
  return rows;
}

TEST(Report25, GrowingKeepsTheFirstRowsAndTheLastIsRight) {
  const Rope rope = plain_rope(128);
  Angles angles = rope.angles(Positions::range(0, 2048)).value();
  std::vector<Rows> before;
  for (std::int64_t t = 0; t < 2048; ++t) before.push_back(row(rope, angles, t));
  EXPECT_SUCCEEDS(angles.refill(Positions::range(0, 8192)));
  for (std::int64_t t = 0; t < 2048; ++t) {
    const Rows after = row(rope, angles, t);
    ASSERT_EQ(after.cos, before[static_cast<std::size_t>(t)].cos) << t;
    ASSERT_EQ(after.sin, before[static_cast<std::size_t>(t)].sin) << t;
  }
  const Tensor x = random_tensor(dense(DType::bf16, 1, 1, 1, 128), 1), out = turned(rope, at(8191), x);
  for (std::int64_t i = 0; i < 64; ++i) {
    const auto expected = truth(8191, rope.spectrum().inv_freq()[static_cast<std::size_t>(i)]) *
                          pair(x, {0, 0, 0}, lanes_read(rope, i));
    EXPECT_LE(std::abs(pair(out, {0, 0, 0}, lanes_written(rope, i)) - expected), 0x1p-8 * std::abs(expected));
  }
}

TEST(Report27, Positions256And257Differ) {
  const Rope rope = plain_rope(64);
  const Turn turn = first_pair(rope, at(257));
  EXPECT_NEAR(turn.cos, 0.8193055291449822, 3e-8);
  EXPECT_NEAR(turn.sin, -0.57335717481554264, 3e-8);
  const Tensor x = random_tensor(dense(DType::bf16, 1, 1, 1, 64), 2);
  EXPECT_FALSE(same_bits(turned(rope, at(256), x), turned(rope, at(257), x)));
}

TEST(Report29, ThePhaseIsRightWhateverTheElementType) {
  const Rope rope = plain_rope(128);
  Tensor x(dense(DType::bf16, 1, 1, 1, 128));
  for (std::int64_t i = 0; i < 64; ++i) x.set({0, 0, 0}, i, 1);  // x = 1, y = 0 of every pair
  for (std::int64_t i = 64; i < 128; ++i) x.set({0, 0, 0}, i, 0);
  for (const std::int64_t p : {512, 2048, 4096, 131072}) {
    const Angles angles = rope.angles(at(p)).value();
    const Rows rows = row(rope, angles, 0);
    const Tensor out = turned(rope, at(p), x);
    for (std::size_t i = 0; i < 64; ++i) {
      const auto expected = truth(p, rope.spectrum().inv_freq()[i]);
      const std::complex<double> got(static_cast<double>(rows.cos[i]), static_cast<double>(rows.sin[i]));
      EXPECT_LT(std::abs(std::arg(got / expected)), 6e-8) << p << ' ' << i;
      const auto stored = pair(out, {0, 0, 0}, lanes_written(rope, static_cast<std::int64_t>(i)));
      EXPECT_LT(std::abs(std::arg(stored / expected)), 3e-3) << p << ' ' << i;  // bf16 itself: 2^-9
    }
  }
}

/// Steps between neighbouring numbers of bf16 at this size.
double bf16_step(double value) { return std::ldexp(1.0, std::max(std::ilogb(value), -126) - 7); }

TEST(Report30, Bf16OutputsAreWithinOneStepAtPosition4095) {
  const Rope rope = plain_rope(128);
  const Turn turn = first_pair(rope, at(4095));
  EXPECT_NEAR(turn.cos, -0.065975996558064896, 3e-8);
  EXPECT_NEAR(turn.sin, -0.9978212103769744, 3e-8);
  const Tensor x = random_tensor(dense(DType::bf16, 1, 1, 1, 128), 3);
  for (const std::string& kernel : kernels_for(rope, x.shape)) {
    const Tensor out = turned(rope, at(4095), x, {.kernel = kernel});
    for (std::int64_t i = 0; i < 64; ++i) {
      const PairLanes lane = lanes_written(rope, i);
      const auto expected = truth(4095, rope.spectrum().inv_freq()[static_cast<std::size_t>(i)]) *
                            pair(x, {0, 0, 0}, lanes_read(rope, i));
      EXPECT_LE(std::abs(out.get({0, 0, 0}, lane.x) - expected.real()), bf16_step(expected.real())) << kernel;
      EXPECT_LE(std::abs(out.get({0, 0, 0}, lane.y) - expected.imag()), bf16_step(expected.imag())) << kernel;
    }
  }
}

TEST(Report31, PositionsPast2048DoNotMerge) {
  const Rope rope = plain_rope(64);
  EXPECT_NEAR(first_pair(rope, at(2048)).cos, 0.94973433482365189, 3e-8);
  EXPECT_NEAR(first_pair(rope, at(2049)).cos, 0.77657204392088638, 3e-8);
}

TEST(Report33, FastKernelsStayWithTheReferenceNear131072) {
  const Rope rope = plain_rope(128, {.pairing = Pairing::interleaved});
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = random_tensor(dense(dtype, 1, 3, 4, 128), 4);
    const Positions positions = Positions::range(131069, 131072);
    const Tensor expected = turned(rope, positions, x, {.kernel = "reference"});
    for (const std::string& kernel : kernels_for(rope, x.shape)) {
      EXPECT_LT(worst_of_pair(rope, turned(rope, positions, x, {.kernel = kernel}), expected), 1.3e-7)
          << kernel;
    }
  }
}

TEST(Report34, CosAndSinStayTrueAtHugePositions) {
  const Rope rope = plain_rope(128);
  for (const std::int64_t p : {104000, 500000, 16800000, 26000000, 670000000}) {
    const Angles angles = rope.angles(at(p)).value();
    const Rows rows = row(rope, angles, 0);
    for (std::size_t i = 0; i < 64; ++i) {
      const auto expected = truth(p, rope.spectrum().inv_freq()[i]);
      EXPECT_NEAR(rows.cos[i], expected.real(), 4e-8) << p << ' ' << i;
      EXPECT_NEAR(rows.sin[i], expected.imag(), 4e-8) << p << ' ' << i;
      EXPECT_LE(std::abs(rows.cos[i]), 1);
      EXPECT_LE(std::abs(rows.sin[i]), 1);
    }
  }
  const Turn turn = first_pair(rope, at(16777217));
  EXPECT_NEAR(turn.cos, 0.99438396391365224, 3e-8);
  EXPECT_NEAR(turn.sin, 0.10583256734754364, 3e-8);
}

// bf16 rows, the fault: several steps off. fp32 rows, the default: one rounding.
TEST(Report35, RowsAreFp32AndRoundedOnce) {
  const Rope rope = plain_rope(128);
  const Angles angles = rope.angles(at(3000)).value();
  Rows rows = row(rope, angles, 0);
  const Tensor x = random_tensor(dense(DType::bf16, 1, 1, 1, 128), 5);
  const Tensor expected = turned(rope, at(3000), x, {.kernel = "reference"});
  EXPECT_LE(worst_of_pair(rope, turned(rope, at(3000), x), expected), 0x1p-7);
  for (float& number : rows.cos) number = to_float(to_bf16(number));
  for (float& number : rows.sin) number = to_float(to_bf16(number));
  const Rope rounded =
      Rope::from_table({.cos = rows.cos, .sin = rows.sin, .rows = 1, .width = 64}, {}).value();
  EXPECT_FALSE(same_bits(turned(rounded, at(0), x), expected));
}

TEST(Report37, Fp32RowsAreWithin1em6OfDoubleBelowAMillion) {
  const Rope rope = plain_rope(128);
  for (const std::int64_t p : {1, 999, 131071, 999999}) {
    const Angles angles = rope.angles(at(p)).value();
    const Rows rows = row(rope, angles, 0);
    for (std::size_t i = 0; i < 64; ++i) {
      EXPECT_NEAR(rows.cos[i], truth(p, rope.spectrum().inv_freq()[i]).real(), 4e-8);
    }
  }
}

TEST(Report38, TheOutputHasTheTypeOfItsView) {
  const Rope rope = plain_rope(8);
  const Angles angles = rope.angles(Positions::range(4095, 4096)).value();
  for (const DType from : rotatable) {
    for (const DType to : rotatable) {
      const Tensor x = random_tensor(dense(from, 1, 1, 1, 8), 3);
      Tensor out(dense(to, 1, 1, 1, 8)), in_place = x, cast = out;
      ASSERT_SUCCEEDS(rope.rotate(angles, {x.heads(), out.heads()}));
      ASSERT_SUCCEEDS(rope.rotate(angles, in_place.heads()));
      ASSERT_SUCCEEDS(rotary::store({in_place.heads(), cast.heads()}));
      for (std::int64_t lane = 0; lane < 8; ++lane) {
        EXPECT_NEAR(out.get({0, 0, 0}, lane), cast.get({0, 0, 0}, lane), 0x1p-5)
            << name(from) << " to " << name(to);
      }
    }
  }
}

}  // namespace
}  // namespace rotary::testing
