// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <random>
#include <rotary/attention.hpp>
#include <vector>

#include "support/status_matchers.hpp"

namespace rotary::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Rope rope_of(std::int64_t rotary_dim, Pairing pairing = Pairing::half_split, Scaling scaling = {}) {
  const auto spectrum = Spectrum::make({.rotary_dim = rotary_dim, .base = 10000, .scaling = scaling}).value();
  return Rope::make({.spectrum = spectrum, .pairing = pairing}).value();
}

/// Some doubles of [batch, tokens, heads, head_dim] in any strides, and the formula over them in long double.
struct Operand4 {
  HeadsShape shape;
  std::vector<double> memory;

  Operand4(std::int64_t batch, std::int64_t tokens, std::int64_t heads, std::int64_t head_dim, unsigned seed)
      : shape(HeadsShape::contiguous(Layout::bthd, DType::f64, batch, tokens, heads, head_dim)) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    memory.resize(static_cast<std::size_t>(batch * tokens * heads * head_dim));
    for (double& x : memory) x = normal(random);
  }
  Heads heads() { return {memory.data(), shape}; }
  double& at(std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t i) {
    return memory[static_cast<std::size_t>(b * shape.batch_stride + t * shape.token_stride +
                                           h * shape.head_stride + i * shape.lane_stride)];
  }
};

/// Token t stands at `first + t`; half-split, the whole head, angles and sums in long double.
std::vector<long double> turned(Operand4& x, std::int64_t b, std::int64_t t, std::int64_t h,
                                std::int64_t first) {
  const std::int64_t dim = x.shape.head_dim, pairs = dim / 2;
  std::vector<long double> out(static_cast<std::size_t>(dim));
  for (std::int64_t i = 0; i < pairs; ++i) {
    const long double w =
        std::pow(10000.0L, -2.0L * static_cast<long double>(i) / static_cast<long double>(dim));
    const long double c = std::cos(static_cast<long double>(first + t) * w);
    const long double s = std::sin(static_cast<long double>(first + t) * w);
    const long double u = x.at(b, t, h, i), v = x.at(b, t, h, i + pairs);
    out[static_cast<std::size_t>(i)] = u * c - v * s;
    out[static_cast<std::size_t>(i + pairs)] = u * s + v * c;
  }
  return out;
}

double formula(Operand4& q, Operand4& k, Operand4& v, bool causal, std::int64_t first, std::int64_t b,
               std::int64_t t, std::int64_t h, std::int64_t lane) {
  const std::int64_t ahead = k.shape.tokens - q.shape.tokens, kv_head = h / (q.shape.heads / k.shape.heads);
  const auto query = turned(q, b, t, h, first + ahead);
  long double weights = 0, sum = 0;
  for (std::int64_t j = 0; j < k.shape.tokens; ++j) {
    if (causal && j > t + ahead) continue;
    const auto key = turned(k, b, j, kv_head, first);
    long double score = 0;
    for (std::size_t i = 0; i < query.size(); ++i) score += query[i] * key[i];
    const long double weight = std::exp(score / std::sqrt(static_cast<long double>(query.size())));
    weights += weight;
    sum += weight * v.at(b, j, kv_head, lane);
  }
  return weights == 0 ? 0 : static_cast<double>(sum / weights);
}

/// The keys stand at first, first + 1, ..., the last query where the last key does.
void check_against_formula(Operand4& q, Operand4& k, Operand4& v, Operand4& out, bool causal,
                           std::int64_t first) {
  AttentionOptions options{.causal = causal};
  if (first != 0) {
    const std::int64_t end = first + k.shape.tokens;
    options.q_positions = Positions::range(end - q.shape.tokens, end);
    options.k_positions = Positions::range(first, end);
  }
  ASSERT_SUCCEEDS(attend(rope_of(q.shape.head_dim), q.heads(), k.heads(), v.heads(), out.heads(), options));
  for (std::int64_t b = 0; b < q.shape.batch; ++b) {
    for (std::int64_t t = 0; t < q.shape.tokens; ++t) {
      for (std::int64_t h = 0; h < q.shape.heads; ++h) {
        for (std::int64_t i = 0; i < v.shape.head_dim; ++i) {
          ASSERT_NEAR(out.at(b, t, h, i), formula(q, k, v, causal, first, b, t, h, i), 1e-14)
              << b << ' ' << t << ' ' << h << ' ' << i;
        }
      }
    }
  }
}

TEST(Attend, EqualsTheFormulaWrittenOut) {
  for (const bool causal : {false, true}) {
    for (const std::int64_t q_tokens : {1, 7, 13}) {  // fewer than the keys, and more
      Operand4 q(2, q_tokens, 6, 8, 1), k(2, 9, 3, 8, 2), v(2, 9, 3, 5, 3), out(2, q_tokens, 6, 5, 4);
      check_against_formula(q, k, v, out, causal, 0);
      check_against_formula(q, k, v, out, causal, 131000);
    }
  }
}

TEST(Attend, TakesAnyStrides) {
  Operand4 q(2, 4, 4, 6, 1), k(2, 5, 2, 6, 2), v(2, 5, 2, 3, 3), out(2, 4, 4, 3, 4);
  q.shape = HeadsShape::contiguous(Layout::bhtd, DType::f64, 2, 4, 4, 6);
  k.shape.lane_stride = 20, k.shape.head_stride = 1, k.shape.token_stride = 4, k.shape.batch_stride = 2;
  k.memory.resize(300);
  v.shape.batch_stride = 0;  // both rows of the batch read the same values
  out.shape.lane_stride = 3, out.shape.head_stride = 9, out.shape.token_stride = 40,
  out.shape.batch_stride = 1;
  out.memory.assign(300, -7.0);
  check_against_formula(q, k, v, out, true, 0);
  EXPECT_EQ(out.memory[2], -7.0);  // between the elements
}

TEST(Attend, AQueryThatSeesNoKeyGivesZeros) {
  Operand4 q(1, 3, 1, 2, 1), k(1, 1, 1, 2, 2), v(1, 1, 1, 2, 3), out(1, 3, 1, 2, 4);
  ASSERT_SUCCEEDS(attend(rope_of(2), q.heads(), k.heads(), v.heads(), out.heads(), {.causal = true}));
  EXPECT_EQ(out.memory, (std::vector<double>{0, 0, 0, 0, v.memory[0], v.memory[1]}));
  k.shape.tokens = v.shape.tokens = 0;
  k.shape.token_stride = std::numeric_limits<std::int64_t>::min();  // of no element, so it means nothing
  ASSERT_SUCCEEDS(attend(rope_of(2), q.heads(), k.heads(), v.heads(), out.heads()));
  EXPECT_EQ(out.memory, std::vector<double>(6, 0.0));
}

TEST(Attend, LargeScoresDoNotOverflow) {
  Operand4 q(1, 1, 1, 2, 1), k(1, 3, 1, 2, 2), v(1, 3, 1, 1, 3), out(1, 1, 1, 1, 4);
  q.memory = {1e4, 0};
  k.memory = {-1e4, 0, 1e4, 0, 1e4, 0};
  v.memory = {5, 1, 2};
  const auto still = Positions::spaced(0, 0, 3).value();
  const auto attend_at_rest = [&] {
    return attend(rope_of(2), q.heads(), k.heads(), v.heads(), out.heads(),
                  {.q_positions = Positions::range(0, 1), .k_positions = still});
  };
  ASSERT_SUCCEEDS(attend_at_rest());
  EXPECT_EQ(out.memory[0], 1.5);
  k.memory[0] = -infinity;
  ASSERT_SUCCEEDS(attend_at_rest());
  EXPECT_TRUE(std::isnan(out.memory[0]));  // inf * sin 0 is a NaN in the pair, and a NaN stays
}

TEST(Attend, ScaleHasTheSoftmaxFactorUnlessGiven) {
  // Two keys with the scores 1 and 0 before the scale: out is 1 / (1 + exp(-scale)).
  Operand4 q(1, 1, 1, 4, 1), k(1, 2, 1, 4, 2), v(1, 2, 1, 1, 3), out(1, 1, 1, 1, 4);
  q.memory = {1, 0, 0, 0};
  k.memory = {1, 0, 0, 0, 0, 0, 0, 0};
  v.memory = {1, 0};
  AttentionOptions options{.q_positions = Positions::range(0, 1),
                           .k_positions = Positions::spaced(0, 0, 2).value()};
  const auto run = [&](const Rope& rope) {
    EXPECT_SUCCEEDS(attend(rope, q.heads(), k.heads(), v.heads(), out.heads(), options));
    return out.memory[0];
  };
  EXPECT_NEAR(run(rope_of(4)), 1 / (1 + std::exp(-0.5)), 1e-16);
  // mscale == mscale_all_dim = 0.707, factor 40: A is 1, the softmax factor 1.58962617.
  const scaling::Yarn deepseek{.factor = 40, .mscale = 0.707, .mscale_all_dim = 0.707};
  EXPECT_NEAR(run(rope_of(4, Pairing::half_split, deepseek)), 1 / (1 + std::exp(-0.5 * 1.58962617)), 1e-9);
  options.scale = 3;
  EXPECT_NEAR(run(rope_of(4, Pairing::half_split, deepseek)), 1 / (1 + std::exp(-3)), 1e-16);
}

TEST(Attend, BatchRowsMayStandElsewhere) {
  // Row 1 is row 0 moved by 5000 positions: the same scores.
  Operand4 q(2, 2, 1, 8, 1), k(2, 3, 1, 8, 2), v(2, 3, 1, 2, 3), out(2, 2, 1, 2, 4);
  for (Operand4* x : {&q, &k, &v}) {
    const auto half = static_cast<std::ptrdiff_t>(x->memory.size() / 2);
    std::copy_n(x->memory.begin(), half, x->memory.begin() + half);
  }
  const std::vector<std::int64_t> q_starts = {1, 5001}, k_starts = {0, 5000};
  ASSERT_SUCCEEDS(attend(rope_of(8), q.heads(), k.heads(), v.heads(), out.heads(),
                         {.causal = true,
                          .q_positions = Positions::offsets(q_starts, 2).value(),
                          .k_positions = Positions::offsets(k_starts, 3).value()}));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(out.memory[i], out.memory[i + 4], 1e-13);
}

}  // namespace
}  // namespace rotary::testing
