// SPDX-License-Identifier: Apache-2.0
// Reports about positions, padding, offsets and batches, and about the length of tables.
#include "reports.hpp"

namespace rotary::testing {
namespace {

TEST(Report111, LeftPaddedRowsEqualUnpaddedOnes) {
  const Rope rope = plain_rope(64);
  const std::int64_t ids[] = {1, 1, 0, 1, 2};  // the mask 00111
  const Tensor x = random_tensor(dense(DType::bf16, 1, 5, 2, 64), 1);
  const Tensor padded = turned(rope, Positions::ids(ids).value(), x);
  EXPECT_TRUE(same_bits(cut_tokens(padded, 2, 5), turned(rope, Positions::range(0, 3), cut_tokens(x, 2, 5))));
}

TEST(Report113, NegativePositionsTurnBackwardsAndLeaveNothingUnset) {
  const Rope rope = plain_rope(64, {.head_dim = 72});
  const Tensor x = random_tensor(dense(DType::f32, 1, 6, 2, 72), 2);
  for (const std::string& kernel : kernels_for(rope, x.shape)) {
    Tensor out = x;
    for_each_head(out.shape, [&](HeadIndex h) {
      for (std::int64_t lane = 0; lane < 72; ++lane) out.set(h, lane, std::nan(""));
    });
    const Angles angles = rope.angles(Positions::range(-3, 3)).value();
    EXPECT_SUCCEEDS(rope.rotate(angles, {x.heads(), out.heads()}, {.kernel = kernel}));
    for_each_head(out.shape, [&](HeadIndex h) {
      for (std::int64_t lane = 0; lane < 72; ++lane) EXPECT_FALSE(std::isnan(out.get(h, lane))) << kernel;
    });
    const Tensor first = cut_tokens(x, 0, 1);
    EXPECT_TRUE(same_bits(cut_tokens(out, 0, 1), turned(rope.inverse(), at(3), first, {.kernel = kernel})));
  }
}

TEST(Report114, EachRowOfASingleStepTakesItsOwnOffset) {
  const Rope rope = plain_rope(64);
  const std::int64_t offsets[] = {7, 90};
  const Tensor x = random_tensor(dense(DType::f32, 2, 1, 3, 64), 3);
  const Tensor out = turned(rope, Positions::offsets(offsets, 1).value(), x);
  for (std::int64_t row = 0; row < 2; ++row) {
    const auto row_of = [&](const Tensor& from) {
      Tensor view = from;
      view.first += row * from.shape.batch_stride;
      view.shape.batch = 1;
      return view;
    };
    EXPECT_TRUE(same_bits(row_of(out), turned(rope, at(offsets[row]), row_of(x)))) << row;
  }
}

TEST(Report115, TheQueryMayStandElsewhereThanTheKeys) {
  const Rope rope = plain_rope(64);
  const Tensor q = random_tensor(dense(DType::f32, 1, 1, 1, 64), 4);
  const Tensor k = random_tensor(dense(DType::f32, 1, 1, 1, 64), 5);
  const auto score = [&](std::int64_t q_position, std::int64_t k_position) {
    return dot(turned(rope, at(q_position), q), {0, 0, 0}, turned(rope, at(k_position), k), {0, 0, 0});
  };
  EXPECT_TRUE(same_bits(turned(rope, at(0), k), k));
  EXPECT_NEAR(score(100, 0), score(70100, 70000), 1e-5);
  EXPECT_GT(std::abs(score(100, 0) - score(0, 0)), 0.1);
}

TEST(Report117, IdsBeyond32BitsAreNeverWrapped) {
  const Rope rope = plain_rope(64);
  EXPECT_NEAR(first_pair(rope, at((std::int64_t{1} << 32) + 7)).cos, -0.36510705318669472, 3e-8);
  EXPECT_NEAR(first_pair(rope, at((std::int64_t{1} << 31) + 5)).cos, -0.86395344430410053, 3e-8);
  EXPECT_NEAR(first_pair(rope, at((std::int64_t{1} << 40) + 3)).sin, 0.27266065524449764, 1e-7);
  EXPECT_NEAR(first_pair(rope, at(-(std::int64_t{1} << 33) - 1)).sin, -0.92503395614786236, 3e-8);
}

TEST(Report118, RowsOfPositionsServeTheWholeBatch) {
  const Rope rope = plain_rope(64);
  Tensor x(HeadsShape::contiguous(Layout::bhtd, DType::f32, 3, 4, 2, 64));
  fill(x, 6);
  const std::int64_t row[] = {900, 901, 902, 903};
  const std::int64_t all[] = {900, 901, 902, 903, 900, 901, 902, 903, 900, 901, 902, 903};
  const std::int64_t firsts[] = {900, 900, 900};
  const Tensor expected = turned(rope, Positions::range(900, 904), x);
  EXPECT_TRUE(same_bits(turned(rope, Positions::ids(row).value(), x), expected));        // [tokens]
  EXPECT_TRUE(same_bits(turned(rope, Positions::ids(row, 1, 4).value(), x), expected));  // [1, tokens]
  EXPECT_TRUE(same_bits(turned(rope, Positions::ids(all, 3, 4).value(), x), expected));  // [batch, tokens]
  EXPECT_TRUE(same_bits(turned(rope, Positions::offsets(firsts, 4).value(), x), expected));  // [batch, 1]
  const Angles two = rope.angles(Positions::ids(row, 2, 2).value()).value();
  EXPECT_FAILS(
      rope.rotate(two, Tensor(HeadsShape::contiguous(Layout::bhtd, DType::f32, 3, 2, 2, 64)).heads()),
      StatusCode::invalid_argument, "2 batch rows, expected 1 or q's 3");
}

TEST(Report119, HeadsAreNotTokens) {
  const Rope rope = plain_rope(64);
  const Tensor one = random_tensor(dense(DType::f32, 1, 1, 1, 64), 7);
  const Tensor expected = turned(rope, at(3), one);
  for (std::int64_t heads = 1; heads <= 32; ++heads) {
    for (const Layout layout : {Layout::bthd, Layout::bhtd}) {
      Tensor x(HeadsShape::contiguous(layout, DType::f32, 1, 1, heads, 64));
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t lane = 0; lane < 64; ++lane) x.set({0, 0, h}, lane, one.get({0, 0, 0}, lane));
      }
      const Tensor out = turned(rope, at(3), x);
      for (std::int64_t h = 0; h < heads; ++h)
        EXPECT_TRUE(same_bits(cut(out, 0, 1, h, 1), expected)) << heads;
    }
  }
  const Angles angles = rope.angles(Positions::range(0, 2)).value();
  EXPECT_FAILS(rope.rotate(angles, Tensor(dense(DType::f32, 1, 3, 1, 64)).heads()),
               StatusCode::invalid_argument, "angles have 2 tokens, q has 3");
}

// Scores depend on distance only as far as the numbers are exact: fp32 keeps 1e-5, rows rounded to bf16 do
// not.
TEST(Report122, ShiftingByThePadChangesScoresByRoundingAlone) {
  const std::int64_t pairs = 64;
  const Rope rope = plain_rope(2 * pairs);
  const HeadsShape shape = dense(DType::f32, 1, 1, 1, 2 * pairs);
  const Tensor q = random_tensor(shape, 8), k = random_tensor(shape, 9);
  const double product = norm(q, {0, 0, 0}) * norm(k, {0, 0, 0});
  const auto shift_error = [&](const Rope& with) {
    const auto score = [&](std::int64_t p) {
      return dot(turned(with, at(p), q), {0, 0, 0}, turned(with, at(p + 40), k), {0, 0, 0});
    };
    double worst = 0;
    for (std::int64_t p = 0; p < 400; p += 13) worst = std::max(worst, std::abs(score(p + 50) - score(p)));
    return worst / product;
  };
  EXPECT_LT(shift_error(rope), 1e-6);

  std::vector<float> cos, sin, c(pairs), s(pairs);
  const Angles angles = rope.angles(Positions::range(0, 500)).value();
  for (std::int64_t t = 0; t < 500; ++t) {
    angles.row(0, t, std::span(c), std::span(s)).value();
    for (const float number : c) cos.push_back(to_float(to_bf16(number)));
    for (const float number : s) sin.push_back(to_float(to_bf16(number)));
  }
  EXPECT_GT(shift_error(Rope::from_table({.cos = cos, .sin = sin, .rows = 500, .width = pairs}, {}).value()),
            1e-5);
}

TEST(Report123, PrefillEqualsSingleSteps) {
  const Rope rope = plain_rope(64);
  const Tensor x = random_tensor(dense(DType::f16, 2, 40, 2, 64), 10);
  const Tensor whole = turned(rope, Positions::range(4080, 4120), x);
  for (std::int64_t t = 0; t < 40; ++t) {
    EXPECT_TRUE(same_bits(turned(rope, at(4080 + t), cut_tokens(x, t, t + 1)), cut_tokens(whole, t, t + 1)));
  }
}

Result<Rope> table_of(std::int64_t rows, std::size_t cos_rows, std::size_t sin_rows) {
  const std::vector<float> cos(cos_rows * 4, 1), sin(sin_rows * 4, 0);
  return Rope::from_table({.cos = cos, .sin = sin, .rows = rows, .width = 4}, {.head_dim = 8});
}

TEST(Report125, TablesOfDifferentLengthAreRefused) {
  EXPECT_SUCCEEDS(table_of(16, 16, 16));
  EXPECT_FAILS(table_of(16, 16, 8), StatusCode::invalid_argument, "sin");
  EXPECT_FAILS(table_of(16, 8, 16), StatusCode::invalid_argument, "cos");
}

TEST(Report126, RowsGrowOnDemandAndKeepTheirBits) {
  const Rope rope = plain_rope(64);
  const Tensor x = random_tensor(dense(DType::f32, 1, 2048, 1, 64), 11);
  Angles angles = rope.angles(Positions::range(0, 2048)).value();
  Tensor before = x, after = x;
  EXPECT_SUCCEEDS(rope.rotate(angles, before.heads()));
  EXPECT_SUCCEEDS(angles.refill(Positions::range(0, 2049)));
  EXPECT_SUCCEEDS(rope.rotate(angles, after.heads()));
  EXPECT_TRUE(same_bits(before, after));
}

TEST(Report127, APositionPastTheTableIsAnError) {
  const Rope rope = table_of(4096, 4096, 4096).value();
  EXPECT_SUCCEEDS(rope.angles(at(4095)));
  EXPECT_FAILS(rope.angles(at(4096)), StatusCode::out_of_range, "position 4096");
  EXPECT_FAILS(rope.angles(at(-1)), StatusCode::out_of_range, "position -1");
}

TEST(Report129, LongerSequencesWorkOnTheSameObject) {
  const Rope rope = plain_rope(64);
  Angles angles = rope.angles(Positions::range(0, 2048)).value();
  EXPECT_SUCCEEDS(angles.refill(Positions::range(0, 8192)));
  const Tensor x = random_tensor(dense(DType::f32, 1, 8192, 1, 64), 12);
  Tensor out = x;
  EXPECT_SUCCEEDS(rope.rotate(angles, out.heads()));
  EXPECT_TRUE(same_bits(cut_tokens(out, 8191, 8192), turned(rope, at(8191), cut_tokens(x, 8191, 8192))));
}

TEST(Report134, MoreRowsThanTokensUseTheFirstAndFewerAreAnError) {
  const Rope rope = plain_rope(64);
  const Tensor x = random_tensor(dense(DType::f32, 1, 3, 1, 64), 13);
  const Angles more = rope.angles(Positions::range(500, 510)).value();
  Tensor out = x;
  EXPECT_SUCCEEDS(rope.rotate(more, out.heads()));
  EXPECT_TRUE(same_bits(out, turned(rope, Positions::range(500, 503), x)));
  const Angles fewer = rope.angles(Positions::range(500, 502)).value();
  EXPECT_FAILS(rope.rotate(fewer, out.heads()), StatusCode::invalid_argument,
               "angles have 2 tokens, q has 3");
}

}  // namespace
}  // namespace rotary::testing
