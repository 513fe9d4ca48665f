// SPDX-License-Identifier: Apache-2.0
// cos and sin of a phase against MPFR, where quarters and octants meet and anywhere.
#include "angles/phase.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "unit/angles/true_value.hpp"

namespace rotary::impl {
namespace {

/// The larger error of the two.
double error(std::uint64_t phase) {
  mpfr_t angle, c, s;
  mpfr_inits2(256, angle, c, s, nullptr);
  mpfr_const_pi(angle, MPFR_RNDN);
  mpfr_mul_ui(angle, angle, phase, MPFR_RNDN);
  mpfr_div_2ui(angle, angle, 63, MPFR_RNDN);
  mpfr_sin_cos(s, c, angle, MPFR_RNDN);
  const CosSin got = sincos_of_phase(phase);
  mpfr_sub_d(c, c, got.cos, MPFR_RNDN);
  mpfr_sub_d(s, s, got.sin, MPFR_RNDN);
  const double worst = std::fmax(std::fabs(mpfr_get_d(c, MPFR_RNDN)), std::fabs(mpfr_get_d(s, MPFR_RNDN)));
  mpfr_clears(angle, c, s, nullptr);
  return worst;
}

TEST(Phase, QuartersAreExact) {
  for (std::uint64_t quarter = 0; quarter < 4; ++quarter) {
    const CosSin got = sincos_of_phase(quarter << 62);
    EXPECT_EQ(got.cos, (std::array{1, 0, -1, 0}[quarter]));
    EXPECT_EQ(got.sin, (std::array{0, 1, 0, -1}[quarter]));
  }
}

TEST(Phase, AroundEveryEighthOfATurn) {
  for (std::uint64_t eighth = 0; eighth < 8; ++eighth) {
    for (int bit = 0; bit < 61; ++bit) {
      for (const std::uint64_t step : {std::uint64_t{1} << bit, (std::uint64_t{1} << bit) - 1}) {
        EXPECT_LE(error((eighth << 61) + step), 1.0e-16) << eighth << " " << step;
        EXPECT_LE(error((eighth << 61) - step), 1.0e-16) << eighth << " " << step;
      }
    }
  }
}

TEST(Phase, Anywhere) {
  std::mt19937_64 random(11);
  double worst = 0;
  for (int i = 0; i < 100000; ++i) worst = std::fmax(worst, error(random()));
  EXPECT_LE(worst, 1.0e-16);
}

}  // namespace
}  // namespace rotary::impl
