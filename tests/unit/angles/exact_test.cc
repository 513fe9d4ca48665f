// SPDX-License-Identifier: Apache-2.0
// The policy exact against MPFR, within the bounds that angles.hpp states.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "angles/angle_source.hpp"
#include "unit/angles/true_value.hpp"

namespace rotary {
namespace {

using test::true_value;
using test::TrueValue;

std::shared_ptr<const impl::AngleSource> exact(const Spectrum& spectrum) {
  return impl::make_angle_source(AnglePolicy::exact, spectrum).value();
}
Spectrum of_base(double base) { return Spectrum::make({.rotary_dim = 128, .base = base}).value(); }

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
  const auto source = exact(spectrum);
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
    compare(of_base(base), at, 5, worst);
  }
  EXPECT_GE(worst.values, 2 * 190000);
  worst.expect_within_bounds();
}

TEST(Exact, SpecialPositions) {
  Worst worst;
  for (const double base : {10000.0, 500000.0, 1e6, 1e7})
    compare(of_base(base), special_positions(), 1, worst);
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

}  // namespace
}  // namespace rotary
