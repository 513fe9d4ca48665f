// SPDX-License-Identifier: Apache-2.0
// Attention against PyTorch's scaled_dot_product_attention over rotated q and k: 4 query heads on 2 key
// heads, positions around 4080.
#include <gtest/gtest.h>

#include <rotary/attention.hpp>

#include "support/fixture.hpp"
#include "support/status_matchers.hpp"

namespace rotary::testing {
namespace {

const Fixture& fixture() {
  static const Fixture file("attention.safetensors");
  return file;
}

template <class Real>
std::vector<Real> attended(const std::string& name, bool causal) {
  const auto q = fixture().numbers<Real>(name + ".q"), k = fixture().numbers<Real>(name + ".k");
  const auto v = fixture().numbers<Real>(name + ".v");
  const auto q_ids = fixture().numbers<std::int64_t>(name + ".q_positions");
  const auto k_ids = fixture().numbers<std::int64_t>(name + ".k_positions");
  const std::int64_t heads = fixture().shape(name + ".q").at(1),
                     kv_heads = fixture().shape(name + ".k").at(1);
  const std::int64_t q_tokens = fixture().shape(name + ".q").at(2),
                     k_tokens = fixture().shape(name + ".k").at(2);
  const std::int64_t dim = fixture().shape(name + ".q").at(3);
  const auto rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = dim}).value()}).value();
  std::vector<Real> out(q.size(), Real{-7});
  EXPECT_SUCCEEDS(
      attend(rope, bhtd(q.data(), 1, heads, q_tokens, dim), bhtd(k.data(), 1, kv_heads, k_tokens, dim),
             bhtd(v.data(), 1, kv_heads, k_tokens, dim), bhtd(out.data(), 1, heads, q_tokens, dim),
             {.causal = causal,
              .q_positions = Positions::ids(std::span(q_ids)).value(),
              .k_positions = Positions::ids(std::span(k_ids)).value()}));
  return out;
}

template <class Real, class Theirs>
void expect_near(const std::vector<Real>& ours, const std::vector<Theirs>& theirs, double tolerance) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(ours[i]), static_cast<double>(theirs[i]), tolerance) << i;
  }
}

struct Case {
  const char* name;
  bool causal;
};
struct Attention : ::testing::TestWithParam<Case> {};

// PyTorch's float32 attention is within 2e-6 of the formula in double on these inputs. Its float64 angles are
// rounded products, 2^-42 apart at 4095: 9e-14 of the output, by the formula in long double.
TEST_P(Attention, InSinglePrecisionEqualsPyTorch) {
  const std::string name = std::string(GetParam().name) + "_float32";
  const auto ours = attended<float>(name, GetParam().causal);
  expect_near(ours, fixture().numbers<float>(name + ".out"), 2e-6);
  expect_near(ours, fixture().numbers<double>(name + ".out_double"),
              5e-7);  // and nearer to the formula in double
}
TEST_P(Attention, InDoublePrecisionEqualsPyTorch) {
  const std::string name = std::string(GetParam().name) + "_float64";
  expect_near(attended<double>(name, GetParam().causal), fixture().numbers<double>(name + ".out"), 1e-13);
}

// A single query is the last, so it sees every key, causal or not.
INSTANTIATE_TEST_SUITE_P(PyTorch, Attention,
                         ::testing::Values(Case{"causal", true}, Case{"full", false}, Case{"decode", true}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace rotary::testing
