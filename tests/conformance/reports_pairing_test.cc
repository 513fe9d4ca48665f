// SPDX-License-Identifier: Apache-2.0
// Reports about pairing style and partial rotation.
#include "reports.hpp"

namespace rotary::testing {
namespace {

/// Lane i + pairs j of half-split rows as lane 2i + j of interleaved ones.
Tensor reordered(const Tensor& x) {
  Tensor to(x.shape);
  const std::int64_t pairs = x.shape.head_dim / 2;
  for_each_head(x.shape, [&](HeadIndex h) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      to.set(h, 2 * i, x.get(h, i));
      to.set(h, 2 * i + 1, x.get(h, i + pairs));
    }
  });
  return to;
}

TEST(Report5, ReorderedRowsScoreAsTheOriginalsAndOthersDoNot) {
  const Rope half = plain_rope(64), adjacent = plain_rope(64, {.pairing = Pairing::interleaved});
  const std::vector<std::int64_t> ids = {0, 1, 2, 3, 17, 499, 500, 1023, 2047, 3000, 4094, 4095, 4096};
  const Positions positions = Positions::ids(ids).value();
  const HeadsShape shape = dense(DType::f32, 1, std::ssize(ids), 1, 64);
  const Tensor q = random_tensor(shape, 1), k = random_tensor(shape, 2);
  const Tensor q1 = turned(half, positions, q), k1 = turned(half, positions, k);
  const Tensor q2 = turned(adjacent, positions, reordered(q)), k2 = turned(adjacent, positions, reordered(k));
  const Tensor q3 = turned(adjacent, positions, q), k3 = turned(adjacent, positions, k);
  int wrong = 0;
  for_each_head(shape, [&](HeadIndex i) {
    for_each_head(shape, [&](HeadIndex j) {
      const double product = norm(q, i) * norm(k, j);
      EXPECT_LT(std::abs(dot(q1, i, k1, j) - dot(q2, i, k2, j)), 1e-5 * product);
      wrong += std::abs(dot(q1, i, k1, j) - dot(q3, i, k3, j)) > 1e-5 * product;
    });
  });
  EXPECT_EQ(wrong, std::ssize(ids) * (std::ssize(ids) - 1)) << "every pair of tokens but the equal ones";
}

TEST(Report6, StylesAgreeAtPositionZeroAlone) {
  const Rope half = plain_rope(64), adjacent = plain_rope(64, {.pairing = Pairing::interleaved});
  const Tensor q = random_tensor(dense(DType::f32, 1, 1, 1, 64), 3);
  EXPECT_TRUE(same_bits(turned(half, at(0), q), turned(adjacent, at(0), q)));
  EXPECT_GT(worst_of_pair(half, turned(half, at(64), q), turned(adjacent, at(64), q)), 0.1);
}

TEST(Report13, GptJTurnsTheFirst64Of256AsNeighbours) {
  const Rope rope = plain_rope(64, {.pairing = Pairing::interleaved, .head_dim = 256});
  const Tensor q = random_tensor(dense(DType::f32, 1, 1, 2, 256), 4), out = turned(rope, at(1234), q);
  EXPECT_TRUE(outside_kept(rope, q, out));
  for_each_head(q.shape, [&](HeadIndex h) {
    for (std::int64_t i = 0; i < 32; ++i) {
      const double angle = 1234 * std::pow(10000.0, -static_cast<double>(i) / 32);
      const std::complex<double> expected = std::polar(1.0, angle) * pair(q, h, {2 * i, 2 * i + 1});
      EXPECT_LT(std::abs(pair(out, h, {2 * i, 2 * i + 1}) - expected), 2e-7 * std::abs(expected));
    }
  });
}

TEST(Report14, TheScoreDoesNotDriftWithThePosition) {
  for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
    const Rope rope = plain_rope(128, {.pairing = pairing});
    const HeadsShape shape = dense(DType::f32, 1, 1, 1, 128);
    const Tensor q = random_tensor(shape, 5), k = random_tensor(shape, 6);
    const auto score = [&](std::int64_t p) {
      return dot(turned(rope, at(p), q), {0, 0, 0}, turned(rope, at(p + 11), k), {0, 0, 0});
    };
    for (std::int64_t p = 0; p <= 4096; p += 64) EXPECT_NEAR(score(p), score(0), 1e-4);
  }
}

TEST(Report15, ATableWhoseLanesOfAPairDisagreeIsRefused) {
  const std::vector<float> halves = {1, 0.5F, 1, 0.5F}, neighbours = {1, 1, 0.5F, 0.5F};
  const auto with = [&](const std::vector<float>& numbers, Pairing pairing) {
    return Rope::from_table({.cos = numbers, .sin = numbers, .rows = 1, .width = 4, .rotary_dim = 4},
                            {.pairing = pairing, .head_dim = 4});
  };
  EXPECT_SUCCEEDS(with(halves, Pairing::half_split));
  EXPECT_SUCCEEDS(with(neighbours, Pairing::interleaved));
  EXPECT_FAILS(with(neighbours, Pairing::half_split), StatusCode::invalid_argument, "row 0");
  EXPECT_FAILS(with(halves, Pairing::interleaved), StatusCode::invalid_argument, "row 0");
}

TEST(Report17, RegroupingBeforeOrAfterIsTheSameToTheBit) {
  const Rope adjacent = plain_rope(64, {.pairing = Pairing::interleaved});
  const Rope crossing = plain_rope(64, {.pairing = Pairing::interleaved_to_half});
  const HeadsShape shape = dense(DType::bf16, 1, 3, 2, 64);
  const Positions positions = Positions::range(8190, 8193);
  const Tensor q = random_tensor(shape, 7);
  EXPECT_TRUE(same_bits(reordered(turned(crossing, positions, q)), turned(adjacent, positions, q)));
}

TEST(Report18, TheLaneOrderTurnsHalfSplitIntoInterleaved) {
  const Rope half = plain_rope(64), adjacent = plain_rope(64, {.pairing = Pairing::interleaved});
  const Tensor q = random_tensor(dense(DType::f32, 1, 3, 2, 64), 8);
  const Positions positions = Positions::range(70000, 70003);
  EXPECT_TRUE(same_bits(turned(adjacent, positions, reordered(q)), reordered(turned(half, positions, q))));
}

TEST(Report19, TheOtherDirectionIsAnOptionAndUndoesTheFirst) {
  const Rope forward = plain_rope(64);
  const Rope inverse = plain_rope(64, {.direction = Direction::inverse});
  EXPECT_EQ(forward.inverse(), inverse);
  const Tensor q = random_tensor(dense(DType::f32, 1, 1, 1, 64), 9);
  const Tensor back = turned(inverse, at(131071), turned(forward, at(131071), q));
  EXPECT_LT(worst_of_pair(forward, back, q), 1e-6);
}

TEST(Report22, TheWindowMayBeFirstOrLastInTheHead) {
  const HeadIndex head{0, 0, 0};
  const Tensor q = random_tensor(dense(DType::f32, 1, 1, 1, 128), 10);
  for (const std::int64_t offset : {0, 64}) {
    Tensor part(dense(DType::f32, 1, 1, 1, 64));
    for (std::int64_t lane = 0; lane < 64; ++lane) part.set(head, lane, q.get(head, offset + lane));
    part = turned(plain_rope(64), at(5000), part);
    const Rope rope = plain_rope(64, {.head_dim = 128, .rotary_offset = offset});
    const Tensor out = turned(rope, at(5000), q);
    EXPECT_TRUE(outside_kept(rope, q, out));
    for (std::int64_t lane = 0; lane < 64; ++lane)
      EXPECT_EQ(out.get(head, offset + lane), part.get(head, lane));
  }
}

TEST(Report99, OddWidthsAreRefusedWithTheirNumber) {
  for (const std::int64_t width : {3, 7, 33, 65}) {
    EXPECT_FAILS(Spectrum::make({.rotary_dim = width}), StatusCode::invalid_argument, std::to_string(width));
  }
  EXPECT_EQ(plain_rope(64, {.head_dim = 65}).head_dim(), 65);
}

TEST(Report101, ZeroWidthIsANoOpToTheBit) {
  const Rope rope = plain_rope(0, {.head_dim = 10});
  const Tensor q = random_tensor(dense(DType::f16, 1, 2, 2, 10), 11, Values::any);
  EXPECT_TRUE(same_bits(turned(rope, Positions::range(600, 602), q), q));
}

TEST(Report105, TheExponentAndThePairsTakeTheRotaryWidth) {
  const Rope rope = plain_rope(64, {.head_dim = 256});
  const Tensor q = random_tensor(dense(DType::f64, 1, 1656, 1, 256), 12);
  const Tensor out = turned(rope, Positions::range(700, 2356), q);
  EXPECT_TRUE(outside_kept(rope, q, out));
  for (std::int64_t i = 0; i < 32; ++i) {
    EXPECT_NEAR(rope.spectrum().inv_freq()[static_cast<std::size_t>(i)],
                std::pow(10000.0, -2.0 * static_cast<double>(i) / 64), 1e-15);
  }
  for_each_head(q.shape, [&](HeadIndex h) {
    for (std::int64_t i = 0; i < 32; ++i) {
      const double angle =
          static_cast<double>(700 + h.token) * rope.spectrum().inv_freq()[static_cast<std::size_t>(i)];
      const std::complex<double> expected = std::polar(1.0, angle) * pair(q, h, {i, i + 32});
      ASSERT_LT(std::abs(pair(out, h, {i, i + 32}) - expected), 1e-12 * std::abs(expected));
    }
  });
}

TEST(Report106, PairsOverTheWholeHeadWithFrequenciesOfZero) {
  std::vector<double> inv_freq(256, 0.0);
  for (std::size_t i = 0; i < 64; ++i) inv_freq[i] = std::pow(10000.0, -2.0 * static_cast<double>(i) / 512);
  const Rope rope = Rope::make({.spectrum = Spectrum::from_inv_freq(inv_freq).value()}).value();
  ASSERT_EQ(rope.head_dim(), 512);
  const Tensor q = random_tensor(dense(DType::bf16, 1, 2, 1, 512), 13);
  const Tensor out = turned(rope, Positions::range(9000, 9002), q);
  for_each_head(q.shape, [&](HeadIndex h) {
    for (std::int64_t lane = 0; lane < 512; ++lane) {
      if (lane % 256 >= 64) {
        EXPECT_EQ(out.get(h, lane), q.get(h, lane)) << lane;
      }
    }
    EXPECT_GT(std::abs(out.get(h, 0) - q.get(h, 0)) + std::abs(out.get(h, 256) - q.get(h, 256)), 1e-3);
  });
}

TEST(Report107, TheTableDecidesTheRotaryWidth) {
  const std::vector<float> numbers(2 * 32, 0.5F);
  const AngleTable table{.cos = numbers, .sin = numbers, .rows = 2, .width = 32};
  const Rope rope = Rope::from_table(table, {.head_dim = 128}).value();
  EXPECT_EQ(rope.rotary_dim(), 64);
  const Tensor q = random_tensor(dense(DType::f32, 1, 2, 1, 128), 14);
  EXPECT_TRUE(outside_kept(rope, q, turned(rope, Positions::range(0, 2), q)));
  AngleTable other = table;
  other.rotary_dim = 128;
  EXPECT_FAILS(Rope::from_table(other, {.head_dim = 128}), StatusCode::invalid_argument,
               "table: width 32, expected rotary_dim 128 or half of it");
  EXPECT_FAILS(Rope::from_table(table, {.head_dim = 32}), StatusCode::invalid_argument,
               "rotary_dim 64 at rotary_offset 0: must end within head_dim 32");
}

}  // namespace
}  // namespace rotary::testing
