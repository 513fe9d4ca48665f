// SPDX-License-Identifier: Apache-2.0
// Expected: the formula of vLLM's FourierRotaryEmbedding in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <rotary/fope.hpp>
#include <rotary/rope.hpp>

#include "support/status_matchers.hpp"

namespace rotary::testing {
namespace {

constexpr SpectrumOptions sixteen = {.rotary_dim = 16};

TEST(Fope, KeepsThePairsThatTurnWithinTheLength) {
  // Wavelengths 2 pi 10^(i/2): 6.28, 19.9, 62.8, 199, 628, ...
  EXPECT_EQ(fope_spectrum(sixteen, 100)->pairs(), 3);
  EXPECT_EQ(fope_spectrum(sixteen, 198)->pairs(), 3);
  EXPECT_EQ(fope_spectrum(sixteen, 199)->pairs(), 4);
  EXPECT_EQ(fope_spectrum(sixteen, 199, 6)->pairs(), 6);
  EXPECT_FAILS(fope_spectrum(sixteen, 6), StatusCode::invalid_argument, "fope: no pair turns once within");
  EXPECT_FAILS(fope_spectrum(sixteen, 6, 9), StatusCode::invalid_argument,
               "fope: num_inv_freq 9: must be from 1 to the number of pairs, 8");
  EXPECT_FAILS(fope_spectrum(sixteen, 0), StatusCode::invalid_argument, "max_position_embeddings 0");
}

TEST(Fope, MixesEachHeadByItsMatrices) {
  const Spectrum kept = fope_spectrum(sixteen, 199).value();
  std::mt19937 random(1);
  std::uniform_real_distribution<float> numbers(-1, 1);
  std::vector<float> cos(2 * 4 * 4), sin(cos.size());
  for (auto* list : {&cos, &sin})
    for (float& number : *list) number = numbers(random);
  const auto tables = fope_tables(kept, {.cos = cos, .sin = sin, .heads = 2}, 1000, 8).value();
  ASSERT_EQ(tables.size(), 2U);
  for (std::size_t h = 0; h < 2; ++h) {
    for (const std::size_t t : {0, 1, 500, 999}) {
      for (std::size_t d = 0; d < 8; ++d) {
        long double c = 0, s = 0;
        for (std::size_t k = 0; k < 4; ++k) {
          const long double angle = t * std::pow(10.0L, -0.5L * k);
          c += std::cos(angle) * cos[(h * 4 + k) * 4 + d % 4];
          s += std::sin(angle) * sin[(h * 4 + k) * 4 + d % 4];
        }
        if (d >= 4) c = 1, s = 0;
        EXPECT_NEAR(tables[h].cos[t * 8 + d], static_cast<double>(c), 2e-7) << h << ' ' << t << ' ' << d;
        EXPECT_NEAR(tables[h].sin[t * 8 + d], static_cast<double>(s), 2e-7) << h << ' ' << t << ' ' << d;
      }
    }
  }
  const Rope rope = Rope::from_table(tables[1].view(), {}).value();
  EXPECT_EQ(rope.rotary_dim(), 16);
  ASSERT_SUCCEEDS(rope.angles(Positions::range(0, 1000)));
}

TEST(Fope, RefusesWhatDoesNotFit) {
  const Spectrum kept = fope_spectrum(sixteen, 199).value();
  const std::vector<float> matrix(16, 1.0F);
  const auto with = [&](std::int64_t heads, std::int64_t rows, std::int64_t pairs) {
    return fope_tables(kept, {.cos = matrix, .sin = matrix, .heads = heads}, rows, pairs);
  };
  EXPECT_SUCCEEDS(with(1, 1, 4));
  EXPECT_FAILS(with(2, 10, 8), StatusCode::invalid_argument,
               "fope: cos has 16 coefficients, expected heads 2 * 4 * 4");
  EXPECT_FAILS(with(0, 10, 8), StatusCode::invalid_argument, "fope: heads 0: must be at least 1");
  EXPECT_FAILS(with(1, 0, 8), StatusCode::invalid_argument, "fope: rows 0: must be at least 1");
  EXPECT_FAILS(with(1, 10, 3), StatusCode::invalid_argument,
               "fope: pairs 3: must be from the kept 4 to 4096");
  EXPECT_FAILS(with(1, std::int64_t{1} << 62, 8), StatusCode::unsupported, "more numbers than memory holds");
}

}  // namespace
}  // namespace rotary::testing
