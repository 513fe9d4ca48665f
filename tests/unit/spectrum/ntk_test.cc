// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <rotary/spectrum.hpp>

namespace rotary {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The base that these frequencies have by themselves.
double base_of(const Spectrum& s) { return std::pow(s.inv_freq()[1], -static_cast<double>(s.pairs())); }

Spectrum dynamic(double factor, double trained, std::optional<std::int64_t> length,
                 std::int64_t rotary_dim = 128, double base = 10000) {
  return Spectrum::make({.rotary_dim = rotary_dim,
                         .base = base,
                         .scaling = scaling::DynamicNtk{factor, trained},
                         .length = length})
      .value();
}

std::string error_of(const Scaling& scaling, std::optional<std::int64_t> length = {}) {
  const auto spectrum = Spectrum::make({.rotary_dim = 64, .scaling = scaling, .length = length});
  return spectrum ? "no error" : spectrum.status().message();
}

TEST(Dynamic, TheBaseGrowsWithTheLength) {
  EXPECT_NEAR(base_of(dynamic(2, 4096, 8192)), 30527.7367488, 1e-6);
  EXPECT_NEAR(base_of(dynamic(2, 4096, 16384)), 72195.8600865, 1e-6);
  EXPECT_NEAR(base_of(dynamic(2, 2048, 4096)), 30527.7367, 1e-3);
  EXPECT_NEAR(base_of(dynamic(2, 2048, 8192)), 72195.8601, 1e-3);
  EXPECT_EQ(dynamic(2, 4096, 8192).base(), 10000) << "the stated one";
  EXPECT_EQ(dynamic(2, 4096, 8192).attention_factor(), 1);
}

TEST(Dynamic, NothingChangesUpToTheTrainedLength) {
  // factor * length / trained - (factor - 1) is negative at half the trained length: the root of it is no
  // number.
  const auto plain = Spectrum::make({.rotary_dim = 64, .base = 1000}).value();
  for (std::int64_t length = 1; length <= 2048; ++length) {
    const auto s = dynamic(2.7, 2048, length, 64, 1000);
    for (std::size_t i = 0; i < 32; ++i) {
      ASSERT_EQ(s.inv_freq()[i], plain.inv_freq()[i]) << length;
      ASSERT_EQ(s.inv_freq_fp32()[i], plain.inv_freq_fp32()[i]) << length;
    }
  }
  EXPECT_EQ(dynamic(2, 2048, std::nullopt, 64, 1000).inv_freq()[31], plain.inv_freq()[31]);
  EXPECT_NE(dynamic(2, 2048, 2049, 64, 1000).inv_freq()[31], plain.inv_freq()[31]);
}

TEST(Dynamic, OtherTypesHaveOneBaseAtEveryLength) {
  for (const Scaling& scaling : {Scaling(), Scaling(scaling::Linear{4}), Scaling(scaling::NtkAlpha{2})}) {
    const SpectrumOptions options{.rotary_dim = 64, .scaling = scaling};
    SpectrumOptions long_one = options;
    long_one.length = 1 << 20;
    EXPECT_EQ(Spectrum::make(options).value(), Spectrum::make(long_one).value()) << name(scaling);
  }
}

TEST(Dynamic, OnePairHasNoBase) {
  EXPECT_EQ(dynamic(2, 16, 1 << 20, 2).inv_freq()[0], 1);
  EXPECT_EQ(dynamic(2, 16, 1 << 20, 2).inv_freq_fp32()[0], 1);
}

TEST(Dynamic, RefusesBadNumbers) {
  EXPECT_EQ(error_of(scaling::DynamicNtk{0.5, 4096}),
            "dynamic: factor 0.5: must be finite and at least 1 (4 means four times the length)");
  EXPECT_EQ(error_of(scaling::DynamicNtk{2, 0}),
            "dynamic: max_position_embeddings 0: must be positive and finite");
  EXPECT_EQ(error_of(Scaling(), 0), "length 0: must be at least 1 token");
  EXPECT_EQ(error_of(Scaling(), -5), "length -5: must be at least 1 token");
  EXPECT_EQ(error_of(scaling::DynamicNtk{1e300, 1}, 1 << 30),
            "inv_freq of pair 1: nan: must be finite in fp32");
}

TEST(NtkAlpha, MultipliesTheBase) {
  const auto hunyuan = Spectrum::make({.rotary_dim = 128, .scaling = scaling::NtkAlpha{1000}}).value();
  EXPECT_NEAR(base_of(hunyuan), 11158839.925, 1e-3);
  const auto two = Spectrum::make({.rotary_dim = 128, .scaling = scaling::NtkAlpha{2}}).value();
  EXPECT_NEAR(base_of(two), 20221.26, 5e-3);
  EXPECT_EQ(error_of(scaling::NtkAlpha{0}), "ntk_alpha: alpha 0: must be positive and finite");
  EXPECT_EQ(error_of(scaling::NtkAlpha{kNan}), "ntk_alpha: alpha nan: must be positive and finite");
}

// vLLM's arithmetic in double, by hand: 40000^(-2i/64) / 4^(2/64).
TEST(Ntk, Fixed) {
  const auto s = Spectrum::make({.rotary_dim = 64, .scaling = scaling::Ntk{4}}).value();
  EXPECT_NEAR(s.inv_freq()[0], 0.957603280698573, 1e-15);
  EXPECT_NEAR(s.inv_freq()[16], 0.957603280698573 * 0.005, 1e-16);
  EXPECT_NEAR(s.inv_freq()[31] / (0.957603280698573 * 3.481403674783041e-05), 1, 1e-12);
}

// a = ln(4) / 32^0.5; pair 0 is divided by exp(a), the last one by 4.
TEST(Ntk, Mixed) {
  const auto s = Spectrum::make({.rotary_dim = 64, .scaling = scaling::Ntk{4, 0.5}}).value();
  EXPECT_NEAR(s.inv_freq()[0], 0.7826540273556802, 1e-15);
  EXPECT_NEAR(s.inv_freq()[31] / (1.33352143216332402e-04 / 4), 1, 1e-14);
  EXPECT_EQ(error_of(scaling::Ntk{0.5}),
            "ntk: factor 0.5: must be finite and at least 1 (4 means four times the length)");
  EXPECT_EQ(error_of(scaling::Ntk{4, kNan}), "ntk: mixed_b nan: must be finite");
}

}  // namespace
}  // namespace rotary
