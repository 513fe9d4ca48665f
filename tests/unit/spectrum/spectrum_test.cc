// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <rotary/spectrum.hpp>

#include "support/status_matchers.hpp"

namespace rotary {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::string error_of(const SpectrumOptions& options) {
  const auto spectrum = Spectrum::make(options);
  return spectrum ? "no error" : spectrum.status().message();
}

TEST(Spectrum, DefaultIsAPowerOfTheBaseWithTheRotaryWidthInTheExponent) {
  // head 256, rotary 64: freq i = base^(-2i/64)
  const auto s = Spectrum::make({.rotary_dim = 64, .base = 10000}).value();
  ASSERT_EQ(s.pairs(), 32);
  EXPECT_EQ(s.inv_freq()[0], 1.0);
  EXPECT_DOUBLE_EQ(s.inv_freq()[8], 0.1);
  EXPECT_DOUBLE_EQ(s.inv_freq()[16], 0.01);
  EXPECT_DOUBLE_EQ(s.inv_freq()[31], 1.33352143216332402e-04);
  EXPECT_EQ(s.attention_factor(), 1.0);
  EXPECT_EQ(s.softmax_factor(), 1.0);
  EXPECT_EQ(s.base(), 10000.0);
  EXPECT_EQ(name(s.scaling()), "default");
}

TEST(Spectrum, ZeroWidthIsANoOp) {
  for (const Scaling& scaling : {Scaling(), Scaling(scaling::Linear{2}), Scaling(scaling::Llama3{}),
                                 Scaling(scaling::Yarn{.factor = 4})}) {
    const auto s = Spectrum::make({.rotary_dim = 0, .scaling = scaling}).value();
    EXPECT_EQ(s.pairs(), 0);
    EXPECT_EQ(s.axes(), 1);
  }
}

TEST(Spectrum, Fp32RoundsEachStep) {
  // 500000^(2/128) = 1.2275827 in fp32, its reciprocal 0.81461 rounded again.
  const auto s = Spectrum::make({.rotary_dim = 128, .base = 500000}).value();
  const float exponent = 2.0F / 128.0F;
  const auto power = static_cast<float>(std::pow(500000.0, static_cast<double>(exponent)));
  EXPECT_EQ(s.inv_freq_fp32()[1], 1.0F / power);
  int differs = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_NEAR(s.inv_freq_fp32()[i] / s.inv_freq()[i], 1, 1e-6) << i;
    differs += s.inv_freq_fp32()[i] != static_cast<float>(s.inv_freq()[i]);
  }
  EXPECT_GT(differs, 0) << "fp32 steps are not the rounded double";
}

TEST(Spectrum, RefusesBadWidths) {
  for (std::int64_t dim : {3, 7, 33, 65, -2, 8194}) {
    EXPECT_EQ(error_of({.rotary_dim = dim}),
              "rotary_dim " + std::to_string(dim) + ": must be even, from 0 to 8192");
  }
  EXPECT_FALSE(Spectrum::make({.rotary_dim = std::numeric_limits<std::int64_t>::max() - 1}));
  EXPECT_TRUE(Spectrum::make({.rotary_dim = 8192}));
}

TEST(Spectrum, RefusesBadBases) {
  EXPECT_EQ(error_of({.rotary_dim = 4, .base = 0}), "base 0: must be positive and finite");
  EXPECT_EQ(error_of({.rotary_dim = 4, .base = -10000}), "base -10000: must be positive and finite");
  EXPECT_EQ(error_of({.rotary_dim = 4, .base = kNan}), "base nan: must be positive and finite");
  EXPECT_EQ(error_of({.rotary_dim = 4, .base = kInf}), "base inf: must be positive and finite");
  EXPECT_EQ(error_of({.rotary_dim = 128, .base = 1e-300}), "base 1e-300: must be over 0 in fp32");
  EXPECT_EQ(error_of({.rotary_dim = 128, .base = 1e-44}).substr(0, 26), "inv_freq of pair 57: 1.539");
  EXPECT_TRUE(Spectrum::make({.rotary_dim = 4, .base = 500000.5}));
}

TEST(Spectrum, RefusesWhatFp32CannotHold) {
  EXPECT_FAILS(Spectrum::make({.rotary_dim = 8, .base = 1e39}), StatusCode::invalid_argument,
               "base 1e+39: must be finite in fp32");
  const double inv_freq[] = {1};
  for (const double factor : {1e39, 1e-39}) {
    EXPECT_FAILS(Spectrum::from_inv_freq(inv_freq, factor), StatusCode::invalid_argument,
                 ": must be positive and finite in fp32");
  }
}

TEST(Spectrum, SectionsMapPairsToAxes) {
  const auto s = Spectrum::make({.rotary_dim = 128, .base = 1e6, .axis_sections = {16, 24, 24}}).value();
  EXPECT_EQ(s.axes(), 3);
  EXPECT_EQ(s.axis()[15], 0);
  EXPECT_EQ(s.axis()[16], 1);
  EXPECT_EQ(s.axis()[39], 1);
  EXPECT_EQ(s.axis()[40], 2);
  EXPECT_EQ(s.axis()[63], 2);
  EXPECT_EQ(Spectrum::make({.rotary_dim = 8}).value().axes(), 1);
}

TEST(Spectrum, RefusesBadSections) {
  EXPECT_EQ(error_of({.rotary_dim = 128, .axis_sections = {16, 24, 23}}),
            "axis_sections: sum 63, must be the number of pairs, 64");
  EXPECT_EQ(error_of({.rotary_dim = 128, .axis_sections = {16, 24, 25}}),
            "axis_sections: sum 65, must be the number of pairs, 64");
  EXPECT_EQ(error_of({.rotary_dim = 8, .axis_sections = {4, -1}}),
            "axis_sections[1] -1: must not be negative");
  EXPECT_EQ(error_of({.rotary_dim = 8, .axis_sections = {1, 1, 1, 1, 0, 0, 0, 0, 0}}),
            "axis_sections: 9 sections, at most 8");
  const auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(Spectrum::make({.rotary_dim = 8, .axis_sections = {most, most}}));
}

TEST(Spectrum, WithAxisTakesAnyMap) {
  const auto s = Spectrum::make({.rotary_dim = 8}).value();
  const auto mapped = s.with_axis(std::vector<std::uint8_t>{0, 2, 1, 0}).value();
  EXPECT_EQ(mapped.axes(), 3);
  EXPECT_EQ(mapped.axis()[1], 2);
  EXPECT_NE(mapped, s);
  EXPECT_EQ(s.with_axis(std::vector<std::uint8_t>{0, 1}).status().message(),
            "axis: 2 entries, must be one a pair, 4");
  EXPECT_EQ(s.with_axis(std::vector<std::uint8_t>{0, 1, 8, 0}).status().message(),
            "axis[2] 8: must be under 8");
}

TEST(Spectrum, CallerGivenFrequencies) {
  const std::vector<double> mine = {1.0, 0.25, 0.0, -0.5};
  const auto s = Spectrum::from_inv_freq(mine, 1.5).value();
  EXPECT_EQ(s.pairs(), 4);
  EXPECT_EQ(s.inv_freq()[3], -0.5);
  EXPECT_EQ(s.inv_freq_fp32()[1], 0.25F);
  EXPECT_EQ(s.attention_factor(), 1.5);
  EXPECT_FALSE(s.base());
  EXPECT_EQ(Spectrum::from_inv_freq(std::vector<double>{1, kNan}).status().message(),
            "inv_freq of pair 1: nan: must be finite in fp32");
  EXPECT_EQ(Spectrum::from_inv_freq(std::vector<double>{1e39}).status().message(),
            "inv_freq of pair 0: 1e+39: must be finite in fp32");
  EXPECT_EQ(Spectrum::from_inv_freq(mine, 0).status().message(),
            "attention_factor 0: must be positive and finite");
  EXPECT_EQ(
      Spectrum::from_inv_freq(std::vector<double>{1, 10, 100, 1000}).status().message(),
      "inv_freq: grows from 1 to 1000: these are the reciprocals of inverse frequencies, which fall from 1");
  EXPECT_TRUE(Spectrum::from_inv_freq(std::vector<double>{1, 2, 3}));
  EXPECT_EQ(Spectrum::from_inv_freq(std::vector<double>(4097)).status().message(),
            "inv_freq: 4097 pairs, at most 4096");
}

TEST(Spectrum, PeriodsAreReciprocals) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double periods[] = {1, 10, 80, infinity};
  const auto spectrum = Spectrum::from_periods(periods, 1.25).value();
  EXPECT_EQ(std::vector(spectrum.inv_freq().begin(), spectrum.inv_freq().end()),
            (std::vector<double>{1, 0.1, 0.0125, 0}));
  EXPECT_EQ(spectrum.attention_factor(), 1.25);
  const double frequencies[] = {1, 0.1, 0.01};
  EXPECT_FAILS(Spectrum::from_periods(frequencies), StatusCode::invalid_argument,
               "periods: fall from 1 to 0.01: these are inverse frequencies, whose reciprocals grow from 1");
  for (const double bad : {0.0, -1.0, std::nan("")}) {
    const double list[] = {1, bad};
    EXPECT_FAILS(Spectrum::from_periods(list), StatusCode::invalid_argument, "periods[1] ");
  }
  EXPECT_FAILS(Spectrum::from_periods({}), StatusCode::invalid_argument, "inv_freq: empty");
}

TEST(Spectrum, NoFrequenciesAreNoSpectrum) {
  EXPECT_FAILS(Spectrum::from_inv_freq({}), StatusCode::invalid_argument,
               "inv_freq: empty; rotary_dim 0 of Spectrum::make is a rope that turns nothing");
}

TEST(Spectrum, ComparesByContent) {
  const SpectrumOptions options{.rotary_dim = 64, .scaling = scaling::Yarn{.factor = 4}};
  EXPECT_EQ(Spectrum::make(options).value(), Spectrum::make(options).value());
  EXPECT_NE(Spectrum::make(options).value(), Spectrum::make({.rotary_dim = 64}).value());
}

TEST(Linear, DividesByTheFactorAndKeepsTheBase) {
  const auto plain = Spectrum::make({.rotary_dim = 128}).value();
  const auto s = Spectrum::make({.rotary_dim = 128, .scaling = scaling::Linear{4}}).value();
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(s.inv_freq()[i], plain.inv_freq()[i] / 4);
  EXPECT_EQ(s.inv_freq()[0] * 100, 25.0);
  EXPECT_EQ(s.base(), plain.base());
  EXPECT_EQ(s.attention_factor(), 1.0);
}

TEST(Linear, RefusesBadFactors) {
  for (double factor : {0.5, 0.0, -2.0, kNan, kInf}) {
    EXPECT_NE(error_of({.rotary_dim = 8, .scaling = scaling::Linear{factor}})
                  .find(": must be finite and at least 1 (4 means four times the length)"),
              std::string::npos)
        << factor;
  }
}

}  // namespace
}  // namespace rotary
