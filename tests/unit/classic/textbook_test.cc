// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <rotary/classic.hpp>
#include <vector>

#include "support/status_matchers.hpp"

namespace rotary::testing {
namespace {

using namespace classic;

TEST(RotateEveryTwo, IsAQuarterTurn) {
  std::vector<float> x = {1, 2, 3, 4};
  ASSERT_SUCCEEDS(textbook::rotate_every_two(textbook::btd(x.data(), 1, 1, 4)));
  EXPECT_EQ(x, (std::vector<float>{-2, 1, -4, 3}));
  EXPECT_FAILS(textbook::rotate_every_two(textbook::btd(x.data(), 1, 1, 0)), StatusCode::invalid_argument,
               "rotate_every_two: head_dim 0: must be even, from 2 to 8192");
}

TEST(RoPE, TakesPositionsOfItsOwnForEachRow) {
  // Row 0 stands at 0 and 1000, row 1 at 999 and -1000; dim 2 turns one radian a position.
  const std::vector<std::int64_t> ids = {0, 1000, 999, -1000};
  std::vector<float> x = {1, 0, 1, 0, 1, 0, 1, 0};
  const auto rope = textbook::RoPE::make(2).value();
  const auto positions = Positions::ids(std::span(ids), 2, 2).value();
  ASSERT_SUCCEEDS(rope(positions, textbook::btd(x.data(), 2, 2, 2)));
  const double expected[] = {1,         0,          0.5623790763, 0.8268795405,
                             0.9996497, -0.0264608, 0.5623790763, -0.8268795405};
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(static_cast<double>(x[i]), expected[i], 1e-6) << i;
}

TEST(RoPE, IsARopeOfTheCore) {
  const auto rope = textbook::RoPE::make(64, 500000).value();
  EXPECT_EQ(rope.rope().pairing(), Pairing::interleaved);
  EXPECT_EQ(rope.rope().policy(), AnglePolicy::fp32);
  EXPECT_EQ(rope.rope().head_dim(), 64);
  EXPECT_NEAR(rope.rope().spectrum().inv_freq()[31], std::pow(500000, -62.0 / 64), 1e-18);
}

TEST(RoPE, RefusesWhatDoesNotFit) {
  EXPECT_FAILS(textbook::RoPE::make(5), StatusCode::invalid_argument, "rotary_dim 5");
  EXPECT_FAILS(textbook::RoPE::make(4, 0), StatusCode::invalid_argument, "base 0");
  const auto rope = textbook::RoPE::make(4).value();
  std::vector<float> x(8, 1.0f);
  EXPECT_FAILS(rope(Positions::range(0, 1), textbook::btd(x.data(), 1, 2, 4)), StatusCode::invalid_argument,
               "angles have 1 tokens, q has 2");
  EXPECT_FAILS(rope(Positions::range(0, 2), textbook::btd(x.data(), 1, 2, 2)), StatusCode::invalid_argument,
               "q: head_dim 2, expected 4");
  EXPECT_EQ(x, std::vector<float>(8, 1.0f));
}

}  // namespace
}  // namespace rotary::testing
