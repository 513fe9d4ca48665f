// SPDX-License-Identifier: Apache-2.0
// Laws of attention with the rotation inside, for f32 and f64.
#include <rotary/attention.hpp>

#include "support.hpp"

namespace rotary::testing {
namespace {

struct Work {
  Rope rope = draw_rope({.policies = {AnglePolicy::exact}, .max_pairs = 16});
  DType dtype = draw_one<DType>("dtype", {DType::f32, DType::f64});
  std::int64_t batch = draw("batch", 1, 2), kv_heads = draw("kv_heads", 1, 2);
  std::int64_t heads = kv_heads * draw("group", 1, 3);
  std::int64_t q_tokens = draw("q tokens", 1, 5), k_tokens = draw("k tokens", 1, 9),
               width = draw("width of v", 1, 9);
  std::uint64_t seed = draw_seed();
  Tensor q = random_tensor(draw_strides(dense(dtype, batch, q_tokens, heads, rope.head_dim())), seed);
  Tensor k = random_tensor(draw_strides(dense(dtype, batch, k_tokens, kv_heads, rope.head_dim())), seed + 1);
  Tensor v = random_tensor(draw_strides(dense(dtype, batch, k_tokens, kv_heads, width)), seed + 2);
  Tensor out{draw_strides(dense(dtype, batch, q_tokens, heads, width))};

  Tensor attended(const AttentionOptions& options = {}) const {
    Tensor result = out;
    check(attend(rope, q.heads(), k.heads(), v.heads(), result.heads(), options));
    RC_ASSERT(guards_untouched(out, result));
    return result;
  }
  /// v is around 1; a score moves by a few roundoffs of |q'| |k'|, which a softmax passes on to the output.
  double allowed() const {
    const double a = rope.spectrum().attention_factor();
    return 64 * unit_roundoff(dtype) * static_cast<double>(rope.head_dim()) * std::max(1.0, a * a);
  }
};

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for_each_head(a.shape, [&](HeadIndex h) {
    for (std::int64_t lane = 0; lane < a.shape.head_dim; ++lane) {
      largest = std::max(largest, std::abs(a.get(h, lane) - b.get(h, lane)));
    }
  });
  return largest;
}

RC_GTEST_PROP(Attention, DependsOnDistancesAlone, ()) {
  const Work work;
  const bool causal = draw_chance("causal", 50);
  const std::int64_t shift = *position(std::int64_t{1} << 30).as("shift");
  const std::int64_t first = *position(std::int64_t{1} << 30).as("first key");
  const auto at = [&](std::int64_t k_first) {
    const std::int64_t end = k_first + work.k_tokens;
    return work.attended({.causal = causal,
                          .q_positions = Positions::range(end - work.q_tokens, end),
                          .k_positions = Positions::range(k_first, end)});
  };
  RC_ASSERT(largest_difference(at(first), at(first + shift)) <= work.allowed());
}

RC_GTEST_PROP(Attention, WeightsSumToOne, ()) {
  Work work;
  for_each_head(work.v.shape, [&](HeadIndex h) {
    for (std::int64_t lane = 0; lane < work.width; ++lane) work.v.set(h, lane, 1 + static_cast<double>(lane));
  });
  const Tensor out = work.attended();
  for_each_head(out.shape, [&](HeadIndex h) {
    for (std::int64_t lane = 0; lane < work.width; ++lane) {
      const double expected = 1 + static_cast<double>(lane);
      RC_ASSERT(std::abs(out.get(h, lane) - expected) <= 32 * 0x1p-53 * expected);
    }
  });
}

RC_GTEST_PROP(Attention, CausalIsTheSameAsKeysThatDoNotExistYet, ()) {
  const Work work;
  RC_PRE(work.q_tokens <= work.k_tokens);
  const Tensor all = work.attended({.causal = true});
  for (std::int64_t t = 0; t < work.q_tokens; ++t) {  // one query at a time, as decoding does
    const std::int64_t seen = work.k_tokens - work.q_tokens + t + 1;
    const Tensor q = cut_tokens(work.q, t, t + 1), k = cut_tokens(work.k, 0, seen),
                 v = cut_tokens(work.v, 0, seen);
    Tensor out(dense(work.dtype, work.batch, 1, work.heads, work.width));
    check(attend(work.rope, q.heads(), k.heads(), v.heads(), out.heads()));
    RC_ASSERT(same_bits(out, cut_tokens(all, t, t + 1)));
  }
}

}  // namespace
}  // namespace rotary::testing
