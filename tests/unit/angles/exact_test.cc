// SPDX-License-Identifier: Apache-2.0
// The policy exact against MPFR, within the bounds that angles.hpp states.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "unit/angles/support.hpp"

namespace rotary {
namespace {

using test::true_value;
using test::TrueValue;

/// The largest errors seen.
struct Worst {
  double absolute_f32 = 0, ulps_f32 = 0, absolute_f64 = 0;
  std::int64_t values = 0;

  void add(float f32, double f64, long double expected) {
    absolute_f32 = std::fmax(absolute_f32, static_cast<double>(std::fabs(f32 - expected)));
    absolute_f64 = std::fmax(absolute_f64, static_cast<double>(std::fabs(f64 - expected)));
    if (std::fabs(expected) >= 0x1p-12L) {
      ulps_f32 = std::fmax(ulps_f32, test::float_ulps(static_cast<double>(f32), expected));
    }
    ++values;
  }
  void expect_within_bounds() const {
    EXPECT_LE(absolute_f32, 3.0e-8);
    EXPECT_LE(ulps_f32, 0.501);
    EXPECT_LE(absolute_f64, 2e-16);
  }
};

/// Compares every `stride`-th pair of every position's row.
void compare(const Spectrum& spectrum, const std::vector<Position>& at, std::size_t stride, Worst& worst) {
  const auto source = test::source(AnglePolicy::exact, spectrum);
  const auto pairs = static_cast<std::size_t>(spectrum.pairs());
  std::vector<float> f32(2 * pairs);
  std::vector<double> f64(2 * pairs);
  std::size_t first = 0;
  for (const Position& p : at) {
    Positions one = Positions::range(p.whole, p.whole + 1);
    if (p.fraction != 0) {
      const double value = to_double(p);
      ASSERT_EQ(to_position(value).value(), p);
      one = Positions::spaced(value, 1, 1).value();
    }
    source->fill(one, 0, 0, 1, f32.data());
    source->fill(one, 0, 0, 1, f64.data());
    for (std::size_t i = first++ % stride; i < pairs; i += stride) {
      const TrueValue t = true_value(p, spectrum.inv_freq()[i]);
      worst.add(f32[i], f64[i], t.cos);
      worst.add(f32[pairs + i], f64[pairs + i], t.sin);
    }
  }
}

std::vector<Position> special_positions() {
  std::vector<Position> at;
  for (const std::int64_t p :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{511}, std::int64_t{513}, std::int64_t{4095},
        std::int64_t{131071}, std::int64_t{16777215}, std::int64_t{16777217}, std::int64_t{2147483647},
        std::int64_t{2147483648}, std::int64_t{4294967295}, std::int64_t{4294967296}, std::int64_t{1} << 40,
        (std::int64_t{1} << 62) + 12345, std::numeric_limits<std::int64_t>::max() - 1}) {
    at.push_back({p, 0});
    at.push_back({-p, 0});
  }
  at.push_back({std::numeric_limits<std::int64_t>::min(), 0});
  // Positions at multiples of an eighth of a turn of frequency 1, where octants meet.
  for (const double p :
       {0.5, 0.25, 0x1p-30, 0x1p-60, 1e-9, 1000.5, 131071.75, 0x1p31 + 0.5, M_PI / 4, M_PI / 2, 3 * M_PI / 4,
        M_PI, 100 * M_PI, 12345 * M_PI / 4, 355.0, 0x1.921fb54442d17p-1}) {
    at.push_back(to_position(p).value());
    at.push_back(to_position(-p).value());
  }
  return at;
}

TEST(Exact, RandomPositionsOfModels) {
  std::mt19937_64 random(20240531);
  Worst worst;
  for (const double base : {10000.0, 500000.0, 1e6, 1e7}) {
    std::vector<Position> at;
    for (int i = 0; i < 2600; ++i) {
      const auto whole = static_cast<std::int32_t>(random());
      at.push_back({i % 2 == 0 ? whole : whole >> (random() % 31), 0});
    }
    for (int i = 0; i < 1300; ++i) {
      const double value = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                                      -63 + static_cast<int>(random() % 32));
      at.push_back(to_position(value).value());
    }
    std::erase_if(at, [](Position p) { return to_position(to_double(p)).value() != p; });
    compare(test::spectrum_of_base(base), at, 5, worst);
  }
  EXPECT_GE(worst.values, 2 * 190000);
  worst.expect_within_bounds();
}

TEST(Exact, SpecialPositions) {
  Worst worst;
  for (const double base : {10000.0, 500000.0, 1e6, 1e7})
    compare(test::spectrum_of_base(base), special_positions(), 1, worst);
  worst.expect_within_bounds();
}

TEST(Exact, OddFrequencies) {
  std::mt19937_64 random(7);
  std::vector<double> inv_freq{1e-300, 5e-324, 0.0,  1.0,  -1.0,  2 * M_PI, M_PI, 30.0,    1e5,
                               -30.0,  -1e-4,  1e15, 3e38, -3e38, 6.25,     1e-9, -M_PI_4, 0x1p100};
  for (int i = 0; i < 100; ++i) {
    inv_freq.push_back(std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                                  -63 - 10 + static_cast<int>(random() % 100)));
  }
  Worst worst;
  compare(Spectrum::from_inv_freq(inv_freq).value(), special_positions(), 1, worst);
  worst.expect_within_bounds();
}

TEST(Exact, NumbersFromFaultReports) {
  // Pair 0 turns one radian a step; each of these positions was once merged with a neighbour or drifted.
  const struct {
    std::int64_t position;
    double cos, sin, tolerance;
  } known[] = {{257, 0.81930553, -0.57335717, 1e-8},
               {4095, -0.0659760, -0.9978212, 1e-7},
               {2049, 0.77657204, std::nan(""), 1e-8},
               {16777217, 0.99438396, std::nan(""), 1e-8}};
  const auto source = test::source(AnglePolicy::exact, test::spectrum_of_base(10000));
  for (const auto& k : known) {
    const auto row = test::rows<double>(*source, Positions::range(k.position, k.position + 1));
    EXPECT_NEAR(row[0], k.cos, k.tolerance) << k.position;
    if (!std::isnan(k.sin)) {
      EXPECT_NEAR(row[64], k.sin, k.tolerance) << k.position;
    }
  }
}

TEST(Exact, NoLossAtLengthsOfModels) {
  // Where fp32 angles are off by 7.6e-3 and worse.
  for (const double base : {10000.0, 500000.0}) {
    const auto source = test::source(AnglePolicy::exact, test::spectrum_of_base(base));
    for (const std::int64_t end : {1000, 4096, 32768, 131072, 1000000, 10000000}) {
      EXPECT_LE(test::largest_error(*source, end - 64, end), 3.0e-8) << end;
    }
  }
}

TEST(Exact, FractionalPositionsAreContinuous) {
  // A step of 2^-20 turns each pair by 2^-20 * inv_freq; across whole positions too, and below zero.
  const std::vector<double> inv_freq{1.0, 0.01, 30.0, 1000.0, -7.0};
  const auto source = test::source(AnglePolicy::exact, Spectrum::from_inv_freq(inv_freq).value());
  for (const double at : {0.0, -1.0, 131071.0, -131071.0, 0.5, 1e6, 2147483647.0}) {
    const Positions p = Positions::spaced(at - 8 * 0x1p-20, 0x1p-20, 17).value();
    const auto row = test::rows<double>(*source, p);
    for (std::size_t t = 0; t + 1 < 17; ++t) {
      for (std::size_t i = 0; i < 5; ++i) {
        const double *a = &row[t * 10], *b = a + 10;
        const double sin_of_step = b[5 + i] * a[i] - b[i] * a[5 + i];
        EXPECT_NEAR(sin_of_step, std::sin(0x1p-20 * inv_freq[i]), 1e-15) << at << " pair " << i;
      }
    }
  }
}

TEST(Exact, MirrorImageToTheBit) {
  const auto source = test::source(AnglePolicy::exact, test::spectrum_of_base(10000));
  for (const double p : {1.0, 4095.0, 0.25, 131071.75, 2147483648.0, 0x1p40 + 1}) {
    const auto plus = test::rows<double>(*source, Positions::spaced(p, 0, 1).value());
    const auto minus = test::rows<double>(*source, Positions::spaced(-p, 0, 1).value());
    for (std::size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(plus[i], minus[i]);
      EXPECT_EQ(plus[64 + i], -minus[64 + i]);
    }
  }
}

TEST(Exact, AttentionFactorBeforeTheOneRounding) {
  const double a = 1.3465735902799727;
  const Spectrum plain = test::spectrum_of_base(10000);
  const std::vector<double> inv_freq(plain.inv_freq().begin(), plain.inv_freq().end());
  const auto source = test::source(AnglePolicy::exact, Spectrum::from_inv_freq(inv_freq, a).value());
  for (std::int64_t p = 131000; p < 131072; ++p) {
    const auto row = test::rows<float>(*source, Positions::range(p, p + 1));
    for (std::size_t i = 0; i < 64; ++i) {
      const TrueValue t = true_value({p, 0}, inv_freq[i]);
      EXPECT_LE(test::float_ulps(static_cast<double>(row[i]), t.cos * a), 0.501);
      EXPECT_LE(test::float_ulps(static_cast<double>(row[64 + i]), t.sin * a), 0.501);
    }
  }
}

}  // namespace
}  // namespace rotary
