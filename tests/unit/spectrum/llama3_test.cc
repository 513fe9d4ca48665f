// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <rotary/spectrum.hpp>

namespace rotary {
namespace {

std::vector<double> divisors(const SpectrumOptions& options) {
  const auto scaled = Spectrum::make(options).value();
  const auto plain = Spectrum::make({.rotary_dim = options.rotary_dim, .base = options.base}).value();
  std::vector<double> result;
  for (std::size_t i = 0; i < plain.inv_freq().size(); ++i) {
    result.push_back(plain.inv_freq()[i] / scaled.inv_freq()[i]);
  }
  return result;
}

std::string error_of(const scaling::Llama3& scaling) {
  const auto spectrum = Spectrum::make({.rotary_dim = 128, .base = 5e5, .scaling = scaling});
  return spectrum ? "no error" : spectrum.status().message();
}

TEST(Llama3, Llama31) {
  const SpectrumOptions options{.rotary_dim = 128, .base = 500000, .scaling = scaling::Llama3{.factor = 8}};
  const auto s = Spectrum::make(options).value();
  EXPECT_NEAR(s.inv_freq()[29] / 0.00216657076, 1, 2e-9);
  EXPECT_NEAR(s.inv_freq()[34] / 0.000178507813, 1, 2e-9);
  EXPECT_NEAR(s.inv_freq()[63] / 3.06892599e-07, 1, 2e-9);
  EXPECT_EQ(s.attention_factor(), 1.0);

  const auto d = divisors(options);
  for (std::size_t i = 0; i <= 28; ++i) EXPECT_EQ(d[i], 1) << i;
  EXPECT_NEAR(d[29], 1.20748, 5e-6);
  EXPECT_NEAR(d[30], 1.55341, 5e-6);
  EXPECT_NEAR(d[32], 2.69453, 5e-6);
  EXPECT_NEAR(d[33], 3.68425, 5e-6);
  EXPECT_NEAR(d[34], 5.25733, 5e-6);
  for (std::size_t i = 35; i < 64; ++i) EXPECT_EQ(d[i], 8) << i;
}

TEST(Llama3, Llama32With1B) {
  const SpectrumOptions options{.rotary_dim = 64, .base = 500000, .scaling = scaling::Llama3{.factor = 32}};
  const auto s = Spectrum::make(options).value();
  EXPECT_NEAR(s.inv_freq()[15] / 0.00129054793, 1, 4e-9);
  EXPECT_NEAR(s.inv_freq()[18] / 1.94616382e-05, 1, 3e-9);

  const auto d = divisors(options);
  for (std::size_t i = 0; i <= 14; ++i) EXPECT_EQ(d[i], 1) << i;
  EXPECT_NEAR(d[15], 1.65133, 5e-6);
  EXPECT_NEAR(d[16], 3.29226, 5e-6);
  EXPECT_NEAR(d[17], 9.66673, 5e-6);
  for (std::size_t i = 18; i < 32; ++i) EXPECT_EQ(d[i], 32) << i;
}

TEST(Llama3, EqualFactorsAreAStep) {
  // Llama 4 Scout: factor 16, both 1. Pair i is kept while its wavelength is under 8192.
  const auto d =
      divisors({.rotary_dim = 128,
                .base = 500000,
                .scaling = scaling::Llama3{.factor = 16, .low_freq_factor = 1, .high_freq_factor = 1}});
  for (std::size_t i = 0; i <= 34; ++i) EXPECT_EQ(d[i], 1) << i;   // 2 pi 500000^(34/64) = 6695
  for (std::size_t i = 35; i < 64; ++i) EXPECT_EQ(d[i], 16) << i;  // 2 pi 500000^(35/64) = 8218
}

TEST(Llama3, RefusesBadNumbers) {
  EXPECT_EQ(error_of({.factor = 0.5}),
            "llama3: factor 0.5: must be finite and at least 1 (4 means four times the length)");
  EXPECT_EQ(error_of({.low_freq_factor = 4, .high_freq_factor = 1}),
            "llama3: high_freq_factor 1: must be at least low_freq_factor 4");
  EXPECT_EQ(error_of({.low_freq_factor = 0}), "llama3: low_freq_factor 0: must be positive and finite");
  EXPECT_EQ(error_of({.high_freq_factor = std::numeric_limits<double>::infinity()}),
            "llama3: high_freq_factor inf: must be positive and finite");
  EXPECT_EQ(error_of({.original_max_position_embeddings = 0}),
            "llama3: original_max_position_embeddings 0: must be positive and finite");
}

}  // namespace
}  // namespace rotary
