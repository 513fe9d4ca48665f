// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <rotary/spectrum.hpp>

namespace rotary {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// Phi-3.5's shape: 48 pairs, L 4096, 32 times as many tokens.
scaling::LongRope phi() {
  return {.short_factor = std::vector<double>(48, 2),
          .long_factor = std::vector<double>(48, 16),
          .max_position_embeddings = 131072};
}

Spectrum make(const scaling::LongRope& longrope, std::optional<std::int64_t> length = {}) {
  return Spectrum::make({.rotary_dim = 96, .scaling = longrope, .length = length}).value();
}

std::string error_of(const Scaling& scaling) {
  const auto spectrum = Spectrum::make({.rotary_dim = 96, .scaling = scaling});
  return spectrum ? "no error" : spectrum.status().message();
}

TEST(LongRope, TheLongListBeginsBeyondTheOriginalLength) {
  EXPECT_EQ(make(phi()).inv_freq()[0], 0.5);
  EXPECT_EQ(make(phi(), 1).inv_freq()[0], 0.5);
  EXPECT_EQ(make(phi(), 4096).inv_freq()[0], 0.5);
  EXPECT_EQ(make(phi(), 4097).inv_freq()[0], 0.0625);
  EXPECT_EQ(make(phi(), 131072).inv_freq_fp32()[0], 0.0625F);
}

TEST(LongRope, AttentionFactorRules) {
  EXPECT_NEAR(make(phi()).attention_factor(), 1.1902380714, 5e-11);
  EXPECT_NEAR(make(phi(), 131072).attention_factor(), 1.1902380714, 5e-11) << "the same on both sides";
  auto s = phi();
  s.factor = 32;
  s.max_position_embeddings = 8192;
  EXPECT_NEAR(make(s).attention_factor(), 1.1902380714, 5e-11) << "a factor beats the ratio";
  s.factor = 1;
  EXPECT_EQ(make(s).attention_factor(), 1);
  s.attention_factor = 1.5;
  EXPECT_EQ(make(s).attention_factor(), 1.5);
  s.short_mscale = 1.1;
  s.long_mscale = 1.25;
  EXPECT_EQ(make(s, 4096).attention_factor(), 1.1);
  EXPECT_EQ(make(s, 4097).attention_factor(), 1.25);
  EXPECT_EQ(make(s).softmax_factor(), 1);
}

TEST(LongRope, RefusesBadNumbers) {
  auto s = phi();
  s.long_factor.resize(64, 1);
  EXPECT_EQ(error_of(s), "longrope: long_factor: 64 numbers, must be one a pair, rotary_dim 96 / 2 = 48");
  s = phi();
  s.short_factor[7] = kNan;
  EXPECT_EQ(error_of(s), "longrope: short_factor[7] nan: must be positive and finite");
  s = phi();
  s.max_position_embeddings.reset();
  EXPECT_EQ(
      error_of(s),
      "longrope: factor: missing, and neither max_position_embeddings nor attention_factor replaces it");
  s.factor = 4;
  s.original_max_position_embeddings = 1;
  EXPECT_EQ(error_of(s), "longrope: original_max_position_embeddings 1: must be over 1");
  s.original_max_position_embeddings = -1;
  EXPECT_EQ(error_of(s), "longrope: original_max_position_embeddings -1: must be positive and finite");
  s = phi();
  s.long_mscale = 0;
  EXPECT_EQ(error_of(s), "longrope: long_mscale 0: must be positive and finite");
}

TEST(Proportional, ExponentsOverTheWholeHead) {
  const scaling::Proportional quarter{.partial_rotary_factor = 0.25};
  const auto s = Spectrum::make({.rotary_dim = 512, .base = 1e6, .scaling = quarter}).value();
  EXPECT_EQ(s.inv_freq()[0], 1);
  EXPECT_NEAR(s.inv_freq()[1], 0.947463526, 5e-10);
  EXPECT_NEAR(s.inv_freq()[63], 0.0333762469, 5e-11);
  for (std::size_t i = 64; i < 256; ++i) EXPECT_EQ(s.inv_freq()[i], 0) << i;
  const auto odd = Spectrum::make({.rotary_dim = 6, .scaling = scaling::Proportional{0.99, 4}}).value();
  EXPECT_EQ(odd.inv_freq()[0], 0.25);
  EXPECT_GT(odd.inv_freq()[1], 0);
  EXPECT_EQ(odd.inv_freq()[2], 0);
  EXPECT_EQ(error_of(scaling::Proportional{1.5}),
            "proportional: partial_rotary_factor 1.5: must be from 0 to 1");
  EXPECT_EQ(error_of(scaling::Proportional{.factor = 0}),
            "proportional: factor 0: must be positive and finite");
}

TEST(Divided, DividesEachPair) {
  const auto s = Spectrum::make({.rotary_dim = 8, .scaling = scaling::Divided{{1, 4, 1e30, kInf}}}).value();
  EXPECT_EQ(s.inv_freq()[0], 1);
  EXPECT_DOUBLE_EQ(s.inv_freq()[1], 0.025);
  EXPECT_EQ(s.inv_freq()[2], 0);
  EXPECT_EQ(s.inv_freq()[3], 0);
  EXPECT_EQ(s.base(), 10000);
}

TEST(Divided, BesideAnotherScaling) {
  const auto yarn =
      Spectrum::make({.rotary_dim = 8, .scaling = scaling::Yarn{.factor = 4}, .axis_sections = {2, 2}})
          .value();
  const auto s = yarn.divided_by(std::vector<double>{1, 2, 1e30, 4}).value();
  EXPECT_EQ(s.inv_freq()[1], yarn.inv_freq()[1] / 2);
  EXPECT_EQ(s.inv_freq()[2], 0);
  EXPECT_EQ(s.scaling(), yarn.scaling());
  EXPECT_EQ(s.attention_factor(), yarn.attention_factor());
  EXPECT_EQ(s.axes(), 2);
  EXPECT_EQ(s.divisors()[3], 4);
  EXPECT_NE(s, yarn);
  EXPECT_EQ(yarn.divided_by(std::vector<double>{1, 2}).status().message(),
            "divisors: 2 numbers, must be one a pair, 4");
  EXPECT_EQ(yarn.divided_by(std::vector<double>{1, 2, 0, 4}).status().message(),
            "divisors[2] 0: must be positive");
  EXPECT_EQ(yarn.divided_by(std::vector<double>{1e-300, 1, 1, 1}).status().message(),
            "divisors[0] 1e-300: the frequency must be finite in fp32");
}

TEST(Divided, RefusesTheInverseOfWhatItNeeds) {
  const auto error = [](const std::vector<double>& divisors) {
    const auto s = Spectrum::make({.rotary_dim = 8, .scaling = scaling::Divided{divisors}});
    return s ? "no error" : s.status().message();
  };
  EXPECT_EQ(
      error({1, 1, 0.5, 0.125}),
      "divided: divisors: fall from 1 to 0.125, as multipliers do: give their inverses (8 turns a pair 8 "
      "times slower)");
  EXPECT_EQ(error({1, 1, 1, 1}), "no error");
  EXPECT_EQ(error({1, 1, 2, 8}), "no error");
  EXPECT_EQ(error({1, 1, 2}), "divided: divisors: 3 numbers, must be one a pair, rotary_dim 8 / 2 = 4");
  EXPECT_EQ(error({1, 1, 2, 0}), "divided: divisors[3] 0: must be positive and finite");
}

}  // namespace
}  // namespace rotary
