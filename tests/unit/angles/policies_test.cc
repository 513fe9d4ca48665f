// SPDX-License-Identifier: Apache-2.0
// Policies fp32 and ggml: the steps as named, the errors that those steps are known to make, several axes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "unit/angles/support.hpp"

namespace rotary {
namespace {

using test::rows;

TEST(Policies, Names) {
  for (const AnglePolicy policy :
       {AnglePolicy::exact, AnglePolicy::fp32, AnglePolicy::ggml, AnglePolicy::table}) {
    EXPECT_EQ(angle_policy_from_name(name(policy)), policy);
  }
  EXPECT_EQ(name(AnglePolicy::ggml), "ggml");
  EXPECT_EQ(angle_policy_from_name("double"), std::nullopt);
}

TEST(Policies, WhatCannotBeMade) {
  const Spectrum own = Spectrum::from_inv_freq(std::vector<double>{1.0, 0.5}).value();
  const auto ggml = impl::make_angle_source(AnglePolicy::ggml, own);
  EXPECT_EQ(ggml.status().message(), "policy ggml: needs a base, and these frequencies are the caller's own");
  const std::int64_t lanes[] = {4, 4};
  const auto joined = Spectrum::axial(lanes, 10000).value();
  EXPECT_EQ(impl::make_angle_source(AnglePolicy::ggml, joined).status().message(),
            "policy ggml: has one schedule, and these frequencies are of 2");
  const auto table = impl::make_angle_source(AnglePolicy::table, own);
  EXPECT_EQ(table.status().message(),
            "policy table: needs cos and sin of the caller's own, see Rope::from_table");
}

TEST(Policies, ErrorsAreThoseOfTheirArithmetic) {
  // The published sizes: near zero at the start of a text, percents at its end.
  const struct {
    double base;
    std::int64_t end;
    double fp32_low, fp32_high, ggml_low, ggml_high;
  } known[] = {{10000, 1000, 2e-5, 1e-4, 8e-5, 3e-4},
               {10000, 32768, 1e-3, 3e-3, 2e-3, 7e-3},
               {10000, 131072, 4e-3, 8e-3, 1e-2, 2e-2},
               {500000, 131072, 4e-3, 1e-2, 8e-3, 2e-2},
               {10000, 1000000, 3e-2, 8e-2, 8e-2, 2e-1}};
  for (const auto& k : known) {
    const Spectrum spectrum = test::spectrum_of_base(k.base);
    const double fp32 = test::largest_error(*test::source(AnglePolicy::fp32, spectrum), k.end - 64, k.end);
    EXPECT_GT(fp32, k.fp32_low) << k.base << " " << k.end;
    EXPECT_LT(fp32, k.fp32_high) << k.base << " " << k.end;
    const double ggml = test::largest_error(*test::source(AnglePolicy::ggml, spectrum), k.end - 64, k.end);
    EXPECT_GT(ggml, k.ggml_low) << k.base << " " << k.end;
    EXPECT_LT(ggml, k.ggml_high) << k.base << " " << k.end;
  }
}

TEST(Policies, Fp32RoundsEachStep) {
  const double a = 1.1;
  const Spectrum spectrum = Spectrum::from_inv_freq(std::vector<double>{0.1, 1.0 / 3}, a).value();
  const auto source = test::source(AnglePolicy::fp32, spectrum);
  const std::int64_t position = 16777217;  // no float: becomes 16777216
  const auto row = rows<float>(*source, Positions::range(position, position + 1));
  for (std::size_t i = 0; i < 2; ++i) {
    volatile float angle = 16777216.0f * static_cast<float>(spectrum.inv_freq()[i]);
    const test::TrueValue t = test::true_value({1, 0}, static_cast<double>(angle));
    EXPECT_EQ(row[i], static_cast<float>(t.cos) * static_cast<float>(a));
    EXPECT_EQ(row[2 + i], static_cast<float>(t.sin) * static_cast<float>(a));
  }
}

TEST(Policies, GgmlScalesAsLlamaCpp) {
  // Position 1: theta of pair i is ratio^i in fp32, whatever the scaling; what follows differs.
  const SpectrumOptions plain{.rotary_dim = 64, .base = 10000};
  SpectrumOptions linear = plain, llama3 = plain, yarn = plain;
  linear.scaling = scaling::Linear{.factor = 4};
  llama3.scaling = scaling::Llama3{.factor = 8, .original_max_position_embeddings = 1024};
  yarn.scaling =
      scaling::Yarn{.factor = 4, .original_max_position_embeddings = 1024, .attention_factor = 1.0};
  for (const SpectrumOptions& options : {plain, linear, llama3, yarn}) {
    const Spectrum spectrum = Spectrum::make(options).value();
    const auto source = test::source(AnglePolicy::ggml, spectrum);
    // Small angles: the fp32 steps are within a few parts in 10^6 of the scaled frequency.
    for (const std::int64_t p : {1, 100}) {
      EXPECT_LT(test::largest_error(*source, p, p + 1), 1e-6 * static_cast<double>(p))
          << name(options.scaling);
    }
  }
}

TEST(Policies, DoubleRowsAreTheFloatRowsWidened) {
  for (const AnglePolicy policy : {AnglePolicy::fp32, AnglePolicy::ggml}) {
    const auto source = test::source(policy, test::spectrum_of_base(10000));
    const Positions p = Positions::spaced(130000.5, 1.25, 40).value();
    const auto narrow = rows<float>(*source, p);
    EXPECT_EQ(std::vector<double>(narrow.begin(), narrow.end()), rows<double>(*source, p));
  }
}

class EveryPolicy : public testing::TestWithParam<AnglePolicy> {};
INSTANTIATE_TEST_SUITE_P(, EveryPolicy,
                         testing::Values(AnglePolicy::exact, AnglePolicy::fp32, AnglePolicy::ggml),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(EveryPolicy, RowsDependOnTheirOwnPositionAlone) {
  const auto source = test::source(GetParam(), test::spectrum_of_base(500000));
  const auto longer = rows<float>(*source, Positions::range(0, 777));
  const auto shorter = rows<float>(*source, Positions::range(0, 33));
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
  for (const std::int64_t t : {0, 1, 15, 16, 17, 31, 32, 776}) {
    const auto single = rows<float>(*source, Positions::range(t, t + 1));
    EXPECT_TRUE(std::equal(single.begin(), single.end(), longer.begin() + t * 128)) << t;
    std::vector<float> part(128);
    source->fill(Positions::range(0, 777), 0, t, 1, part.data());
    EXPECT_EQ(part, single) << t;
  }
}

TEST_P(EveryPolicy, FormsAndTypesOfPositionsGiveTheSameBits) {
  const auto source = test::source(GetParam(), test::spectrum_of_base(10000));
  const std::vector<std::int32_t> i32{4094, 4095, 4096, 4097};
  const std::vector<std::int64_t> i64(i32.begin(), i32.end()), starts{4094};
  const std::vector<double> f64(i32.begin(), i32.end());
  const std::vector<float> f32(i32.begin(), i32.end());
  const auto expected = rows<float>(*source, Positions::range(4094, 4098));
  EXPECT_EQ(expected, rows<float>(*source, Positions::ids(std::span(i32)).value()));
  EXPECT_EQ(expected, rows<float>(*source, Positions::ids(std::span(i64)).value()));
  EXPECT_EQ(expected, rows<float>(*source, Positions::ids(std::span(f32)).value()));
  EXPECT_EQ(expected, rows<float>(*source, Positions::ids(std::span(f64)).value()));
  EXPECT_EQ(expected, rows<float>(*source, Positions::offsets(starts, 4).value()));
  EXPECT_EQ(expected, rows<float>(*source, Positions::spaced(4094, 1, 4).value()));
}

TEST_P(EveryPolicy, EachPairFollowsItsAxis) {
  const SpectrumOptions options{.rotary_dim = 16, .base = 10000, .axis_sections = {2, 3, 3}};
  const auto source = test::source(GetParam(), Spectrum::make(options).value());
  SpectrumOptions flat = options;
  flat.axis_sections = {};
  const auto one_axis = test::source(GetParam(), Spectrum::make(flat).value());
  const std::array<double, 3> at{-77, 2.5, 131071};
  const auto row = rows<float>(*source, Positions::ids(std::span<const double>(at), 3, 1, 1).value());
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t axis = i < 2 ? 0 : i < 5 ? 1 : 2;
    const auto expected = rows<float>(*one_axis, Positions::spaced(at[axis], 1, 1).value());
    EXPECT_EQ(row[i], expected[i]) << i;
    EXPECT_EQ(row[8 + i], expected[8 + i]) << i;
  }
}

TEST_P(EveryPolicy, AsksForEnoughAxes) {
  const SpectrumOptions options{.rotary_dim = 16, .base = 10000, .axis_sections = {2, 3, 3}};
  const auto source = test::source(GetParam(), Spectrum::make(options).value());
  const Positions one = Positions::range(0, 4);
  EXPECT_EQ(source->check(one).message(), "positions: axes 1, expected at least 3 as the pairs ask for");
  EXPECT_TRUE(source->check(Positions::axes(std::vector(3, one)).value()).ok());
  EXPECT_TRUE(source->check(Positions::axes(std::vector(4, one)).value()).ok());
}

TEST_P(EveryPolicy, NoPairsNoNumbers) {
  const auto source = test::source(GetParam(), Spectrum::make({.rotary_dim = 0, .base = 10000}).value());
  EXPECT_TRUE(rows<float>(*source, Positions::range(0, 5)).empty());
}

// Position times frequency was infinite in fp32, and its cosine NaN.
TEST(Policies, AFrequencyWhoseProductLeavesFp32IsRefusedOrExact) {
  const auto spectrum = Spectrum::make({.rotary_dim = 8, .base = 1e-38}).value();
  for (const auto policy : {AnglePolicy::fp32, AnglePolicy::ggml}) {
    const auto made = Rope::make({.spectrum = spectrum, .policy = policy});
    ASSERT_FALSE(made);
    EXPECT_NE(made.status().message().find(": inv_freq of pair 3: "), std::string::npos)
        << made.status().message();
  }
  const auto angles = Rope::make({.spectrum = spectrum})->angles(Positions::range(0, 100)).value();
  std::vector<float> cos(4), sin(4);
  angles.row(0, 99, std::span(cos), std::span(sin)).value();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(std::hypot(cos[i], sin[i]), 1, 1e-6);
}

// The operator's own steps for DeepSeek-V3: base 10000, 64 lanes, factor 40, ramp from pair 10 to pair 23.
TEST(Policies, GgmlMixesTwoAnglesForYarn) {
  const scaling::Yarn yarn{.factor = 40, .mscale = 1, .mscale_all_dim = 1};
  const auto source =
      test::source(AnglePolicy::ggml, Spectrum::make({.rotary_dim = 64, .scaling = yarn}).value());
  const float freq_scale = 1.0f / 40, theta_scale = std::pow(10000.0f, -2.0f / 64);
  int equal = 0, compared = 0;
  for (const std::int64_t p : {1, 100, 4095, 131071, 163839}) {
    const auto row = rows<float>(*source, Positions::range(p, p + 1));
    float theta = static_cast<float>(p);
    for (int pair = 0; pair < 32; ++pair, theta *= theta_scale) {
      const float y = (static_cast<float>(pair) - 10.0f) / 13.0f, mix = 1 - std::min(1.0f, std::max(0.0f, y));
      const float angle = freq_scale * theta * (1 - mix) + theta * mix;
      equal +=
          row[static_cast<std::size_t>(pair)] == static_cast<float>(std::cos(static_cast<double>(angle)));
      ++compared;
    }
  }
  EXPECT_EQ(equal, compared);
}

}  // namespace
}  // namespace rotary
