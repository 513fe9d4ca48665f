// SPDX-License-Identifier: Apache-2.0
// Rows of cos and sin: every target gives the bits of the scalar maker, and the scalar maker is right.
#include <gtest/gtest.h>
#include <hwy/base.h>
#include <mpfr.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "angles/frequency.hpp"
#include "kernels/reference/scalar_rows.hpp"

namespace rotary::impl {
namespace {

struct Row {
  std::vector<std::uint32_t> cos, sin;
  friend bool operator==(const Row&, const Row&) = default;
};

template <class Make>
Row bits_of(std::size_t count, double factor, bool mirrored, const Make& make) {
  std::vector<float> cos(count + 1, 7.0f), sin(count + 1, 7.0f);  // and one that must stay
  make(RowOut{cos.data(), sin.data(), factor, mirrored});
  EXPECT_EQ(cos.back(), 7.0f);
  EXPECT_EQ(sin.back(), 7.0f);
  Row row;
  for (std::size_t i = 0; i < count; ++i) {
    row.cos.push_back(std::bit_cast<std::uint32_t>(cos[i]));
    row.sin.push_back(std::bit_cast<std::uint32_t>(sin[i]));
  }
  return row;
}

std::vector<std::string> available_makers() {
  std::vector<std::string> names;
  for (const RowMaker& maker : row_makers()) {
    if (maker.available()) names.emplace_back(maker.name);
  }
  return names;
}

class EachRowMaker : public testing::TestWithParam<std::string> {
 protected:
  const RowMaker& maker() const {
    return *std::ranges::find(row_makers(), std::string_view(GetParam()), &RowMaker::name);
  }
};
INSTANTIATE_TEST_SUITE_P(, EachRowMaker, testing::ValuesIn(available_makers()),
                         [](const auto& test) { return test.param; });

TEST(RowMakers, EndWithTheScalarOne) {
  EXPECT_EQ(row_makers().back().name, "scalar");
  EXPECT_TRUE(row_makers().back().available());
  EXPECT_EQ(best_row_maker().name, available_makers().front());
}

/// Phases at every quarter and eighth and their neighbours, and random ones; first those of ten thousand million where
/// two roundings instead of a fused operation's one would give another float.
std::vector<std::uint64_t> telling_phases(std::size_t random_ones) {
  std::vector<std::uint64_t> phases{0x13B731290EC13678, 0x228EC3D69B88BC56};
  for (std::uint64_t eighth = 0; eighth < 8; ++eighth) {
    for (int bit = 0; bit < 62; ++bit) {
      phases.push_back((eighth << 61) + (std::uint64_t{1} << bit));
      phases.push_back((eighth << 61) - (std::uint64_t{1} << bit));
    }
    phases.push_back(eighth << 61);
  }
  std::mt19937_64 random(5);
  while (phases.size() < random_ones) phases.push_back(random());
  return phases;
}

TEST_P(EachRowMaker, PhasesHaveTheScalarBits) {
  const auto phases = telling_phases(500000);
  for (const double factor : {1.0, -1.5, 1.3465735902799727}) {
    const auto of = [&](const RowMaker& by) {
      return bits_of(phases.size(), factor, factor < 0, [&](const RowOut& out) {
        by.of_phases(phases.data(), static_cast<std::int64_t>(phases.size()), out);
      });
    };
    EXPECT_TRUE(of(maker()) == of(scalar_row_maker));
  }
}

TEST_P(EachRowMaker, WidePhasesHaveTheScalarBitsAtEveryWidth) {
  const auto phases = telling_phases(200000);
  for (std::size_t count : {phases.size(), std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{63}}) {
    const auto of = [&](const RowMaker& by) {
      std::vector<double> rows(2 * count);
      by.wide_of_phases(phases.data(), static_cast<std::int64_t>(count),
                        {rows.data(), rows.data() + count, 1.3465735902799727});
      std::vector<std::uint64_t> bits;
      for (const double number : rows) bits.push_back(std::bit_cast<std::uint64_t>(number));
      return bits;
    };
    EXPECT_TRUE(of(maker()) == of(scalar_row_maker)) << count;
  }
}

TEST_P(EachRowMaker, DistancesHaveTheScalarBitsAtEveryWidth) {
  std::mt19937_64 random(6);
  for (std::size_t count = 0; count < 140; ++count) {
    std::vector<std::uint64_t> fraction(count), guard(count);
    for (auto& f : fraction) f = random() >> random() % 60;
    for (auto& g : guard) g = random() >> 32;
    for (std::uint64_t distance : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{131071},
                                   std::uint64_t{0xFFFFFFFF}, std::uint64_t{0x80000000}, random() >> 32}) {
      const auto of = [&](const RowMaker& by) {
        return bits_of(count, 1.0, count % 2 == 1, [&](const RowOut& out) {
          by.of_distance(distance, fraction.data(), guard.data(), static_cast<std::int64_t>(count), out);
        });
      };
      EXPECT_TRUE(of(maker()) == of(scalar_row_maker)) << count << " " << distance;
    }
  }
}

/// Frequencies of models, and pairs that hardly turn, or not at all.
std::vector<double> telling_frequencies() {
  std::vector<double> all{0.0, 1.0, -1.0, M_PI_2, M_PI_4, 1e-300, 1e-15, 1e-12, 1e-9, -1e-6, 3e4};
  for (const double base : {1e4, 5e5, 1e6, 1e8}) {
    for (int i = 0; i < 64; ++i) all.push_back(std::pow(base, -i / 64.0));
  }
  return all;
}

TEST_P(EachRowMaker, RunsHaveTheBitsOfTheirRows) {
  std::vector<std::uint64_t> fraction, guard;
  for (const double inv_freq : telling_frequencies()) {
    const Frequency f = frequency_in_turns(inv_freq);
    fraction.push_back(f.fraction);
    guard.push_back(f.guard >> 32);
  }
  const Steps steps(fraction, guard);
  const auto pairs = static_cast<std::int64_t>(fraction.size());
  const PairTurns turns{pairs, fraction.data(), guard.data(), steps.steps.data(), steps.slack.data()};
  std::mt19937_64 random(10);
  const auto distance_of = [&](int k) -> std::uint64_t {
    const std::uint64_t starts[] = {0, 1, 15, 4095, (1 << 20) - 7, (std::uint64_t{1} << 31) - 8, 0xFFFFFFF0u};
    return k < 7 ? starts[k] : (random() >> 32 >> random() % 28) & ~std::uint64_t{15};
  };
  // Of 16 rows of 267 pairs: forty million numbers, fewer where a target is emulated.
  const int runs = GetParam() == "scalar" ? 50 : HWY_ARCH_X86 ? 5000 : 300;
  std::vector<float> together(run_rows * 2 * fraction.size()), alone(2 * fraction.size());
  for (int k = 0; k < runs; ++k) {
    const double factor = std::array{1.0, 1.3465735902799727, 0.1}[static_cast<std::size_t>(k % 3)];
    const bool mirrored = k % 5 == 1;
    const std::int64_t rows = k % 7 == 2 ? 1 + k % 16 : run_rows;
    const RowRun run{distance_of(k), rows, mirrored ? -2 * pairs : 2 * pairs};
    const auto place = [&](std::int64_t t) {
      return together.data() + 2 * pairs * (mirrored ? rows - 1 - t : t);
    };
    maker().of_run(run, turns, {place(0), place(0) + pairs, factor, mirrored});
    for (std::int64_t t = 0; t < rows; ++t) {
      maker().of_distance(run.distance + static_cast<std::uint64_t>(t), fraction.data(), guard.data(), pairs,
                          {alone.data(), alone.data() + pairs, factor, mirrored});
      ASSERT_EQ(std::memcmp(place(t), alone.data(), alone.size() * sizeof(float)), 0)
          << run.distance << " row " << t << " factor " << factor << (mirrored ? " mirrored" : "");
    }
  }
}

TEST_P(EachRowMaker, RunsHaveTheirRowsBitsAtEveryWidth) {
  std::mt19937_64 random(11);
  for (std::size_t count = 0; count < 70; ++count) {
    std::vector<std::uint64_t> fraction(count), guard(count);
    for (auto& f : fraction) f = random() >> random() % 60;
    for (auto& g : guard) g = random() >> 32;
    const Steps steps(fraction, guard);
    const auto pairs = static_cast<std::int64_t>(count);
    std::vector<float> rows(run_rows * 2 * count + 1, 7.0f), alone(2 * count);
    maker().of_run({131071, run_rows, 2 * pairs},
                   {pairs, fraction.data(), guard.data(), steps.steps.data(), steps.slack.data()},
                   {rows.data(), rows.data() + count, 1.0});
    EXPECT_EQ(rows.back(), 7.0f);
    for (std::size_t t = 0; t < run_rows; ++t) {
      scalar_row_maker.of_distance(131071 + t, fraction.data(), guard.data(), pairs,
                                   {alone.data(), alone.data() + count, 1.0});
      EXPECT_TRUE(
          std::equal(alone.begin(), alone.end(), rows.begin() + static_cast<std::ptrdiff_t>(t * 2 * count)))
          << count << " row " << t;
    }
  }
}

/// Floats of every exponent up to max_radians, the nearest ones to quarters of a turn, zeros and subnormals.
std::vector<float> telling_radians(std::size_t random_ones) {
  std::vector<float> radians{0.0f, -0.0f, 1e-45f, -1e-40f, 0x1p-126f, max_radians, -max_radians};
  for (const double quarters : {1.0, 2.0, 3.0, 4.0, 5.0, 101.0, 4097.0, 131071.0, 1e6, 1e8, 6e8}) {
    const auto nearest = static_cast<float>(quarters * M_PI_2);
    for (const float x : {nearest, std::nextafter(nearest, 0.0f), std::nextafter(nearest, HUGE_VALF)}) {
      radians.push_back(x);
      radians.push_back(-x);
      radians.push_back(x / 2);
    }
  }
  // Of all floats below 2^30 the nearest to a quarter turn.
  radians.push_back(0x1.6b7f8p+26f);
  radians.push_back(16367173.0f * 0x1p+5f);
  std::mt19937_64 random(7);
  std::uniform_int_distribution<std::uint32_t> bits(0, std::bit_cast<std::uint32_t>(max_radians));
  while (radians.size() < random_ones) {
    const float x = std::bit_cast<float>(bits(random));
    radians.push_back(random() % 2 ? x : -x);
  }
  return radians;
}

TEST_P(EachRowMaker, RadiansHaveTheScalarBits) {
  for (const std::size_t random_ones : {std::size_t{500000}, std::size_t{0}}) {
    const auto radians = telling_radians(random_ones);
    for (const double factor : {1.0, 1.1}) {
      const auto of = [&](const RowMaker& by) {
        return bits_of(radians.size(), factor, false, [&](const RowOut& out) {
          by.of_radians(radians.data(), static_cast<std::int64_t>(radians.size()), out);
        });
      };
      EXPECT_TRUE(of(maker()) == of(scalar_row_maker));
    }
  }
}

/// The largest error in units of the last place, at any size of number.
double float_ulps(std::uint32_t got, mpfr_t expected) {
  const double value = static_cast<double>(std::bit_cast<float>(got));
  const mpfr_exp_t exponent =
      mpfr_zero_p(expected) ? -148 : std::max<mpfr_exp_t>(mpfr_get_exp(expected), -125);
  mpfr_t error;
  mpfr_init2(error, 128);
  mpfr_sub_d(error, expected, value, MPFR_RNDN);
  mpfr_mul_2si(error, error, 24 - exponent, MPFR_RNDN);
  const double ulps = std::fabs(mpfr_get_d(error, MPFR_RNDN));
  mpfr_clear(error);
  return ulps;
}

double worst_ulps(const Row& row, std::size_t i, mpfr_t angle) {
  mpfr_t c, s;
  mpfr_inits2(128, c, s, nullptr);
  mpfr_sin_cos(s, c, angle, MPFR_RNDN);
  const double worst = std::max(float_ulps(row.cos[i], c), float_ulps(row.sin[i], s));
  mpfr_clears(c, s, nullptr);
  return worst;
}

TEST(ScalarRows, PhasesAreWithinTwoMillionthsOfRounding) {
  const auto phases = telling_phases(100000);
  const Row row = bits_of(phases.size(), 1, false, [&](const RowOut& out) {
    scalar_row_maker.of_phases(phases.data(), static_cast<std::int64_t>(phases.size()), out);
  });
  double worst = 0;
  mpfr_t angle, pi;
  mpfr_inits2(256, angle, pi, nullptr);
  mpfr_const_pi(pi, MPFR_RNDN);
  for (std::size_t i = 0; i < phases.size(); ++i) {
    mpfr_mul_ui(angle, pi, phases[i], MPFR_RNDN);
    mpfr_div_2ui(angle, angle, 63, MPFR_RNDN);
    // At a quarter itself one of the two is a zero that MPFR's pi misses by a little.
    if (phases[i] << 2 != 0) worst = std::max(worst, worst_ulps(row, i, angle));
  }
  mpfr_clears(angle, pi, nullptr);
  EXPECT_LE(worst, 0.500003);
}

TEST(ScalarRows, QuartersAreExact) {
  const std::vector<std::uint64_t> phases{0, std::uint64_t{1} << 62, std::uint64_t{2} << 62,
                                          std::uint64_t{3} << 62};
  float cos[4], sin[4];
  scalar_row_maker.of_phases(phases.data(), 4, {cos, sin, 1});
  for (int quarter = 0; quarter < 4; ++quarter) {
    EXPECT_EQ(cos[quarter], (std::array{1, 0, -1, 0}[static_cast<std::size_t>(quarter)]));
    EXPECT_EQ(sin[quarter], (std::array{0, 1, 0, -1}[static_cast<std::size_t>(quarter)]));
  }
}

TEST(ScalarRows, RadiansAreWithinTwoMillionthsOfRounding) {
  const auto radians = telling_radians(100000);
  const Row row = bits_of(radians.size(), 1, false, [&](const RowOut& out) {
    scalar_row_maker.of_radians(radians.data(), static_cast<std::int64_t>(radians.size()), out);
  });
  double worst = 0;
  mpfr_t angle;
  mpfr_init2(angle, 53);
  for (std::size_t i = 0; i < radians.size(); ++i) {
    mpfr_set_d(angle, static_cast<double>(radians[i]), MPFR_RNDN);
    worst = std::max(worst, worst_ulps(row, i, angle));
  }
  mpfr_clear(angle);
  EXPECT_LE(worst, 0.500003);
}

}  // namespace
}  // namespace rotary::impl
