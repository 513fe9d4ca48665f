// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <rotary/positions.hpp>
#include <vector>

namespace rotary {
namespace {

using Ids = std::vector<std::int64_t>;
constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

void expect_invalid(const Result<Positions>& result, std::string_view message) {
  EXPECT_EQ(result.status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(result.status().message(), message);
}

TEST(PositionsErrors, Spaced) {
  expect_invalid(Positions::spaced(std::nan(""), 1, 2),
                 "spaced: first: position nan: must be finite and at most 2^53 in magnitude");
  expect_invalid(Positions::spaced(0, HUGE_VAL, 2),
                 "spaced: step: position inf: must be finite and at most 2^53 in magnitude");
  expect_invalid(Positions::spaced(0, 1, -1), "spaced: batch 1, tokens -1: none may be negative");
  expect_invalid(Positions::spaced(0, 4096, int64_max),
                 "spaced: 9223372036854775807 tokens from 0 on in steps of 4096 end beyond 2^62");
}

TEST(PositionsErrors, Offsets) {
  expect_invalid(Positions::offsets(Ids{0}, -4), "offsets: batch 1, tokens -4: none may be negative");
  expect_invalid(Positions::offsets(Ids{0, int64_max - 1}, 2),
                 "offsets[1]: 2 tokens from 9223372036854775806 on end beyond 2^63 - 1");
  expect_invalid(Positions::offsets(Ids{0, 0, 0}, int64_max / 2),
                 "offsets: batch 3, tokens 4611686018427387903: more than 2^63 positions");
}

TEST(PositionsErrors, Ids) {
  const Ids none, three{1, 2, 3};
  expect_invalid(Positions::ids(std::span(three), 2, 2),
                 "ids: 3 numbers, expected axes 1 * batch 2 * tokens 2");
  expect_invalid(Positions::ids(std::span(three), 0, 1, 3), "ids: axes 0, expected 1 to 8");
  expect_invalid(Positions::ids(std::span(none), 9, 1, 0), "ids: axes 9, expected 1 to 8");
  expect_invalid(Positions::ids(std::span(none), 1, -1, 0), "ids: batch -1, tokens 0: none may be negative");
  expect_invalid(Positions::ids(std::span(none), 2, int64_max, 2),
                 "ids: 0 numbers, expected axes 2 * batch 9223372036854775807 * tokens 2");
  const std::vector<float> infinite{0, 1, -HUGE_VALF};
  expect_invalid(Positions::ids(std::span(infinite)),
                 "ids[2]: position -inf: must be finite and at most 2^53 in magnitude");
  const std::vector<double> large{0x1p54};
  expect_invalid(Positions::ids(std::span(large)),
                 "ids[0]: position 18014398509481984: must be finite and at most 2^53 in magnitude");
}

TEST(PositionsErrors, Packed) {
  expect_invalid(Positions::packed(Ids{}), "cu_seqlens: empty, expected at least a 0");
  expect_invalid(Positions::packed(Ids{1, 4}), "cu_seqlens[0]: 1, expected 0");
  expect_invalid(Positions::packed(std::vector<std::int32_t>{0, 4, 3}),
                 "cu_seqlens[2]: 3, expected at least 4 as before it");
  expect_invalid(Positions::packed(Ids{0, 4, 8}, Ids{0}),
                 "starts: 1 numbers, expected 2, one a sequence of cu_seqlens");
  expect_invalid(Positions::packed(Ids{0, 4}, Ids{int64_max - 2}),
                 "starts[0]: 4 tokens from 9223372036854775805 on end beyond 2^63 - 1");
}

TEST(PositionsErrors, Axes) {
  const Positions three = Positions::range(0, 3), four = Positions::range(0, 4);
  const Positions two_axes = Positions::axes(std::vector{three, three}).value();
  expect_invalid(Positions::axes({}), "axes: 0 given, expected 1 to 8");
  expect_invalid(Positions::axes(std::vector(9, three)), "axes: 9 given, expected 1 to 8");
  expect_invalid(Positions::axes(std::vector{three, two_axes}), "axes[1]: has 2 axes itself, expected 1");
  expect_invalid(Positions::axes(std::vector{three, four}),
                 "axes[1]: batch 1, tokens 4, expected batch 1, tokens 3 as axes[0]");
  expect_invalid(Positions::axes(std::vector(3, Positions::range(0, int64_max))),
                 "axes: 3 of batch 1, tokens 9223372036854775807: more than 2^63 positions");
}

}  // namespace
}  // namespace rotary
