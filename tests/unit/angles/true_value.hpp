// SPDX-License-Identifier: Apache-2.0
// cos and sin of position * inv_freq by MPFR: the product exact, the functions to 128 bits and then to long
// double. Independent of everything in src/.
#pragma once

#include <mpfr.h>

#include <cmath>
#include <rotary/positions.hpp>

namespace rotary::test {

struct TrueValue {
  long double cos, sin;
};

inline TrueValue true_value(Position position, double inv_freq) {
  mpfr_t angle, whole, c, s;
  mpfr_inits2(256, angle, whole, nullptr);
  mpfr_inits2(128, c, s, nullptr);
  mpfr_set_ui(angle, position.fraction, MPFR_RNDN);
  mpfr_div_2ui(angle, angle, 64, MPFR_RNDN);
  mpfr_set_si(whole, position.whole, MPFR_RNDN);
  mpfr_add(angle, angle, whole, MPFR_RNDN);
  mpfr_mul_d(angle, angle, inv_freq, MPFR_RNDN);
  mpfr_sin_cos(s, c, angle, MPFR_RNDN);
  const TrueValue value{mpfr_get_ld(c, MPFR_RNDN), mpfr_get_ld(s, MPFR_RNDN)};
  mpfr_clears(angle, whole, c, s, nullptr);
  return value;
}

/// Error in units of the last place of `expected` as a float.
inline double float_ulps(double got, long double expected) {
  int exponent = 0;
  std::frexp(expected, &exponent);
  return static_cast<double>(std::ldexp(std::fabs(static_cast<long double>(got) - expected), 24 - exponent));
}

}  // namespace rotary::test
