// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <rotary/grids.hpp>

#include "support.hpp"

namespace rotary {
namespace {

using testing::expect_invalid;
using testing::Ids;
using testing::int64_max;
using testing::Numbers;
using testing::numbers;

TEST(Coordinates, Centred) {
  EXPECT_EQ(numbers(centred_cells(4).value()), (Numbers{-2, -1, 0, 1}));
  EXPECT_EQ(numbers(centred_cells(5).value()), (Numbers{-3, -2, -1, 0, 1}));
  EXPECT_EQ(numbers(centred_cells(1).value()), (Numbers{-1}));
  EXPECT_EQ(centred_cells(0).value().tokens(), 0);
  expect_invalid(centred_cells(-1), "centred_cells: -1 cells: must not be negative");
}

TEST(Coordinates, PatchCentres) {
  EXPECT_EQ(numbers(patch_centres(4).value()), (Numbers{-0.75, -0.25, 0.25, 0.75}));
  const Numbers third = numbers(patch_centres(3).value());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(third[i], (static_cast<double>(i) - 1) * 2 / 3, 1e-16);
  }
  EXPECT_EQ(numbers(patch_centres(1).value()), (Numbers{0}));
  EXPECT_EQ(patch_centres(0).value().tokens(), 0);
  expect_invalid(patch_centres(-3), "patch_centres: -3 cells: must not be negative");
}

TEST(Coordinates, EvenlyBetween) {
  EXPECT_EQ(numbers(evenly_between(0, 3, 4).value()), (Numbers{0, 0.75, 1.5, 2.25}));
  EXPECT_EQ(numbers(evenly_between(2, -2, 4).value()), (Numbers{2, 1, 0, -1}));
  EXPECT_EQ(evenly_between(0, 1, 0).value().tokens(), 0);
  expect_invalid(evenly_between(0, 1, -1), "evenly_between: -1 cells: must not be negative");
  expect_invalid(evenly_between(HUGE_VAL, 1, 2),
                 "spaced: first: position inf: must be finite and at most 2^53 in magnitude");
}

TEST(Coordinates, WholeSteps) {
  EXPECT_EQ(numbers(whole_steps(1.5, 5).value()), (Numbers{0, 1, 3, 4, 6}));
  EXPECT_EQ(numbers(whole_steps(1.4, 6).value()), (Numbers{0, 1, 2, 4, 5, 7}));
  EXPECT_EQ(numbers(whole_steps(-0.75, 4).value()), (Numbers{0, 0, -1, -2}));  // towards 0
  // The product of fp32 is 63, as torch has it; that of double is just below.
  EXPECT_EQ(whole_steps(1.4, 46).value().at(0, 0, 45).whole, 63);
  EXPECT_EQ(whole_steps(50, 3).value(), Positions::ids(Ids{0, 50, 100}).value());
  expect_invalid(whole_steps(1, -1), "whole_steps: -1 cells: must not be negative");
  expect_invalid(whole_steps(1, 1 << 25), "whole_steps: 33554432 cells, at most 16777216");
  expect_invalid(whole_steps(std::nan(""), 2), "whole_steps: step nan: must be finite and at most 2^29");
  expect_invalid(whole_steps(1e9, 2), "whole_steps: step 1000000000: must be finite and at most 2^29");
}

TEST(BlockOrder, FollowsTheMerger) {
  const Positions grid = Positions::grid({Positions::range(0, 2), Positions::range(0, 4)}).value();
  const Positions p = grid.take(block_order(1, 2, 4, 2).value()).value();
  EXPECT_EQ(numbers(p, 0), (Numbers{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(numbers(p, 1), (Numbers{0, 1, 0, 1, 2, 3, 2, 3}));
  const auto two_frames = block_order(2, 2, 2, 2).value();
  EXPECT_EQ(two_frames, (std::vector<TokenSegment>{{0, 2}, {2, 2}, {4, 2}, {6, 2}}));
  EXPECT_EQ(grid.take(block_order(1, 2, 4, 1).value()).value(), grid);
  EXPECT_TRUE(block_order(3, 0, 4, 2).value().empty());
  EXPECT_TRUE(block_order(3, 4, 0, 2).value().empty());
}

TEST(BlockOrder, Refuses) {
  expect_invalid(block_order(1, 3, 4, 2), "block_order: block 2: must divide height 3 and width 4");
  expect_invalid(block_order(1, 4, 6, 0), "block_order: block 0: must divide height 4 and width 6");
  expect_invalid(block_order(-1, 4, 6, 2), "block_order: frames -1, height 4, width 6: none may be negative");
  expect_invalid(
      block_order(int64_max, 4, 4, 2),
      "block_order: 9223372036854775807 frames of 4 rows with 2 runs of 2 patches, at most 67108864 "
      "runs together");
}

}  // namespace
}  // namespace rotary
