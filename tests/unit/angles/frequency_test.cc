// SPDX-License-Identifier: Apache-2.0
// Frequencies in turns against MPFR to the last bit of the guard, and what rows of the policy exact promise.
#include "angles/frequency.hpp"

#include <gmp.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "unit/angles/true_value.hpp"

namespace rotary::impl {
namespace {

/// floor(|inv_freq| / 2 pi * 2^128) modulo 2^192, negated for negative ones.
Frequency by_mpfr(double inv_freq) {
  mpfr_t turns, two_pi;
  mpfr_inits2(2600, turns, two_pi, nullptr);
  mpfr_const_pi(two_pi, MPFR_RNDN);
  mpfr_mul_2ui(two_pi, two_pi, 1, MPFR_RNDN);
  mpfr_set_d(turns, std::fabs(inv_freq), MPFR_RNDN);
  mpfr_div(turns, turns, two_pi, MPFR_RNDN);
  mpfr_mul_2ui(turns, turns, 128, MPFR_RNDN);
  mpz_t integer;
  mpz_init(integer);
  mpfr_get_z(integer, turns, MPFR_RNDZ);
  if (std::signbit(inv_freq)) mpz_neg(integer, integer);
  mpz_fdiv_r_2exp(integer, integer, 192);
  std::uint64_t word[3] = {};
  mpz_export(word, nullptr, -1, sizeof *word, 0, 0, integer);
  mpz_clear(integer);
  mpfr_clears(turns, two_pi, nullptr);
  return {word[2], word[1], word[0]};
}

void expect_equal(double inv_freq) {
  const Frequency got = frequency_in_turns(inv_freq), expected = by_mpfr(inv_freq);
  EXPECT_EQ(got.turns, expected.turns) << inv_freq;
  EXPECT_EQ(got.fraction, expected.fraction) << inv_freq;
  EXPECT_EQ(got.guard, expected.guard) << inv_freq;
}

TEST(Frequency, SpecialDoubles) {
  using Limits = std::numeric_limits<double>;
  for (const double f : {0.0, 1.0, 1e-4, 6.25, 30.0, 1e5, 1e15, 1e22, 1e300, 1e-300, 2 * M_PI, 0x1p-128,
                         0x1p63, 0x1p64, 0x1p128, Limits::max(), Limits::min(), Limits::denorm_min()}) {
    expect_equal(f);
    expect_equal(-f);
  }
}

TEST(Frequency, RandomDoublesOfEveryExponent) {
  std::mt19937_64 random(3);
  for (int exponent = -1074; exponent <= 1023; ++exponent) {
    const double significand = 1 + std::ldexp(static_cast<double>(random() >> 12), -52);
    expect_equal(std::ldexp(significand, exponent));
    expect_equal(-std::ldexp(significand, exponent));
  }
}

}  // namespace
}  // namespace rotary::impl
