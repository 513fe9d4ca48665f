// SPDX-License-Identifier: Apache-2.0
// Policy table: the caller's numbers come back, and what does not fit together is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "unit/angles/support.hpp"

namespace rotary {
namespace {

using Floats = std::vector<float>;
using test::rows;

AngleTable table_of(const Floats& cos, const Floats& sin, std::int64_t rows, std::int64_t width,
                    std::int64_t rotary_dim = 0) {
  return {.cos = cos, .sin = sin, .rows = rows, .width = width, .rotary_dim = rotary_dim};
}
std::shared_ptr<const impl::AngleSource> make(const AngleTable& table,
                                              Pairing pairing = Pairing::half_split) {
  return impl::make_table_source(table, pairing).value();
}
void expect_refused(const AngleTable& table, std::string_view message,
                    Pairing pairing = Pairing::half_split) {
  const auto source = impl::make_table_source(table, pairing);
  EXPECT_EQ(source.status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(source.status().message(), message);
}

TEST(Table, AnyNumbersComeBack) {
  Floats cos{1, 0.5f, 3, -7, 0.25f, 1e30f}, sin{0, 2, -0.0f, 4, 5, HUGE_VALF};
  const auto source = make(table_of(cos, sin, 3, 2));
  cos.assign(6, 9.0f);  // it is a copy
  EXPECT_EQ(source->policy(), AnglePolicy::table);
  EXPECT_EQ(source->pairs(), 2);
  const std::vector<std::int64_t> ids{2, 0};
  const Positions p = Positions::ids(std::span(ids)).value();
  EXPECT_TRUE(source->check(p).ok());
  EXPECT_EQ(rows<float>(*source, p), (Floats{0.25f, 1e30f, 5, HUGE_VALF, 1, 0.5f, 0, 2}));
  EXPECT_EQ(rows<double>(*source, Positions::range(1, 2)), (std::vector<double>{3, -7, 0, 4}));
}

TEST(Table, FullWidthFoldsByThePairing) {
  const Floats half{1, 2, 3, 4}, halves{1, 2, 1, 2, 3, 4, 3, 4}, adjacent{1, 1, 2, 2, 3, 3, 4, 4};
  const auto expected = rows<float>(*make(table_of(half, half, 2, 2)), Positions::range(0, 2));
  EXPECT_EQ(rows<float>(*make(table_of(halves, halves, 2, 4, 4)), Positions::range(0, 2)), expected);
  EXPECT_EQ(rows<float>(*make(table_of(halves, halves, 2, 4, 4), Pairing::interleaved_to_half),
                        Positions::range(0, 2)),
            expected);
  EXPECT_EQ(
      rows<float>(*make(table_of(adjacent, adjacent, 2, 4, 4), Pairing::interleaved), Positions::range(0, 2)),
      expected);
}

TEST(Table, LanesThatDisagree) {
  const Floats good{1, 2, 1, 2}, bad{1, 2, 1, 2.5f};
  expect_refused(
      table_of(good, bad, 1, 4, 4),
      "table: sin row 0: lane 1 is 2 and lane 3 is 2.5, but they form pair 1 of half_split and must be "
      "equal");
  expect_refused(
      table_of(good, good, 1, 4, 4),
      "table: cos row 0: lane 0 is 1 and lane 1 is 2, but they form pair 0 of interleaved and must be "
      "equal",
      Pairing::interleaved);
}

TEST(Table, SizesThatDoNotFit) {
  const Floats sixteen(16), eight(8), none;
  expect_refused(table_of(sixteen, eight, 4, 4), "table: cos has 16 numbers, sin has 8");
  expect_refused(table_of(eight, eight, 4, 4),
                 "table: cos and sin have 8 numbers, expected rows 4 * width 4");
  expect_refused(table_of(eight, eight, 2, 4, 6), "table: width 4, expected rotary_dim 6 or half of it");
  expect_refused(table_of(eight, eight, 2, 4, 9), "table: width 4, expected rotary_dim 9 or half of it");
  expect_refused(table_of(eight, eight, 2, 4, -8), "table: width 4, expected rotary_dim -8 or half of it");
  expect_refused(table_of(none, none, 0, 4), "table: rows 0, width 4: empty");
  expect_refused(table_of(none, none, 4, 0), "table: rows 4, width 0: empty");
  expect_refused(table_of(eight, eight, std::int64_t{1} << 62, 4),
                 "table: cos and sin have 8 numbers, expected rows 4611686018427387904 * width 4");
  expect_refused(table_of(eight, eight, 1, std::int64_t{1} << 62),
                 "table: cos and sin have 8 numbers, expected rows 1 * width 4611686018427387904");
}

TEST(Table, PositionsOutsideAreRefused) {
  const Floats numbers(4096);
  const auto source = make(table_of(numbers, numbers, 4096, 1));
  EXPECT_TRUE(source->check(Positions::range(0, 4096)).ok());
  const Status beyond = source->check(Positions::range(4000, 4097));
  EXPECT_EQ(beyond.code(), StatusCode::out_of_range);
  EXPECT_EQ(beyond.message(), "position 4096 (row 0, token 96): the table has the rows 0 to 4095");
  const Status before = source->check(Positions::offsets(std::vector<std::int64_t>{3, -1}, 1).value());
  EXPECT_EQ(before.code(), StatusCode::out_of_range);
  EXPECT_EQ(before.message(), "position -1 (row 1, token 0): the table has the rows 0 to 4095");
  const Status between = source->check(Positions::spaced(1, 0.5, 2).value());
  EXPECT_EQ(between.code(), StatusCode::invalid_argument);
  EXPECT_EQ(between.message(), "position 1.5 (row 0, token 1): a table takes whole positions only");
}

TEST(Table, OtherAxesAreNotRead) {
  const Floats numbers{1, 2, 3};
  const auto source = make(table_of(numbers, numbers, 3, 1));
  const Positions p = Positions::axes(std::vector{Positions::range(1, 3), Positions::range(70, 72)}).value();
  EXPECT_TRUE(source->check(p).ok());
  EXPECT_EQ(rows<float>(*source, p), (Floats{2, 2, 3, 3}));
}

TEST(Table, EqualByContent) {
  const Floats a{1, 2, std::nanf(""), 4}, other{1, 2, 3, 4};
  const auto source = make(table_of(a, a, 2, 2));
  EXPECT_TRUE(source->equals(*make(table_of(a, a, 2, 2))));
  EXPECT_TRUE(source->equals(
      *make(table_of(Floats{1, 2, 1, 2, a[2], 4, a[2], 4}, Floats{1, 2, 1, 2, a[2], 4, a[2], 4}, 2, 4, 4))));
  EXPECT_FALSE(source->equals(*make(table_of(a, other, 2, 2))));
  EXPECT_FALSE(source->equals(*make(table_of(a, a, 4, 1))));
  const Floats two{1, 2};
  EXPECT_FALSE(source->equals(*make(table_of(two, two, 1, 2))));
  const Spectrum zeros = Spectrum::from_inv_freq(std::vector<double>(2)).value();
  EXPECT_FALSE(source->equals(*test::source(AnglePolicy::exact, zeros)));
}

}  // namespace
}  // namespace rotary
