// SPDX-License-Identifier: Apache-2.0
// The three published ways against PyTorch running their arithmetic, in fp32 and rounded to the input's type.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <rotary/classic.hpp>

#include "support/fixture.hpp"
#include "support/status_matchers.hpp"

namespace rotary::testing {
namespace {

using namespace classic;

double real(float x) { return static_cast<double>(x); }
double real(f16 x) { return real(to_float(x)); }
double real(bf16 x) { return real(to_float(x)); }

/// The largest difference between two rotations of one input, measured against the length of the pair.
template <class T>
double largest_error(const std::vector<T>& input, const std::vector<T>& ours, const std::vector<T>& theirs,
                     std::int64_t head_dim, bool adjacent) {
  EXPECT_EQ(ours.size(), theirs.size());
  EXPECT_EQ(input.size(), theirs.size());
  const auto lanes = static_cast<std::size_t>(head_dim), pairs = lanes / 2;
  double largest = 0;
  for (std::size_t head = 0; head < input.size(); head += lanes) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::size_t x = head + (adjacent ? 2 * i : i), y = head + (adjacent ? 2 * i + 1 : i + pairs);
      const double length = std::hypot(real(input[x]), real(input[y]));
      const double error =
          std::hypot(real(ours[x]) - real(theirs[x]), real(ours[y]) - real(theirs[y])) / length;
      largest = std::max(largest, error);
    }
  }
  return largest;
}

/// In fp32 each rounds cos, sin, the products and the sum in its own way. After that, 16 bits come out the
/// same.
template <class T>
constexpr double allowed = sizeof(T) == sizeof(float) ? 4 * 0x1p-24 : 0;

const Fixture& fixture() {
  static const Fixture file("classic.safetensors");
  return file;
}

template <class T>
void check_llama(const std::string& name, std::int64_t start, std::int64_t end, double base) {
  SCOPED_TRACE(name);
  const auto xq = fixture().numbers<T>(name + ".xq"), xk = fixture().numbers<T>(name + ".xk");
  const std::int64_t batch = fixture().shape(name + ".xq").at(0),
                     tokens = fixture().shape(name + ".xq").at(1);
  const std::int64_t heads = fixture().shape(name + ".xq").at(2),
                     kv_heads = fixture().shape(name + ".xk").at(2);
  const std::int64_t dim = fixture().shape(name + ".xq").at(3);
  const auto freqs_cis = llama::precompute_freqs_cis(dim, end, base).value();
  const auto now = freqs_cis.slice(start, start + tokens).value();

  std::vector<T> xq_out(xq.size()), xk_out(xk.size());
  ASSERT_SUCCEEDS(llama::apply_rotary_emb(
      {bthd(xq.data(), batch, tokens, heads, dim), bthd(xq_out.data(), batch, tokens, heads, dim)},
      {bthd(xk.data(), batch, tokens, kv_heads, dim), bthd(xk_out.data(), batch, tokens, kv_heads, dim)},
      now));
  const double q_error = largest_error(xq, xq_out, fixture().numbers<T>(name + ".xq_out"), dim, true);
  const double k_error = largest_error(xk, xk_out, fixture().numbers<T>(name + ".xk_out"), dim, true);
  EXPECT_LE(q_error, allowed<T>);
  EXPECT_LE(k_error, allowed<T>);
}

TEST(Llama, EqualsThePublishedCode) {
  check_llama<float>("llama.float32", 500, 4096, 10000);
  check_llama<f16>("llama.float16", 500, 4096, 10000);
  check_llama<bf16>("llama.bfloat16", 500, 4096, 10000);
}
TEST(Llama, EqualsThePublishedCodeAtLatePositions) {
  check_llama<float>("llama.late", 4000, 4096, 10000);
  check_llama<bf16>("llama.late_bfloat16", 131040, 131072, 500000);
}

template <class T>
void check_palm(const std::string& name, std::int64_t seq_len) {
  SCOPED_TRACE(name);
  auto q = fixture().numbers<T>(name + ".q"), k = fixture().numbers<T>(name + ".k");
  const auto q_in = q, k_in = k;
  const std::int64_t batch = fixture().shape(name + ".q").at(0), tokens = fixture().shape(name + ".q").at(2);
  const std::int64_t heads = fixture().shape(name + ".q").at(1),
                     kv_heads = fixture().shape(name + ".k").at(1);
  const std::int64_t dim = fixture().shape(name + ".q").at(3);
  const auto ids = fixture().numbers<std::int64_t>(name + ".positions");

  const auto rotary_emb = palm::RotaryEmbedding::make(dim).value();
  const auto [cos, sin] = rotary_emb(seq_len).value();
  ASSERT_EQ(cos.rows, seq_len);
  const auto their_cos = fixture().numbers<float>(name + ".cos"),
             their_sin = fixture().numbers<float>(name + ".sin");
  for (std::size_t row = 0; row < ids.size(); ++row) {
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(dim); ++lane) {
      const std::size_t at = row * static_cast<std::size_t>(dim) + lane;
      ASSERT_NEAR(real(cos[ids[row]][lane]), real(their_cos[at]), 0x1p-24) << ids[row] << ' ' << lane;
      ASSERT_NEAR(real(sin[ids[row]][lane]), real(their_sin[at]), 0x1p-24) << ids[row] << ' ' << lane;
    }
  }

  const auto position_ids = Positions::ids(std::span(ids), batch, tokens).value();
  ASSERT_SUCCEEDS(palm::apply_rotary_pos_emb(bhtd(q.data(), batch, heads, tokens, dim),
                                             bhtd(k.data(), batch, kv_heads, tokens, dim), cos, sin,
                                             position_ids));
  const double q_error = largest_error(q_in, q, fixture().numbers<T>(name + ".q_out"), dim, false);
  const double k_error = largest_error(k_in, k, fixture().numbers<T>(name + ".k_out"), dim, false);
  EXPECT_LE(q_error, allowed<T>);
  EXPECT_LE(k_error, allowed<T>);
}

TEST(Palm, EqualsThePublishedCode) { check_palm<float>("palm.inside", 2048); }
TEST(Palm, EqualsThePublishedCodeAfterTheCacheHasGrown) {
  check_palm<float>("palm.grown", 3001);
  check_palm<bf16>("palm.grown_bfloat16", 3001);
}

struct TextbookCase {
  const char* name;
  double base, allowed_error;
};

struct Textbook : ::testing::TestWithParam<TextbookCase> {
  std::string name = std::string("textbook.") + GetParam().name;
  std::int64_t batch = fixture().shape(name + ".x").at(0), tokens = fixture().shape(name + ".x").at(1);
  std::int64_t dim = fixture().shape(name + ".x").at(2);
  std::vector<float> x = fixture().numbers<float>(name + ".x");
  std::vector<std::int64_t> ids = fixture().numbers<std::int64_t>(name + ".positions");
  Positions positions = Positions::ids(std::span<const std::int64_t>(ids), batch, tokens).value();
  textbook::RoPE rope = textbook::RoPE::make(dim, GetParam().base).value();

  double error(const std::vector<float>& ours, const char* theirs) const {
    return largest_error(x, ours, fixture().numbers<float>(name + theirs), dim, true);
  }
};

TEST_P(Textbook, EqualsThePublishedCodeAtPositionsOfItsOwnInEachRow) {
  auto ours = x;
  ASSERT_SUCCEEDS(rope(positions, textbook::btd(ours.data(), batch, tokens, dim)));
  EXPECT_LE(error(ours, ".out"), GetParam().allowed_error);
}

TEST_P(Textbook, TellsTheWrongDirectionApart) {
  auto forward = x, inverse = x;
  ASSERT_SUCCEEDS(rope(positions, textbook::btd(forward.data(), batch, tokens, dim)));
  const auto angles = rope.rope().angles(positions).value();
  ASSERT_SUCCEEDS(rope.rope().inverse().rotate(angles, textbook::btd(inverse.data(), batch, tokens, dim)));
  EXPECT_LE(error(inverse, ".out_wrong_direction"), GetParam().allowed_error);
  EXPECT_GE(error(forward, ".out_wrong_direction"), 1.9);  // opposite at the worst pair
  EXPECT_GE(error(inverse, ".out"), 1.9);
}

// PyTorch's power is one fp32 step off in two of the 32 frequencies of base 10000. The larger step is 2.3e-10
// radians a position, so 3.05e-5 radians at 131071.
INSTANTIATE_TEST_SUITE_P(PyTorch, Textbook,
                         ::testing::Values(TextbookCase{"base_10000", 10000, 3.1e-5},
                                           TextbookCase{"base_500000", 500000, allowed<float>}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace rotary::testing
