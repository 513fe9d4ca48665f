// SPDX-License-Identifier: Apache-2.0
// Rows of consecutive positions are made together, and each is the row that its position has alone.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "unit/angles/support.hpp"

namespace rotary {
namespace {

void expect_rows_as_alone(const impl::AngleSource& source, const Positions& at) {
  const auto width = static_cast<std::size_t>(2 * source.pairs());
  const std::vector<float> together = test::rows<float>(source, at);
  std::vector<float> alone(width);
  for (std::int64_t t = 0; t < at.tokens(); ++t) {
    source.fill(at, 0, t, 1, alone.data());
    const std::size_t begin = static_cast<std::size_t>(t) * width;
    for (std::size_t i = 0; i < width; ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(together[begin + i]), std::bit_cast<std::uint32_t>(alone[i]))
          << "token " << t << " position " << to_double(at.at(0, 0, t)) << " number " << i;
    }
  }
}

std::vector<Spectrum> spectra() {
  std::vector<Spectrum> all;
  for (const double base : {1e4, 5e5, 1e8}) all.push_back(test::spectrum_of_base(base));
  SpectrumOptions yarn{.rotary_dim = 128, .base = 1e6};
  yarn.scaling = scaling::Yarn{.factor = 4, .original_max_position_embeddings = 32768};
  all.push_back(Spectrum::make(yarn).value());
  EXPECT_NE(all.back().attention_factor(), 1);
  all.push_back(
      Spectrum::from_inv_freq(std::vector<double>{1.0, 0.0, -0.3, 1e-14, 0.0, 4e9, 1e-300}, 0.7).value());
  return all;
}

TEST(Runs, OfEveryStart) {
  constexpr std::int64_t far = std::int64_t{1} << 32, last = std::numeric_limits<std::int64_t>::max();
  for (const Spectrum& spectrum : spectra()) {
    const auto source = test::source(AnglePolicy::exact, spectrum);
    for (const std::int64_t start :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{-40}, std::int64_t{1} << 20,
          (std::int64_t{1} << 31) - 50, -(std::int64_t{1} << 31) - 50, far - 50, -far - 50, far, last - 101,
          -last}) {
      expect_rows_as_alone(*source, Positions::range(start, start + 100));
    }
  }
}

TEST(Runs, OfPositionsThatDoNotRise) {
  const auto source = test::source(AnglePolicy::exact, test::spectrum_of_base(10000));
  std::vector<std::int64_t> ids{7, 8, 9, 9, 9, 10, 11, 12, 13, 11, 10, 9, 8, 1000, 1001, 1002, 1003, 1005};
  for (std::int64_t i = -30; i < 30; ++i) ids.push_back(i);
  for (std::int64_t i = 0; i < 40; ++i) ids.push_back(3 * i);
  expect_rows_as_alone(*source, Positions::ids(ids).value());
  for (const double step : {0.25, 1.0, -1.0, 2.0}) {
    expect_rows_as_alone(*source, Positions::spaced(5000.5, step, 40).value());
    expect_rows_as_alone(*source, Positions::spaced(5000, step, 40).value());
  }
}

TEST(Runs, OfTextAmongImages) {
  // Where the axes agree a row is made as that of one axis; each pair has the number that its own axis gives it.
  const std::int64_t lanes[] = {8, 12, 12};
  const Spectrum spectrum = Spectrum::axial(lanes, 10000).value();
  const auto inv_freq = spectrum.inv_freq();
  const auto source = test::source(AnglePolicy::exact, spectrum);
  const auto one_axis =
      test::source(AnglePolicy::exact, Spectrum::from_inv_freq({inv_freq.begin(), inv_freq.end()}).value());
  const auto text = [](std::int64_t first, std::int64_t last) {
    const Positions axis = Positions::range(first, last);
    return Positions::axes({axis, axis, axis}).value();
  };
  const Positions image =
      Positions::grid({Positions::range(40, 41), Positions::range(40, 45), Positions::range(40, 46)}).value();
  const Positions far = image.shifted(std::int64_t{1} << 33).value();
  const Positions at = Positions::concatenate({text(-20, 40), image, text(46, 90), far}).value();
  const std::vector<float> got = test::rows<float>(*source, at);
  const std::vector<double> wide = test::rows<double>(*source, at);
  for (std::int64_t t = 0; t < at.tokens(); ++t) {
    for (std::size_t i = 0; i < 16; ++i) {
      const std::int64_t p = at.at(spectrum.axis()[i], 0, t).whole;
      const std::size_t row = static_cast<std::size_t>(t) * 32;
      const auto alone = test::rows<float>(*one_axis, Positions::range(p, p + 1));
      const auto wide_alone = test::rows<double>(*one_axis, Positions::range(p, p + 1));
      for (const std::size_t lane : {i, 16 + i}) {
        ASSERT_EQ(got[row + lane], alone[lane]) << "token " << t << " lane " << lane;
        ASSERT_EQ(wide[row + lane], wide_alone[lane]) << "token " << t << " lane " << lane;
      }
    }
  }
}

TEST(Runs, OfModels) {
  for (const Spectrum& spectrum : spectra()) {
    const auto source = test::source(AnglePolicy::exact, spectrum);
    for (const std::int64_t start : {0, 131072 - 4096, 10000000}) {
      expect_rows_as_alone(*source, Positions::range(start, start + 4096));
    }
  }
}

}  // namespace
}  // namespace rotary
