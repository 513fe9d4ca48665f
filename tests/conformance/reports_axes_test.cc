// SPDX-License-Identifier: Apache-2.0
// Reports about several position axes.
#include <array>
#include <rotary/axes.hpp>
#include <rotary/multimodal.hpp>

#include "reports.hpp"

namespace rotary::testing {
namespace {

using Places = std::array<std::int64_t, 3>;  // t, h, w

Positions place(const Places& at) {
  return Positions::ids(std::span<const std::int64_t>(at), 3, 1, 1).value();
}

constexpr AxisOrder orders[] = {AxisOrder::contiguous, AxisOrder::interleaved, AxisOrder::round_robin,
                                AxisOrder::spread, AxisOrder::space_then_time};

Rope rope_of(AxisOrder order, Pairing pairing) {
  return Rope::make(
             {.spectrum =
                  Spectrum::make(
                      {.rotary_dim = 128, .base = 5e6, .axis_sections = {24, 20, 20}, .axis_order = order})
                      .value(),
              .pairing = pairing})
      .value();
}

TEST(Report162, ChangingTheHeightChangesThePairsOfTheHeightAlone) {
  for (const AxisOrder order : orders) {
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
      const Rope rope = rope_of(order, pairing);
      const Tensor x = random_tensor(dense(DType::f32, 1, 1, 2, 128), 162);
      for (const std::string& kernel : kernels_for(rope, x.shape)) {
        const Tensor here = turned(rope, place({1203, 611, 87}), x, {.kernel = kernel});
        const Tensor lower = turned(rope, place({1203, 612, 87}), x, {.kernel = kernel});
        for_each_head(x.shape, [&](HeadIndex h) {
          for (std::int64_t i = 0; i < 64; ++i) {
            const bool same = pair(here, h, lanes_written(rope, i)) == pair(lower, h, lanes_written(rope, i));
            const bool of_height = rope.spectrum().axis()[static_cast<std::size_t>(i)] == 1;
            // The slowest pairs turn by less than a step of fp32.
            if (rope.spectrum().inv_freq()[static_cast<std::size_t>(i)] > 1e-6 || !of_height) {
              EXPECT_EQ(same, !of_height) << name(order) << " " << kernel << " pair " << i;
            }
          }
        });
      }
    }
  }
}

TEST(Report163, APairOfAnAxisIsThatOfARopeOfOneAxis) {
  const Places at{1203, 611, 87};
  const Tensor x = random_tensor(dense(DType::f32, 1, 1, 1, 128), 163);
  for (const AxisOrder order : orders) {
    const Rope rope = rope_of(order, Pairing::half_split);
    const Rope plain = plain_rope(128, {}, 5e6);
    const Tensor out = turned(rope, place(at), x);
    for (std::int64_t i = 0; i < 64; ++i) {
      const std::int64_t position = at[rope.spectrum().axis()[static_cast<std::size_t>(i)]];
      const Tensor alone = turned(plain, Positions::range(position, position + 1), x);
      EXPECT_EQ(pair(out, {0, 0, 0}, lanes_written(rope, i)), pair(alone, {0, 0, 0}, lanes_written(rope, i)))
          << name(order) << " pair " << i;
    }
  }
}

TEST(Report165, OfAGridThatIsNotSquareRowsAreRows) {
  const Positions rows = Positions::range(0, 3), columns = Positions::range(0, 5);
  const Positions row_column = Positions::grid({rows, columns}).value();
  const Positions column_row = row_column.select_axes({1, 0}).value();  // the axes the other way round
  const Positions by_columns =
      Positions::grid({columns, rows}).value().select_axes({1, 0}).value();  // the tokens
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t c = 0; c < 5; ++c) {
      EXPECT_EQ(row_column.at(0, 0, r * 5 + c).whole, r);
      EXPECT_EQ(row_column.at(1, 0, r * 5 + c).whole, c);
      EXPECT_EQ(column_row.at(0, 0, r * 5 + c).whole, c);
      EXPECT_EQ(column_row.at(1, 0, r * 5 + c).whole, r);
      EXPECT_EQ(by_columns.at(0, 0, c * 3 + r).whole, r);
      EXPECT_EQ(by_columns.at(1, 0, c * 3 + r).whole, c);
    }
  }
}

TEST(Report166, AColumnOfFourTokensHasFourHeights) {
  MultimodalSequence column;
  column.text(2).vision({.height = 4, .width = 1});
  const Positions p = column.positions().value();
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(p.at(1, 0, 2 + i).whole, 2 + i);
    EXPECT_EQ(p.at(2, 0, 2 + i).whole, 2);
    EXPECT_EQ(p.at(0, 0, 2 + i).whole, 2);
  }
}

TEST(Report167, AVideosTimeGoesOnAndItsTokensMustFit) {
  const std::vector<VisionGrid> video{{.time = 3, .height = 2, .width = 2}};
  std::vector<std::int32_t> types(15, 0);
  types.insert(types.end(), 12, 2);
  const Positions p = MultimodalSequence::from_token_types(types, {}, video).value().positions().value();
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(p.at(0, 0, 15 + i).whole, 15 + i / 4);
    EXPECT_EQ(p.at(1, 0, 15 + i).whole, 15 + i / 2 % 2);
    EXPECT_EQ(p.at(2, 0, 15 + i).whole, 15 + i % 2);
  }
  types.pop_back();
  EXPECT_FAILS(MultimodalSequence::from_token_types(types, {}, video), StatusCode::invalid_argument,
               "videos[0]: time 3, height 2, width 2: more than the 11 video tokens at token 15");
}

TEST(Report169, AnAxialRopeIsEachAxisOnLanesOfItsOwn) {
  const Positions image = Positions::grid({Positions::range(0, 3), Positions::range(0, 5)}).value();
  const std::int64_t widths[] = {24, 40};
  const Rope both =
      Rope::make({.spectrum = Spectrum::axial(widths, 100).value(), .pairing = Pairing::interleaved}).value();
  const Tensor x = random_tensor(dense(DType::f32, 1, 15, 2, 64), 169);
  Tensor apart = x;
  std::int64_t offset = 0;
  for (const std::int64_t axis : {0, 1}) {
    const Rope one = plain_rope(
        widths[axis], {.pairing = Pairing::interleaved, .head_dim = 64, .rotary_offset = offset}, 100);
    one.rotate(one.angles(image.select_axes({axis}).value()).value(), apart.heads()).value();
    offset += widths[axis];
  }
  EXPECT_TRUE(same_bits(turned(both, image, x), apart));
}

}  // namespace
}  // namespace rotary::testing
