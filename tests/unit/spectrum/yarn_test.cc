// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <rotary/spectrum.hpp>

namespace rotary {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Spectrum make(std::int64_t rotary_dim, double base, const scaling::Yarn& yarn) {
  return Spectrum::make({.rotary_dim = rotary_dim, .base = base, .scaling = yarn}).value();
}

std::string error_of(const scaling::Yarn& yarn, double base = 10000) {
  const auto spectrum = Spectrum::make({.rotary_dim = 64, .base = base, .scaling = yarn});
  return spectrum ? "no error" : spectrum.status().message();
}

/// Where the ramp begins and ends, read off the frequencies: the share of the division grows by 1/(end -
/// begin) a pair.
void expect_ramp(const Spectrum& s, double factor, double begin, double end) {
  for (std::int64_t i = 0; i < s.pairs(); ++i) {
    const double w = std::pow(*s.base(), -static_cast<double>(i) / static_cast<double>(s.pairs()));
    const double share = (1 - s.inv_freq()[static_cast<std::size_t>(i)] / w) / (1 - 1 / factor);
    const double expected = std::clamp((static_cast<double>(i) - begin) / (end - begin), 0.0, 1.0);
    EXPECT_NEAR(share, expected, 1e-7) << i;
  }
}

TEST(Yarn, GptOss) {
  const scaling::Yarn yarn{.factor = 32, .original_max_position_embeddings = 4096, .truncate = false};
  const auto s = make(64, 150000, yarn);
  expect_ramp(s, 32, 8.09277912, 17.39802450);
  EXPECT_NEAR(s.inv_freq()[12] / 0.00679495949, 1, 1e-9);
  EXPECT_NEAR(s.inv_freq()[16] / 0.000456483919, 1, 2e-9);
  EXPECT_NEAR(s.inv_freq()[31] / 3.02351143e-07, 1, 2e-9);
  EXPECT_NEAR(s.attention_factor(), 1.3465735903, 5e-11);
  EXPECT_EQ(s.softmax_factor(), 1);
}

TEST(Yarn, GptOssIfItTruncated) {
  const auto s = make(64, 150000, {.factor = 32, .original_max_position_embeddings = 4096});
  expect_ramp(s, 32, 8, 18);
  EXPECT_NEAR(s.inv_freq()[12] / 0.00701571391, 1, 1e-9);
  EXPECT_NEAR(s.inv_freq()[16] / 0.000580947502, 1, 1e-9);
}

TEST(Yarn, DeepSeekV3) {
  const auto s = make(
      64, 10000, {.factor = 40, .original_max_position_embeddings = 4096, .mscale = 1, .mscale_all_dim = 1});
  expect_ramp(s, 40, 10, 23);
  EXPECT_NEAR(s.inv_freq()[12] / 0.0268793601, 1, 2e-9);
  EXPECT_NEAR(s.inv_freq()[16] / 0.0055, 1, 1e-12);
  EXPECT_NEAR(s.inv_freq()[31] / 3.33380358e-06, 1, 1e-9);
  EXPECT_EQ(s.attention_factor(), 1);
  EXPECT_NEAR(s.softmax_factor(), 1.8738542071, 5e-11);
}

TEST(Yarn, RampEndsOfOtherModels) {
  const auto ministral3 = make(128, 1e6, {.factor = 16, .original_max_position_embeddings = 16384});
  expect_ramp(ministral3, 16, 20, 37);
  EXPECT_NEAR(ministral3.attention_factor(), 1.2772588722, 5e-11);
  const auto mistral4 = make(64, 1e4, {.factor = 128, .original_max_position_embeddings = 8192});
  expect_ramp(mistral4, 128, 12, 25);
  EXPECT_NEAR(mistral4.attention_factor(), 1.4852030264, 5e-11);
  const auto qwen = make(128, 1e6, {.factor = 4, .original_max_position_embeddings = 32768});
  expect_ramp(qwen, 4, 23, 40);
  EXPECT_NEAR(qwen.attention_factor(), 1.1386294361, 5e-11);
}

TEST(Yarn, RampEndsWithoutTruncation) {
  expect_ramp(make(128, 1e6, {.factor = 16, .original_max_position_embeddings = 16384, .truncate = false}),
              16, 20.38496099, 36.43989409);
  expect_ramp(make(64, 1e4, {.factor = 40, .original_max_position_embeddings = 4096, .truncate = false}), 40,
              10.47224081, 22.51344064);
}

TEST(Yarn, AttentionFactorRules) {
  const auto a = [](const scaling::Yarn& yarn) { return make(64, 10000, yarn).attention_factor(); };
  EXPECT_EQ(a({.factor = 64, .attention_factor = 1.0}), 1);
  EXPECT_NEAR(a({.factor = 64}), 1.41588831, 5e-9);
  EXPECT_EQ(a({.factor = 16, .mscale = 1, .mscale_all_dim = 1}), 1);
  EXPECT_EQ(a({.factor = 40, .mscale = .707, .mscale_all_dim = .707}), 1);
  EXPECT_NEAR(a({.factor = 40}), 1.36888795, 5e-9);
  EXPECT_NEAR(a({.factor = 40, .mscale = 1, .mscale_all_dim = 0}), 1.36888795, 5e-9) << "0 is unset";
  EXPECT_NEAR(a({.factor = 4, .attn_factor = 0.8782488562869419}), 1, 1e-12);
  EXPECT_EQ(a({.factor = 4, .attention_factor = 0.8782488562869419}), 0.8782488562869419);
  EXPECT_EQ(a({.factor = 1}), 1);
}

TEST(Yarn, SoftmaxFactorStaysBesideTheAttentionFactor) {
  const auto lite = make(64, 10000, {.factor = 40, .mscale = .707, .mscale_all_dim = .707});
  EXPECT_EQ(lite.attention_factor(), 1);
  EXPECT_NEAR(lite.softmax_factor(), 1.58962616512, 5e-12);
  EXPECT_EQ(make(64, 10000, {.factor = 40, .mscale_all_dim = 1, .softmax_factor = 1}).softmax_factor(), 1);
}

TEST(DeepseekYarn, CountsBothNumbersOfItsMagnitude) {
  const auto of = [](const Scaling& scaling) {
    return Spectrum::make({.rotary_dim = 64, .base = 10000, .scaling = scaling}).value();
  };
  const auto plain = make(64, 10000, {.factor = 40});
  const auto alone = of(scaling::DeepseekYarn{.factor = 40, .mscale = .707});
  EXPECT_NEAR(alone.attention_factor(), 1.2608037774, 5e-11) << "plain YaRN would take 1.3688879454";
  EXPECT_EQ(alone.softmax_factor(), 1);
  EXPECT_TRUE(std::ranges::equal(alone.inv_freq(), plain.inv_freq()));
  const auto v2 = of(scaling::DeepseekYarn{.factor = 40, .mscale = .707, .mscale_all_dim = .707});
  EXPECT_EQ(v2.attention_factor(), 1);
  EXPECT_NEAR(v2.softmax_factor(), 1.58962616512, 5e-12);
  const auto llama =
      of(scaling::DeepseekYarn{.factor = 40, .mscale_all_dim = 1, .apply_yarn_scaling = false});
  EXPECT_EQ(llama.attention_factor(), 1);
  EXPECT_EQ(llama.softmax_factor(), 1);
  const auto bad = Spectrum::make({.rotary_dim = 64, .scaling = scaling::DeepseekYarn{.factor = 0.5}});
  EXPECT_EQ(bad.status().message(),
            "deepseek_yarn: factor 0.5: must be finite and at least 1 (4 means four times the length)");
}

TEST(Telechat3Yarn, TakesTheRatioOfTheLengthsAndAnotherConstant) {
  const auto of = [](const scaling::Telechat3Yarn& yarn) {
    return Spectrum::make({.rotary_dim = 128, .base = 1e6, .scaling = yarn});
  };
  // 0.07 ln 4 + 1
  const auto s =
      of({.factor = 8, .original_max_position_embeddings = 8192, .max_position_embeddings = 32768}).value();
  EXPECT_NEAR(s.attention_factor(), 1.0970406052783923, 1e-15);
  const auto plain = make(128, 1e6, {.factor = 4, .original_max_position_embeddings = 8192});
  EXPECT_TRUE(std::ranges::equal(s.inv_freq(), plain.inv_freq()));
  EXPECT_NEAR(of({.factor = 4, .original_max_position_embeddings = 8192})->attention_factor(),
              1.0970406052783923, 1e-15);
  EXPECT_EQ(of({.factor = 4}).status().message(),
            "telechat3-yarn: original_max_position_embeddings: missing, and max_position_embeddings too");
  EXPECT_EQ(of({.factor = 4, .original_max_position_embeddings = 8192, .attn_factor = 0}).status().message(),
            "telechat3-yarn: attn_factor 0: must be positive and finite");
  EXPECT_EQ(
      of({.original_max_position_embeddings = 8192, .max_position_embeddings = 4096}).status().message(),
      "telechat3-yarn: factor 0.5: must be finite and at least 1 (4 means four times the length)");
}

TEST(Yarn, EndsAreKeptAndDivided) {
  const auto s = make(64, 10000, {.factor = 4});
  EXPECT_EQ(s.inv_freq()[0], 1);
  EXPECT_NEAR(s.inv_freq()[31] / (1.33352143216332402e-04 / 4), 1, 1e-14);
}

TEST(Yarn, RefusesBadNumbers) {
  EXPECT_EQ(error_of({.factor = 0.25}),
            "yarn: factor 0.25: must be finite and at least 1 (4 means four times the length)");
  EXPECT_EQ(error_of({.factor = kNan}),
            "yarn: factor nan: must be finite and at least 1 (4 means four times the length)");
  EXPECT_EQ(error_of({.original_max_position_embeddings = -1}),
            "yarn: original_max_position_embeddings -1: must be positive and finite");
  EXPECT_EQ(error_of({.beta_fast = 1, .beta_slow = 32}), "yarn: beta_fast 1: must be at least beta_slow 32");
  EXPECT_EQ(error_of({.beta_slow = 0}), "yarn: beta_slow 0: must be positive and finite");
  EXPECT_EQ(error_of({.attention_factor = 0.0}), "yarn: attention_factor 0: must be positive and finite");
  EXPECT_EQ(error_of({.attn_factor = -1}), "yarn: attn_factor -1: must be positive and finite");
  EXPECT_EQ(error_of({.mscale = -1}), "yarn: mscale -1: must be finite and not negative");
  EXPECT_EQ(error_of({.mscale_all_dim = kNan}), "yarn: mscale_all_dim nan: must be finite and not negative");
  EXPECT_EQ(error_of({.softmax_factor = 0.0}), "yarn: softmax_factor 0: must be positive and finite");
  EXPECT_EQ(error_of({}, 1), "yarn: base 1: must be over 1");
  EXPECT_EQ(
      error_of({.original_max_position_embeddings = 2}),
      "yarn: original_max_position_embeddings 2: leaves no room between beta_fast 32 and beta_slow 1 turns "
      "(ramp from pair 0 to -3)");
}

TEST(Yarn, RefusesFactorsThatItsFormulaMakesUseless) {
  EXPECT_EQ(error_of({.factor = 1e308, .mscale = 1e308, .mscale_all_dim = 1}),
            "attention_factor inf: must be positive and finite in fp32");
  EXPECT_EQ(error_of({.factor = 4, .attn_factor = 1e308}),
            "attention_factor 1.1386294361119892e+308: must be positive and finite in fp32");
  EXPECT_EQ(error_of({.factor = 4, .attention_factor = 1, .mscale_all_dim = 1e200}),
            "softmax_factor inf: must be positive and finite in fp32");
}

}  // namespace
}  // namespace rotary
