// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <rotary/positions.hpp>
#include <vector>

#include "support.hpp"

namespace rotary {
namespace {

using testing::Ids;
using testing::int64_max;
using testing::numbers;
constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();

TEST(Position, FixedPoint) {
  EXPECT_EQ(to_position(0.0).value(), (Position{0, 0}));
  EXPECT_EQ(to_position(3.0).value(), (Position{3, 0}));
  EXPECT_EQ(to_position(2.5).value(), (Position{2, std::uint64_t{1} << 63}));
  EXPECT_EQ(to_position(-0.25).value(), (Position{-1, std::uint64_t{3} << 62}));
  EXPECT_EQ(to_position(-7.0).value(), (Position{-7, 0}));
  EXPECT_EQ(to_position(0x1p-64).value(), (Position{0, 1}));
  EXPECT_EQ(to_position(-0x1p-64).value(), (Position{-1, ~std::uint64_t{0}}));
  EXPECT_EQ(to_position(0x1.8p-65).value(), (Position{0, 1}));  // nearest
  EXPECT_EQ(to_position(-1e-30).value(), (Position{0, 0}));
  EXPECT_EQ(to_position(0x1p53).value(), (Position{std::int64_t{1} << 53, 0}));
  EXPECT_EQ(to_position(-0x1p53).value(), (Position{-(std::int64_t{1} << 53), 0}));
}

TEST(Position, DoublesComeBack) {
  for (const double value : {0.1, -0.1, 1.0 / 3, -1234567.89, 131071.5, 0x1.fffffffffffffp52, -0x1p-60}) {
    EXPECT_EQ(to_double(to_position(value).value()), value);
  }
  EXPECT_EQ(to_double({int64_max, 0}), 0x1p63);
  EXPECT_EQ(to_double({int64_min, 0}), -0x1p63);
}

TEST(Position, RefusesWhatItCannotHold) {
  EXPECT_EQ(to_position(std::nan("")).status().message(),
            "position nan: must be finite and at most 2^53 in magnitude");
  EXPECT_EQ(to_position(HUGE_VAL).status().message(),
            "position inf: must be finite and at most 2^53 in magnitude");
  EXPECT_EQ(to_position(-0x1.0000000000001p53).status().code(), StatusCode::invalid_argument);
}

TEST(Positions, Range) {
  const Positions p = Positions::range(-2, 3);
  EXPECT_EQ(p.axes(), 1);
  EXPECT_EQ(p.batch(), 1);
  EXPECT_EQ(p.tokens(), 5);
  EXPECT_EQ(numbers(p), (std::vector<double>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(Positions::range(5, 5), Positions());
  EXPECT_EQ(Positions::range(5, 4).tokens(), 0);
  EXPECT_EQ(Positions::range(int64_max - 1, int64_max).at(0, 0, 0).whole, int64_max - 1);
  EXPECT_EQ(Positions::range(int64_min, int64_max).tokens(), int64_max);
}

TEST(Positions, ReadsPartsThatCrossSegments) {
  const Positions p = Positions::packed(Ids{0, 3, 3, 5, 9}, Ids{0, 50, 128, -1}).value();
  EXPECT_EQ(numbers(p), (std::vector<double>{0, 1, 2, 128, 129, -1, 0, 1, 2}));
  std::array<Position, 4> part;
  p.read(0, 0, 2, part);
  EXPECT_EQ(part, (std::array<Position, 4>{{{2, 0}, {128, 0}, {129, 0}, {-1, 0}}}));
}

TEST(Positions, SpacedIsExact) {
  const Positions p = Positions::spaced(-0.25, 0.5, 4).value();
  EXPECT_EQ(numbers(p), (std::vector<double>{-0.25, 0.25, 0.75, 1.25}));
  // The double next to 0.1 is 5.5511151231257827e-18 above it: a million exact steps show it, roundings hide
  // it.
  const Position last = Positions::spaced(0, 0.1, 1'000'001).value().at(0, 0, 1'000'000);
  EXPECT_EQ(last.whole, 100000);
  EXPECT_NEAR(static_cast<double>(last.fraction) * 0x1p-64, 5.5511151231257827e-12, 1e-18);
  EXPECT_EQ(Positions::spaced(3, 1, 2).value(), Positions::range(3, 5));
}

TEST(Positions, OffsetsStandAtTheirOwnPlace) {
  const Positions p = Positions::offsets(Ids{7, 90}, 2).value();
  EXPECT_EQ(p.batch(), 2);
  EXPECT_EQ(numbers(p, 0, 0), (std::vector<double>{7, 8}));
  EXPECT_EQ(numbers(p, 0, 1), (std::vector<double>{90, 91}));
  EXPECT_EQ(Positions::offsets(Ids{131071}, 1).value(), Positions::range(131071, 131072));
  EXPECT_EQ(Positions::offsets(Ids{}, 4).value().batch(), 0);
  EXPECT_EQ(Positions::offsets(std::vector<std::int32_t>{7, 90}, 2).value(), p);
}

TEST(Positions, PackedEqualsItsSequences) {
  const Positions p = Positions::packed(std::vector<std::int32_t>{0, 4, 4, 8}).value();
  EXPECT_EQ(numbers(p), (std::vector<double>{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(p, Positions::packed(Ids{0, 4, 8}).value());
  EXPECT_EQ(Positions::packed(Ids{0}).value().tokens(), 0);
  // Fragments that start elsewhere.
  const Positions fragments = Positions::packed(Ids{0, 128, 192}, Ids{0, 128}).value();
  EXPECT_EQ(fragments, Positions::range(0, 192));
}

TEST(Positions, TypesOfIdsDoNotMatter) {
  const std::vector<std::int32_t> i32{0, -1, 2147483647, -2147483647, 16777216, 5};
  const Ids i64(i32.begin(), i32.end());
  const std::vector<double> f64(i32.begin(), i32.end());
  const Positions p = Positions::ids(std::span(i32), 2, 3).value();
  EXPECT_EQ(p, Positions::ids(std::span(i64), 2, 3).value());
  EXPECT_EQ(p, Positions::ids(std::span(f64), 2, 3).value());
  const std::vector<float> f32{0.5f, -0.25f, 16777216.0f};
  const std::vector<double> same{0.5, -0.25, 16777216.0};
  EXPECT_EQ(Positions::ids(std::span(f32)).value(), Positions::ids(std::span(same)).value());
}

TEST(Positions, LargeIdsAreNotWrapped) {
  const Ids ids{(std::int64_t{1} << 31) + 5, (std::int64_t{1} << 53) + 1, int64_min, int64_max};
  const Positions p = Positions::ids(std::span(ids)).value();
  for (std::size_t t = 0; t < ids.size(); ++t) {
    EXPECT_EQ(p.at(0, 0, static_cast<std::int64_t>(t)), (Position{ids[t], 0}));
  }
}

TEST(Positions, EqualByContentNotByForm) {
  const Ids ids{3, 4, 5, 6}, again{1, 2, 1, 2};
  const Positions by_ids = Positions::ids(std::span(ids)).value();
  EXPECT_EQ(by_ids, Positions::range(3, 7));
  EXPECT_EQ(Positions::range(3, 7), by_ids);
  EXPECT_NE(by_ids, Positions::range(3, 8));
  EXPECT_NE(by_ids, Positions::range(4, 8));
  EXPECT_NE(by_ids, Positions::ids(std::span(ids), 2, 2).value());
  EXPECT_NE(Positions::spaced(0, 0.5, 2).value(), Positions::range(0, 2));
  EXPECT_EQ(Positions::spaced(9, 0.5, 1).value(), Positions::range(9, 10));
  EXPECT_EQ(Positions::offsets(Ids{1, 1}, 2).value(), Positions::ids(std::span(again), 2, 2).value());
  EXPECT_NE(Positions::range(0, int64_max), Positions::range(1, int64_max));
}

TEST(Positions, AxesKeepEachItsOwn) {
  const Ids columns{0, 1, 2, 0, 1, 2}, both{15, 16, 17, 18, 19, 20, 0, 1, 2, 0, 1, 2};
  const std::vector<Positions> each{Positions::range(15, 21), Positions::packed(Ids{0, 3, 6}).value(),
                                    Positions::ids(std::span(columns)).value()};
  const Positions p = Positions::axes(each).value();
  EXPECT_EQ(p.axes(), 3);
  EXPECT_EQ(p.tokens(), 6);
  for (std::int64_t a = 0; a < 3; ++a) EXPECT_EQ(numbers(p, a), numbers(each[static_cast<std::size_t>(a)]));
  // Without ids it stays affine and is the same table.
  const Positions affine = Positions::axes(std::span(each).first(2)).value();
  EXPECT_EQ(affine, Positions::ids(std::span(both), 2, 1, 6).value());
  EXPECT_EQ(Positions::axes(std::span(each).first(1)).value(), each[0]);
}

TEST(Positions, AxesOfABatch) {
  const std::vector<Positions> each{Positions::offsets(Ids{0, 10}, 2).value(),
                                    Positions::offsets(Ids{100, 200}, 2).value()};
  const Positions p = Positions::axes(each).value();
  EXPECT_EQ(numbers(p, 0, 1), (std::vector<double>{10, 11}));
  EXPECT_EQ(numbers(p, 1, 0), (std::vector<double>{100, 101}));
}

TEST(Positions, MovedFromHasNoTokens) {
  const std::vector<std::int64_t> ids = {7, 8, 9};
  Positions from = Positions::ids(ids).value();
  Positions to = std::move(from);
  EXPECT_EQ(from.tokens(), 0);  // NOLINT: the point of the test
  EXPECT_EQ(to.at(0, 0, 2).whole, 9);
  Positions& self = to;
  to = std::move(self);
  EXPECT_EQ(to.at(0, 0, 2).whole, 9);
  from = std::move(to);
  EXPECT_EQ(from.at(0, 0, 2).whole, 9);
  EXPECT_EQ(to.tokens(), 0);
}

TEST(Positions, CopyAssignment) {
  const Ids ids{5, 4, 3};
  const Positions by_ids = Positions::ids(std::span(ids)).value(), range = Positions::range(2, 4);
  Positions p = Positions::range(0, 9);
  p = by_ids;
  EXPECT_EQ(p, by_ids);
  p = Positions::packed(Ids{0, 1, 2}).value();
  const Positions& self = p;
  p = self;
  EXPECT_EQ(numbers(p), (std::vector<double>{0, 0}));
  p = range;
  EXPECT_EQ(numbers(p), (std::vector<double>{2, 3}));
}

}  // namespace
}  // namespace rotary
