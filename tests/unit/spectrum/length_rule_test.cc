// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <rotary/length_rule.hpp>

#include "support/status_matchers.hpp"

namespace rotary::testing {
namespace {

constexpr std::array<std::int64_t, 3> batch{100, 5000, 0};

std::int64_t length(LengthRule rule, std::size_t row) { return length_for(rule, batch, row, 8192).value(); }

TEST(LengthRule, SaysWhoseTokensCount) {
  EXPECT_EQ(length(LengthRule::by_sequence, 0), 100);
  EXPECT_EQ(length(LengthRule::by_sequence, 1), 5000);
  EXPECT_EQ(length(LengthRule::by_batch, 0), 5000);
  EXPECT_EQ(length(LengthRule::by_maximum, 0), 8192);
  EXPECT_EQ(length(LengthRule::by_sequence, 2), 1) << "a Spectrum wants one token at least";
}

TEST(LengthRule, RefusesWhatDoesNotFit) {
  EXPECT_FAILS(length_for(LengthRule::by_batch, batch, 3, 8192), StatusCode::out_of_range,
               "row 3: there are 3");
  EXPECT_FAILS(length_for(LengthRule::by_batch, batch, 0, 4096), StatusCode::invalid_argument,
               "tokens_of_row[1] 5000: must be from 0 to the maximum, 4096");
  EXPECT_FAILS(length_for(LengthRule::by_batch, {}, 0, 0), StatusCode::invalid_argument,
               "maximum 0: must be at least 1 token");
}

TEST(LengthRule, HasNames) {
  for (const auto rule : {LengthRule::by_sequence, LengthRule::by_batch, LengthRule::by_maximum}) {
    EXPECT_EQ(length_rule_from_name(name(rule)), rule);
  }
  EXPECT_EQ(length_rule_from_name("by_luck"), std::nullopt);
}

}  // namespace
}  // namespace rotary::testing
