// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <rotary/spectrum.hpp>
#include <rotary/temperature.hpp>

namespace rotary {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void expect_frequencies(const SpectrumOptions& options, const std::vector<double>& expected) {
  const auto s = Spectrum::make(options).value();
  ASSERT_EQ(s.inv_freq().size(), expected.size()) << name(options.scaling);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(s.inv_freq()[i] / expected[i], 1, 1e-14) << name(options.scaling) << " " << i;
    EXPECT_NEAR(s.inv_freq_fp32()[i] / expected[i], 1, 5e-7) << name(options.scaling) << " " << i;
  }
  EXPECT_EQ(s.attention_factor(), 1);
}

std::string error_of(const Scaling& scaling) {
  const auto spectrum = Spectrum::make({.rotary_dim = 8, .scaling = scaling});
  return spectrum ? "no error" : spectrum.status().message();
}

TEST(Schedules, ByHand) {
  expect_frequencies({.rotary_dim = 4, .scaling = scaling::Windows{10, 1000}}, {0.1, 0.01});
  expect_frequencies({.rotary_dim = 10, .scaling = scaling::Pixel{10}},
                     {kPi, 2 * kPi, 3 * kPi, 4 * kPi, 5 * kPi});
  expect_frequencies({.rotary_dim = 6, .scaling = scaling::Pixel{8, false}}, {kPi, 2 * kPi, 4 * kPi});
  expect_frequencies({.rotary_dim = 2, .scaling = scaling::Pixel{10}}, {kPi});
  expect_frequencies({.rotary_dim = 6, .scaling = scaling::Constant{}}, {1, 1, 1});
  expect_frequencies({.rotary_dim = 6, .base = 10000, .scaling = scaling::Ltx{}},
                     {kPi / 2, 50 * kPi, 5000 * kPi});
  expect_frequencies({.rotary_dim = 4, .base = 100, .scaling = scaling::Dinov3{}}, {2 * kPi, 0.2 * kPi});
  expect_frequencies({.rotary_dim = 6, .scaling = scaling::Periods{0.5, 50}},
                     {4 * kPi, 0.4 * kPi, 0.04 * kPi});
}

TEST(Schedules, RefuseBadNumbers) {
  EXPECT_EQ(error_of(scaling::Periods{0, 10}), "periods: min_period 0: must be positive and finite");
  EXPECT_EQ(error_of(scaling::Periods{2, 1}),
            "periods: max_period 1: must be finite and at least min_period 2");
  EXPECT_EQ(error_of(scaling::Windows{0, 10}), "windows: min_window 0: must be positive and finite");
  EXPECT_EQ(error_of(scaling::Windows{10, 1}),
            "windows: max_window 1: must be finite and at least min_window 10");
  EXPECT_EQ(error_of(scaling::Pixel{1}), "pixel: max_freq 1: must be finite and at least 2");
  EXPECT_EQ(error_of(scaling::Pixel{kNan}), "pixel: max_freq nan: must be finite and at least 2");
}

TEST(Join, OneScheduleAnAxis) {
  // Cosmos, a head of 128: 44 lanes of time, 42 of rows, 42 of columns, ratios 1, 3, 3.
  const auto time = Spectrum::make({.rotary_dim = 44, .scaling = scaling::NtkAlpha{1}}).value();
  const auto rows = Spectrum::make({.rotary_dim = 42, .scaling = scaling::NtkAlpha{3}}).value();
  const auto s = Spectrum::join(std::vector{time, rows, rows}).value();
  ASSERT_EQ(s.pairs(), 64);
  EXPECT_EQ(s.axes(), 3);
  EXPECT_EQ(s.axis()[21], 0);
  EXPECT_EQ(s.axis()[22], 1);
  EXPECT_EQ(s.axis()[43], 2);
  EXPECT_EQ(s.inv_freq()[22], 1);
  EXPECT_DOUBLE_EQ(s.inv_freq()[1], std::pow(10000.0, -1.0 / 22));
  EXPECT_NEAR(s.inv_freq()[63], std::pow(10000 * std::pow(3, 42.0 / 40), -20.0 / 21), 1e-17);
}

TEST(Join, RemembersItsParts) {
  const auto dinov3 = Spectrum::make({.rotary_dim = 32, .base = 100, .scaling = scaling::Dinov3()}).value();
  const auto alike = Spectrum::join(std::vector{dinov3, dinov3}).value();
  EXPECT_EQ(alike.base(), 100);
  EXPECT_EQ(alike.scaling(), Scaling(scaling::Dinov3()));
  ASSERT_EQ(alike.parts().size(), 2U);
  EXPECT_EQ(alike.parts()[1], (SpectrumPart{16, 100, scaling::Dinov3()}));
  EXPECT_TRUE(dinov3.parts().empty());

  const auto plain = Spectrum::make({.rotary_dim = 8, .base = 500}).value();
  const auto unlike = Spectrum::join(std::vector{dinov3, plain}).value();
  EXPECT_FALSE(unlike.base());
  EXPECT_EQ(unlike.scaling(), Scaling(scaling::None()));
  EXPECT_EQ(unlike.parts()[0], (SpectrumPart{16, 100, scaling::Dinov3()}));
  EXPECT_EQ(unlike.parts()[1], (SpectrumPart{4, 500, scaling::None()}));

  const auto own = Spectrum::from_inv_freq(std::vector{1.0, 0.5}).value();
  EXPECT_EQ(Spectrum::join(std::vector{own}).value().parts()[0], (SpectrumPart{2, std::nullopt, {}}));
  EXPECT_EQ(Spectrum::axial(std::array<std::int64_t, 2>{16, 56}, 2000).value().base(), 2000);
}

TEST(Join, RefusesWhatDoesNotFit) {
  const auto error = [](const std::vector<Spectrum>& parts) {
    return Spectrum::join(parts).status().message();
  };
  const auto plain = Spectrum::make({.rotary_dim = 8}).value();
  const auto two_axes = Spectrum::make({.rotary_dim = 8, .axis_sections = {2, 2}}).value();
  const auto yarn = Spectrum::from_inv_freq(std::vector<double>{1, 0.1}, 1.5).value();
  EXPECT_EQ(error({}), "join: no parts");
  EXPECT_EQ(error({plain, two_axes}), "join: part 1 has 2 axes, must have one");
  EXPECT_EQ(
      error({plain, yarn}),
      "join: part 1 has attention_factor 1.5 and softmax_factor 1, part 0 has 1 and 1: must be the same");
  EXPECT_EQ(error(std::vector<Spectrum>(9, plain)), "join: axis_sections: 9 sections, at most 8");
  EXPECT_EQ(error(std::vector<Spectrum>(2, Spectrum::make({.rotary_dim = 8192}).value())),
            "join: axis_sections: sum over 4096 at section 1");
}

TEST(QueryTemperature, Llama4AndMinistral3) {
  const QueryTemperature llama4{.scale = 0.1, .length = 8192, .first = 1};
  EXPECT_EQ(llama4.at(0), 1);
  EXPECT_EQ(llama4.at(8190), 1);
  EXPECT_NEAR(llama4.at(8191), 1.0693147180559945, 1e-15);
  EXPECT_NEAR(llama4.at(131071), 1.2833213344056216, 1e-15);
  const QueryTemperature ministral3{.scale = 0.1, .length = 16384, .first = 0};
  EXPECT_EQ(ministral3.at(16383), 1);
  EXPECT_NEAR(ministral3.at(16384), 1.0693147180559945, 1e-15);
  EXPECT_NEAR(ministral3.at(262143), 1.2772588722239782, 1e-15);
  EXPECT_EQ(ministral3.at(-5), 1);
}

}  // namespace
}  // namespace rotary
