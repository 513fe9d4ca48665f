// SPDX-License-Identifier: Apache-2.0
// Maps of axes: literals are what the systems' own loops give.
#include <gtest/gtest.h>

#include <limits>
#include <rotary/axes.hpp>
#include <rotary/spectrum.hpp>
#include <string>
#include <vector>

namespace rotary {
namespace {

using Sections = std::vector<std::int64_t>;

std::string digits(std::span<const std::uint8_t> map) {
  std::string text;
  for (const std::uint8_t axis : map) text += static_cast<char>('0' + axis);
  return text;
}
std::string map(AxisOrder order, const Sections& sections) {
  return digits(axis_map(order, sections).value());
}
std::string error(AxisOrder order, const Sections& sections) {
  return axis_map(order, sections).status().message();
}
std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(AxisMap, Contiguous) {
  EXPECT_EQ(map(AxisOrder::contiguous, {2, 3, 3}), "00111222");
  EXPECT_EQ(map(AxisOrder::contiguous, {16, 24, 24}), times(16, "0") + times(24, "1") + times(24, "2"));
  EXPECT_EQ(map(AxisOrder::contiguous, {1, 0, 1, 2}), "0233");
  EXPECT_EQ(map(AxisOrder::contiguous, {}), "");
}

TEST(AxisMap, InterleavedGivesTheRestToTheFirst) {
  EXPECT_EQ(map(AxisOrder::interleaved, {24, 20, 20}), times(20, "012") + "0000");  // Qwen3-VL
  EXPECT_EQ(map(AxisOrder::interleaved, {11, 11, 10}), times(10, "012") + "01");    // Qwen3.5
  EXPECT_EQ(map(AxisOrder::interleaved, {12, 10, 10}), times(10, "012") + "00");    // Hy4-VL
  EXPECT_EQ(map(AxisOrder::interleaved, {4, 2, 2}), "01201200");
  EXPECT_EQ(map(AxisOrder::interleaved, {16, 16}), times(16, "01"));  // Kimi K2.5 vision
  EXPECT_EQ(error(AxisOrder::interleaved, {1, 1, 30}),
            "axis_sections[2] 30: of 32 pairs only 10 fall to axis 2 when the axes take turns");
  EXPECT_EQ(error(AxisOrder::interleaved, {2, 3, 3}),
            "axis_sections[2] 3: of 8 pairs only 2 fall to axis 2 when the axes take turns");
}

TEST(AxisMap, ImropeGivesTheRestToAFourthStream) {
  EXPECT_EQ(map(AxisOrder::imrope, {24, 20, 20, 0}), times(20, "012") + "0330");
  EXPECT_EQ(map(AxisOrder::imrope, {4, 2, 2}), "01201203");
  // Where no turn is left over it is the same as interleaved.
  EXPECT_EQ(map(AxisOrder::imrope, {11, 11, 10}), map(AxisOrder::interleaved, {11, 11, 10}));
  EXPECT_EQ(error(AxisOrder::imrope, {8, 8}), "axis_sections: 2 sections, imrope has 3");
  EXPECT_EQ(error(AxisOrder::imrope, {8, 8, 8, 8}), "axis_sections: 4 sections, imrope has 3");
}

TEST(AxisMap, RoundRobinSkipsWhoHasNone) {
  EXPECT_EQ(map(AxisOrder::round_robin, {8, 12, 12}), times(8, "012") + "11211222");
  EXPECT_EQ(map(AxisOrder::round_robin, {1, 5, 2}), "01211211");
  EXPECT_EQ(map(AxisOrder::round_robin, {4, 2, 2}), "01201200");
  EXPECT_EQ(map(AxisOrder::round_robin, {}), "");
  EXPECT_EQ(map(AxisOrder::round_robin, {0, 0}), "");
}

TEST(AxisMap, SpreadIsOpenPangus) {
  EXPECT_EQ(map(AxisOrder::spread, {8, 12, 12}), "01212012120121201201212012120120");
  EXPECT_EQ(map(AxisOrder::spread, {16, 24, 24}),
            "0121201212012012120120121201212012012120120121201212012012120120");
  EXPECT_EQ(map(AxisOrder::spread, {20, 6, 6}), "01201020102010201020102000000000");
  EXPECT_EQ(map(AxisOrder::spread, {1, 1, 6}), "12222220");
  EXPECT_EQ(map(AxisOrder::spread, {10, 22}), times(10, "01") + times(12, "1"));
  EXPECT_EQ(error(AxisOrder::spread, {0, 4, 4}), "axis_sections[0] 0: spread ends on a pair of axis 0");
  EXPECT_EQ(error(AxisOrder::spread, {8}), "axis_sections: 1 sections, spread has 2 or 3");
}

TEST(AxisMap, SpaceThenTimeIsErnies) {
  EXPECT_EQ(map(AxisOrder::space_then_time, {20, 22, 22}), times(22, "12") + times(20, "0"));
  EXPECT_EQ(map(AxisOrder::space_then_time, {2, 3, 3}), "12121200");
  EXPECT_EQ(map(AxisOrder::space_then_time, {3}), "000");
  EXPECT_EQ(map(AxisOrder::space_then_time, {}), "");
}

TEST(AxisMap, RefusesWhatIsNoSectionList) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const AxisOrder order : {AxisOrder::contiguous, AxisOrder::interleaved, AxisOrder::round_robin}) {
    EXPECT_EQ(error(order, {4, -1}), "axis_sections[1] -1: must not be negative");
    EXPECT_EQ(error(order, {most, most}), "axis_sections: sum over 4096 at section 0");
    EXPECT_EQ(error(order, {4000, 97}), "axis_sections: sum over 4096 at section 1");
    EXPECT_EQ(error(order, Sections(9, 0)), "axis_sections: 9 sections, at most 8");
  }
  EXPECT_EQ(error(static_cast<AxisOrder>(9), {1}), "axis_order 9: no such order");
}

TEST(AxisOrders, HaveNames) {
  for (const auto word :
       {"contiguous", "interleaved", "imrope", "round_robin", "spread", "space_then_time"}) {
    ASSERT_TRUE(axis_order_from_name(word)) << word;
    EXPECT_EQ(name(*axis_order_from_name(word)), word);
  }
  EXPECT_FALSE(axis_order_from_name("mrope"));
}

TEST(Spectrum, TakesSectionsInAnyOrder) {
  const auto s = Spectrum::make({.rotary_dim = 128,
                                 .base = 5e6,
                                 .axis_sections = {24, 20, 20},
                                 .axis_order = AxisOrder::interleaved})
                     .value();
  EXPECT_EQ(digits(s.axis()), times(20, "012") + "0000");
  EXPECT_EQ(
      Spectrum::make({.rotary_dim = 126, .axis_sections = {24, 20, 20}, .axis_order = AxisOrder::interleaved})
          .status()
          .message(),
      "axis_sections: sum 64, must be the number of pairs, 63");
}

TEST(Spectrum, AxialHasAScheduleForEachAxis) {
  const Sections flux{16, 56, 56};
  const auto s = Spectrum::axial(flux, 10000).value();
  EXPECT_EQ(digits(s.axis()), times(8, "0") + times(28, "1") + times(28, "2"));
  EXPECT_DOUBLE_EQ(s.inv_freq()[1], 0.31622776601683794);  // 10000^(-2/16)
  EXPECT_DOUBLE_EQ(s.inv_freq()[8], 1);                    // each begins anew
  EXPECT_DOUBLE_EQ(s.inv_freq()[9], 0.7196856730011519);   // 10000^(-2/56)
  EXPECT_DOUBLE_EQ(s.inv_freq()[37], 0.7196856730011519);
  EXPECT_EQ(Spectrum::axial(Sections{16, 7}, 1e4).status().message(),
            "rotary_dim 7: must be even, from 0 to 8192");
  EXPECT_EQ(Spectrum::axial(Sections{8192, 2}, 1e4).status().message(),
            "join: axis_sections: sum over 4096 at section 1");
}

}  // namespace
}  // namespace rotary
