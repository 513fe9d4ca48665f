// SPDX-License-Identifier: Apache-2.0
// Tables put together from tables, and parts of them.
#include "support.hpp"

namespace rotary {
namespace {

using testing::expect_invalid;
using testing::Ids;
using testing::int64_max;
using testing::Numbers;
using testing::numbers;

const Positions three = Positions::range(0, 3), four = Positions::range(0, 4);

TEST(Grid, IsRowMajorWithTheLastAxisFastest) {
  const Positions p = Positions::grid({Positions::range(0, 3), Positions::range(10, 15)}).value();
  EXPECT_EQ(p.axes(), 2);
  EXPECT_EQ(p.batch(), 1);
  EXPECT_EQ(numbers(p, 0), (Numbers{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2}));
  EXPECT_EQ(numbers(p, 1), (Numbers{10, 11, 12, 13, 14, 10, 11, 12, 13, 14, 10, 11, 12, 13, 14}));
}

TEST(Grid, OfThreeAxesAndAnyCoordinates) {
  const Positions times = Positions::ids(Ids{0, 2, 3}).value(),
                  rows = Positions::spaced(-0.5, 0.5, 2).value();
  const Positions p = Positions::grid({times, rows, Positions::range(-1, 1)}).value();
  EXPECT_EQ(numbers(p, 0), (Numbers{0, 0, 0, 0, 2, 2, 2, 2, 3, 3, 3, 3}));
  EXPECT_EQ(numbers(p, 1), (Numbers{-0.5, -0.5, 0, 0, -0.5, -0.5, 0, 0, -0.5, -0.5, 0, 0}));
  EXPECT_EQ(numbers(p, 2), (Numbers{-1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0}));
  EXPECT_EQ(Positions::grid({four}).value(), four);
  EXPECT_EQ(Positions::grid({Positions::range(7, 8), three}).value().at(0, 0, 2), (Position{7, 0}));
}

TEST(Grid, WithoutCellsHasNoTokens) {
  const Positions p = Positions::grid({three, Positions()}).value();
  EXPECT_EQ(p.axes(), 2);
  EXPECT_EQ(p.tokens(), 0);
}

TEST(Grid, Refuses) {
  expect_invalid(Positions::grid({}), "grid: 0 given, expected 1 to 8");
  expect_invalid(Positions::grid(std::vector(9, three)), "grid: 9 given, expected 1 to 8");
  expect_invalid(Positions::grid({three, Positions::axes({three, three}).value()}),
                 "grid: coordinates[1]: axes 2, batch 1, expected 1 and 1");
  expect_invalid(Positions::grid({Positions::offsets(Ids{1, 2}, 3).value(), three}),
                 "grid: coordinates[0]: axes 1, batch 2, expected 1 and 1");
  const Positions huge = Positions::range(0, std::int64_t{1} << 40);
  expect_invalid(Positions::grid({huge, huge}), "grid: more than 2^63 tokens at axis 1");
  expect_invalid(Positions::grid({huge, Positions::range(0, 1 << 22)}),
                 "grid: 2 of batch 1, tokens 4611686018427387904: more than 2^63 positions");
  expect_invalid(Positions::grid({huge, three}),
                 "grid: 1099511627776 lines of the last axis, at most 67108864");
}

TEST(Concatenate, PutsTokensBehindOneAnother) {
  const Positions text = Positions::range(0, 2).select_axes({0, 0}).value();
  const Positions image = Positions::grid({Positions::range(2, 4), Positions::range(2, 5)}).value();
  const Positions p = Positions::concatenate({text, image, Positions(), text.shifted(5).value()}).value();
  EXPECT_EQ(p.tokens(), 10);
  EXPECT_EQ(numbers(p, 0), (Numbers{0, 1, 2, 2, 2, 3, 3, 3, 5, 6}));
  EXPECT_EQ(numbers(p, 1), (Numbers{0, 1, 2, 3, 4, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Positions::concatenate({Positions::range(5, 7), Positions::range(7, 9)}).value(),
            Positions::range(5, 9));
  EXPECT_EQ(Positions::concatenate({}).value(), Positions());
  EXPECT_EQ(Positions::concatenate({Positions()}).value(), Positions());
}

TEST(Concatenate, ARowServesEveryRowOfABatch) {
  const Positions prefix = Positions::range(0, 2), rows = Positions::offsets(Ids{10, 20}, 2).value();
  for (const Positions& p :
       {Positions::concatenate({prefix, rows}).value(), Positions::concatenate({rows, prefix})
                                                            .value()
                                                            .take(std::vector<TokenSegment>{{2, 2}, {0, 2}})
                                                            .value()}) {
    EXPECT_EQ(p.batch(), 2);
    EXPECT_EQ(numbers(p, 0, 0), (Numbers{0, 1, 10, 11}));
    EXPECT_EQ(numbers(p, 0, 1), (Numbers{0, 1, 20, 21}));
  }
}

TEST(Concatenate, Refuses) {
  expect_invalid(Positions::concatenate({three, Positions::axes({four, four}).value()}),
                 "concatenate: parts[1]: axes 2, batch 1, expected axes 1, batch 1 as the parts before");
  expect_invalid(Positions::concatenate(
                     {Positions::offsets(Ids{1, 2}, 1).value(), Positions::offsets(Ids{1, 2, 3}, 1).value()}),
                 "concatenate: parts[1]: axes 1, batch 3, expected axes 1, batch 1 or 2 as the parts before");
  const Positions most = Positions::range(0, int64_max);
  expect_invalid(Positions::concatenate({most, three}), "concatenate: more than 2^63 tokens at parts[1]");
}

TEST(Rows, MakeABatch) {
  const Positions p =
      Positions::rows({Positions::range(7, 10), Positions::offsets(Ids{0, 50}, 3).value()}).value();
  EXPECT_EQ(p.batch(), 3);
  EXPECT_EQ(numbers(p, 0, 0), (Numbers{7, 8, 9}));
  EXPECT_EQ(numbers(p, 0, 2), (Numbers{50, 51, 52}));
  const Positions pair = Positions::axes({three, Positions::range(4, 7)}).value();
  const Positions grids = Positions::rows({pair, pair.shifted(100).value()}).value();
  EXPECT_EQ(numbers(grids, 0, 1), (Numbers{100, 101, 102}));
  EXPECT_EQ(numbers(grids, 1, 0), (Numbers{4, 5, 6}));
  expect_invalid(Positions::rows({}), "rows: none given");
  expect_invalid(Positions::rows({three, four}),
                 "rows[1]: axes 1, tokens 4, expected axes 1, tokens 3 as rows[0]");
}

TEST(LeftPadded, PadsStandAtZero) {
  const Positions p = Positions::left_padded(Ids{0, 2, 4}, 4).value();
  EXPECT_EQ(p.batch(), 3);
  EXPECT_EQ(numbers(p, 0, 0), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(numbers(p, 0, 1), (Numbers{0, 0, 0, 1}));
  EXPECT_EQ(numbers(p, 0, 2), (Numbers{0, 0, 0, 0}));
  expect_invalid(Positions::left_padded(Ids{5}, 4), "left_padded: pads_of_row[0] 5: must be 0 to tokens, 4");
  expect_invalid(Positions::left_padded(Ids{0, -1}, 4),
                 "left_padded: pads_of_row[1] -1: must be 0 to tokens, 4");
  expect_invalid(Positions::left_padded(Ids{0}, -1), "left_padded: tokens -1: must not be negative");
  expect_invalid(Positions::left_padded(Ids{0, 0, 0}, int64_max / 2),
                 "left_padded: axes: 1 of batch 3, tokens 4611686018427387903: more than 2^63 positions");
}

TEST(Padded, OnEitherSideAndEveryAxis) {
  const Positions p =
      Positions::axes({Positions::range(5, 7), Positions::range(8, 10)}).value().padded(2, 1, -1).value();
  EXPECT_EQ(numbers(p, 0), (Numbers{-1, -1, 5, 6, -1}));
  EXPECT_EQ(numbers(p, 1), (Numbers{-1, -1, 8, 9, -1}));
  EXPECT_EQ(three.padded(1, 0).value(), Positions::left_padded(Ids{1}, 4).value());
  expect_invalid(three.padded(-1, 0), "padded: left -1, right 0: must not be negative");
  expect_invalid(three.padded(int64_max, 1), "padded: more than 2^63 tokens");
  expect_invalid(Positions::axes({three, three}).value().padded(int64_max - 8, 1),
                 "padded: axes: 2 of batch 1, tokens 9223372036854775803: more than 2^63 positions");
}

TEST(Take, SegmentsInTheirOrder) {
  const Positions p = Positions::packed(Ids{0, 4, 8}).value();
  EXPECT_EQ(numbers(p.take(std::vector<TokenSegment>{{3, 2}, {0, 0}, {0, 3, 3}}).value()),
            (Numbers{3, 0, 0, 3, 2}));
  const Positions halves = Positions::spaced(0, 0.5, 100).value();
  EXPECT_EQ(halves.take(std::vector<TokenSegment>{{1, 20, 4}}).value(),
            Positions::spaced(0.5, 2, 20).value());
  const Positions ids = Positions::ids(Ids{9, 4, 7, 1, 0, 3}, 3, 1, 2).value();
  EXPECT_EQ(numbers(ids.take(std::vector<TokenSegment>{{1, 1}, {0, 1}}).value(), 1), (Numbers{1, 7}));
  EXPECT_EQ(numbers(p.take(std::vector<TokenSegment>{{7, 1, int64_max}}).value()), (Numbers{3}));
  EXPECT_EQ(p.take({}).value().tokens(), 0);
}

TEST(Take, Refuses) {
  const auto error = [](TokenSegment segment) {
    return four.take(std::vector<TokenSegment>{{0, 1}, segment}).status().message();
  };
  EXPECT_EQ(error({0, -1}), "take: segments[1]: count -1: must not be negative");
  EXPECT_EQ(error({0, 1, 0}), "take: segments[1]: step 0: must be at least 1");
  EXPECT_EQ(error({-1, 1}), "take: segments[1]: 1 tokens from -1 on in steps of 1, of 4");
  EXPECT_EQ(error({2, 3}), "take: segments[1]: 3 tokens from 2 on in steps of 1, of 4");
  EXPECT_EQ(error({1, 2, 3}), "take: segments[1]: 2 tokens from 1 on in steps of 3, of 4");
  EXPECT_EQ(error({1, int64_max, int64_max}),
            "take: segments[1]: 9223372036854775807 tokens from 1 on in steps of 9223372036854775807, of 4");
  const Positions most = Positions::range(0, int64_max);
  expect_invalid(most.take(std::vector<TokenSegment>{{0, int64_max}, {0, 1}}),
                 "take: more than 2^63 tokens at segments[1]");
  expect_invalid(most.select_axes({0}).value().take(std::vector<TokenSegment>(2, {0, int64_max / 2 + 1})),
                 "take: more than 2^63 tokens at segments[1]");
}

TEST(SelectAxes, SwapsAndRepeats) {
  const Positions p = Positions::axes({three, Positions::range(5, 8)}).value();
  const Positions swapped = p.select_axes({1, 0}).value();
  EXPECT_EQ(numbers(swapped, 0), (Numbers{5, 6, 7}));
  EXPECT_EQ(numbers(swapped, 1), (Numbers{0, 1, 2}));
  EXPECT_EQ(Positions::offsets(Ids{1, 2}, 2).value().select_axes({0, 0, 0}).value().axes(), 3);
  expect_invalid(p.select_axes({}), "select_axes: 0 axes, expected 1 to 8");
  expect_invalid(p.select_axes(Ids(9, 0)), "select_axes: 9 axes, expected 1 to 8");
  expect_invalid(p.select_axes({0, 2}), "select_axes: axes[1] 2: must be 0 to 1");
  expect_invalid(p.select_axes({-1}), "select_axes: axes[0] -1: must be 0 to 1");
  expect_invalid(Positions::range(0, int64_max).select_axes({0, 0}), "select_axes: more than 2^63 positions");
}

TEST(Shifted, AllAxesOrEach) {
  EXPECT_EQ(three.shifted(-5).value(), Positions::range(-5, -2));
  const Positions p = Positions::axes({three, Positions::spaced(0, 0.5, 3).value()}).value();
  const Positions moved = p.shifted(Ids{0, 7}).value();
  EXPECT_EQ(numbers(moved, 0), (Numbers{0, 1, 2}));
  EXPECT_EQ(numbers(moved, 1), (Numbers{7, 7.5, 8}));
  expect_invalid(p.shifted(Ids{1}), "shifted: 1 numbers, expected 2, one an axis");
  expect_invalid(Positions::range(int64_max - 3, int64_max).shifted(2),
                 "shifted: axis 0 by 2: positions leave the int64 range");
  constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();
  expect_invalid(Positions::range(int64_min, int64_min + 3).shifted(-1),
                 "shifted: axis 0 by -1: positions leave the int64 range");
  EXPECT_EQ(Positions::range(int64_max - 3, int64_max).shifted(1).value().at(0, 0, 2).whole, int64_max);
  EXPECT_EQ(Positions::ids(Ids{std::numeric_limits<std::int64_t>::min()})
                .value()
                .shifted(int64_max)
                .value()
                .at(0, 0, 0)
                .whole,
            -1);
}

TEST(Composed, HoldsIdsWhereRunsWouldBeLarger) {
  // However a table is held it is the same; what it costs is told by docs/positions.md.
  Ids ids;
  for (std::int64_t i = 0; i < 1000; ++i) ids.push_back(i * i % 37);
  const Positions by_ids = Positions::ids(ids).value();
  const Positions copy = Positions::concatenate({by_ids, Positions::range(0, 5)}).value();
  EXPECT_EQ(copy.take(std::vector<TokenSegment>{{0, 1000}}).value(), by_ids);
  EXPECT_EQ(copy.take(std::vector<TokenSegment>{{1000, 5}}).value(), Positions::range(0, 5));
}

}  // namespace
}  // namespace rotary
