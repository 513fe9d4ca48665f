// SPDX-License-Identifier: Apache-2.0
// What a fused call refuses, and that in place, views of one packed tensor, threads, no tokens and no memory are as in
// any other.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <rotary/executors/thread_pool.hpp>
#include <rotary/rope.hpp>
#include <rotary/store.hpp>

#include "support/allocations.hpp"
#include "support/status_matchers.hpp"
#include "support/tensor.hpp"

namespace rotary::testing {
namespace {

constexpr auto invalid = StatusCode::invalid_argument;

struct Fixture {
  Rope rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = 64}).value(), .head_dim = 64}).value();
  Angles angles = rope.angles(Positions::range(700, 740)).value();
  Tensor q = random_tensor(dense(DType::bf16, 1, 40, 8, 64), 1),
         k = random_tensor(dense(DType::bf16, 1, 40, 2, 64), 2);
  Tensor cache = Tensor(dense(DType::f8_e4m3, 1, 40, 2, 64));
  std::vector<float> weight = std::vector<float>(64, 0.75f);
  RmsNorm norm = RmsNorm(weight.data(), 1e-6f);
};

TEST(Operand, OptionsOutOfRangeSayWhatIsExpected) {
  Fixture f;
  const auto fails = [&](const OperandOptions& options, const std::string& message) {
    const Tensor before = f.q;
    EXPECT_FAILS(f.rope.rotate(f.angles, {f.q.heads(), f.q.heads(), options}), invalid, message);
    EXPECT_EQ(f.q.memory, before.memory);
    EXPECT_FAILS(f.rope.rotate(f.angles, f.q.heads(), {f.k.heads(), f.k.heads(), options}), invalid,
                 "k" + message.substr(1).substr(
                           0, message.find(" 8 heads") == std::string::npos ? message.size() : 3));
  };
  fails({.scale = NAN}, "q: scale nan, expected a finite number");
  fails({.scale = INFINITY}, "q: scale inf, expected a finite number");
  const float three[] = {1, 2, 3};
  fails({.head_scales = three}, "q: 3 head_scales, expected one for each of 8 heads");
  fails({.scale = 2, .head_scales = three}, "q: scale 2 and head_scales, expected one of them");
  fails({.norm = RmsNorm(f.weight.data(), -1)}, "q: norm: epsilon -1, expected a finite number, 0 or more");
  fails({.norm = RmsNorm(f.weight.data(), NAN)}, "q: norm: epsilon nan, expected");
  fails({.norm = RmsNorm(static_cast<const float*>(nullptr), 0)},
        "q: norm: null weight; RmsNorm::without_weight has none");
  fails({.norm = RmsNorm(f.weight.data(), DType::i8, 0)}, "q: norm: weight of i8, expected f32, f16 or bf16");
  fails({.norm = RmsNorm(f.weight.data(), DType::f64, 0)},
        "q: norm: weight of f64, expected f32, f16 or bf16");
  const auto* odd = reinterpret_cast<const std::byte*>(f.weight.data()) + 1;
  fails({.norm = RmsNorm(odd, DType::f32, 0)}, "q: norm: weight is not a multiple of the 4 bytes of f32");
  fails({.norm = f.norm, .overflow = static_cast<Overflow>(9)}, "q: overflow: must be one of the library's");
  OperandOptions options{.norm = f.norm};
  options.norm->plus = static_cast<RmsNorm::Weight>(7);
  fails(options, "q: norm: as_given or one_plus_weight");
  EXPECT_FAILS(
      f.rope.rotate(f.angles, {f.q.heads(), f.q.heads(), {.norm = RmsNorm(f.q.data(), DType::bf16, 0)}}),
      invalid, "q: norm: output overlaps the weight");
  options.norm = RmsNorm::without_weight(0);
  options.norm->plus = static_cast<RmsNorm::Weight>(2);
  fails(options, "q: norm: as_given or one_plus_weight");
  fails({.overflow = static_cast<Overflow>(2)}, "q: overflow: must be one of the library's");
  EXPECT_FAILS(rotary::store({f.k.heads(), f.cache.heads(), {.overflow = static_cast<Overflow>(255)}}),
               invalid, "x: overflow: must be one of the library's");
  for (const float wrong : {NAN, INFINITY, -INFINITY}) {
    const float scales[] = {1, wrong};
    EXPECT_FAILS(rotary::store({f.k.heads(), f.cache.heads(), {.head_scales = scales}}), invalid,
                 "x: head_scales[1] " +
                     std::string(wrong > 0   ? "inf"
                                 : wrong < 0 ? "-inf"
                                             : "nan") +
                     ", expected a finite number");
  }
}

/// Weights and scales are read while outputs are written: neither output may hold either.
TEST(Operand, NoOutputOverwritesWhatAHeadIsNormedOrScaledBy) {
  Fixture f;
  Tensor q = random_tensor(dense(DType::f32, 1, 40, 8, 64), 1);
  Tensor k = random_tensor(dense(DType::f32, 1, 40, 2, 64), 2);
  const Tensor q_before = q, k_before = k;
  const auto scales_in = [](Tensor& x, std::size_t heads) {
    return std::span<const float>(reinterpret_cast<const float*>(x.at({0, 39, 0}, 63)), heads);
  };
  const auto norm_in = [](Tensor& x) { return RmsNorm(x.at({0, 39, 1}, 0), DType::f32, 0); };
  const auto fails = [&](const OperandOptions& of_q, const OperandOptions& of_k, const std::string& message) {
    EXPECT_FAILS(f.rope.rotate(f.angles, {q.heads(), q.heads(), of_q}, {k.heads(), k.heads(), of_k}), invalid,
                 message);
    EXPECT_TRUE(q.memory == q_before.memory && k.memory == k_before.memory);
  };
  fails({.norm = norm_in(q)}, {}, "q: norm: output overlaps the weight");
  fails({.norm = norm_in(k)}, {}, "q: norm: output of k overlaps the weight");
  fails({}, {.norm = norm_in(k)}, "k: norm: output overlaps the weight");
  fails({}, {.norm = norm_in(q)}, "k: norm: output of q overlaps the weight");
  fails({.head_scales = scales_in(q, 8)}, {}, "q: head_scales: output overlaps them");
  fails({.head_scales = scales_in(k, 8)}, {}, "q: head_scales: output of k overlaps them");
  fails({}, {.head_scales = scales_in(k, 2)}, "k: head_scales: output overlaps them");
  fails({}, {.head_scales = scales_in(q, 2)}, "k: head_scales: output of q overlaps them");
  EXPECT_FAILS(rotary::store({k.heads(), k.heads(), {.head_scales = scales_in(k, 2)}}), invalid,
               "x: head_scales: output overlaps them");
  // What is only read may hold them, and so may the memory right behind an output.
  Tensor q_out(q.shape), k_out(k.shape);
  EXPECT_SUCCEEDS(f.rope.rotate(f.angles, {q.heads(), q_out.heads(), {.norm = norm_in(k)}},
                                {k.heads(), k_out.heads(), {.head_scales = scales_in(q, 2)}}));
  std::vector<float> row(10, 1);
  EXPECT_SUCCEEDS(rotary::store({thd(row.data(), 1, 2, 4),
                                 thd(row.data(), 1, 2, 4),
                                 {.head_scales = std::span<const float>(row).subspan(8)}}));
}

/// An output whose lanes do not lie one behind the other is no stage, though it has the stage's type.
TEST(Operand, LanesMayRunBackwards) {
  const bf16 in[] = {to_bf16(1), to_bf16(2), to_bf16(3), to_bf16(4)};
  std::vector<float> out(12, -7);
  Heads backwards = thd(out.data() + 5, 1, 1, 4);
  backwards.shape.lane_stride = -1;
  ASSERT_SUCCEEDS(rotary::store({thd(in, 1, 1, 4), backwards}));
  EXPECT_EQ(out, (std::vector<float>{-7, -7, 4, 3, 2, 1, -7, -7, -7, -7, -7, -7}));
  const double wide_in[] = {1, 2, 3};
  std::vector<double> wide(8, -7);
  Heads by_two = thd(wide.data() + 5, 1, 1, 3);
  by_two.shape.lane_stride = -2;
  ASSERT_SUCCEEDS(rotary::store({thd(wide_in, 1, 1, 3), by_two, {.scale = 2}}));
  EXPECT_EQ(wide, (std::vector<double>{-7, 6, -7, 4, -7, 2, -7, -7}));
}

TEST(Operand, NegativeExtentsAreNotStored) {
  const float in[16] = {};
  std::vector<float> out(16, -7);
  const auto fails = [&](std::int64_t HeadsShape::*extent, std::int64_t value, const std::string& message) {
    ConstHeads from = thd(in, 2, 1, 8);
    Heads to = thd(out.data(), 2, 1, 8);
    from.shape.*extent = to.shape.*extent = value;
    EXPECT_FAILS(rotary::store({from, to}), invalid, message);
    EXPECT_FAILS(rotary::store(to), invalid, message);
    to.shape.dtype = DType::i8;
    EXPECT_FAILS(rotary::store({from, to, {.scale = 2}}), invalid, message);
  };
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  fails(&HeadsShape::head_dim, -8, "x: head_dim -8: must not be negative");
  fails(&HeadsShape::head_dim, least, "x: head_dim -9223372036854775808: must not be negative");
  fails(&HeadsShape::heads, -1, "x: batch 1, tokens 2, heads -1: none may be negative");
  fails(&HeadsShape::tokens, -2, "x: batch 1, tokens -2, heads 1: none may be negative");
  fails(&HeadsShape::batch, least, "x: batch -9223372036854775808, tokens 2");
  Heads to = thd(out.data(), 2, 1, 8);
  to.shape.head_dim = -8;
  EXPECT_FAILS(rotary::store({thd(in, 2, 1, 8), to}), invalid, "x: head_dim -8: must not be negative");
  EXPECT_SUCCEEDS(rotary::store({thd(in, 2, 1, 0), thd(out.data(), 2, 1, 0)}));
  EXPECT_EQ(out, std::vector<float>(16, -7));
}

/// One token's heads are the same bytes in bthd and bhtd: only the stride of the one token differs.
TEST(Operand, OneTokenIsInPlaceInEitherLayout) {
  const Rope rope =
      Rope::make({.spectrum = Spectrum::make({.rotary_dim = 2}).value(), .head_dim = 4, .rotary_offset = 1})
          .value();
  const Angles angles = rope.angles(Positions::range(701, 702)).value();
  std::vector<float> x{5, 1, 0, 6, 7, 0, 1, 8};
  ASSERT_SUCCEEDS(rope.rotate(angles, {bthd(x.data(), 1, 1, 2, 4), bhtd(x.data(), 1, 2, 1, 4)}));
  const float want[] = {5, -0.911105414f, -0.412173415f, 6, 7, 0.412173415f, -0.911105414f, 8};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(x[i], want[i]) << i;
  x = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_SUCCEEDS(rotary::store({bthd(x.data(), 1, 1, 2, 4), bhtd(x.data(), 1, 2, 1, 4), {.scale = 2}}));
  EXPECT_EQ(x, (std::vector<float>{2, 4, 6, 8, 10, 12, 14, 16}));
  // Two tokens of two heads are not: the layouts say different orders of the same bytes.
  std::vector<float> two(16, 1);
  EXPECT_FAILS(rotary::store({bthd(two.data(), 1, 2, 2, 4), bhtd(two.data(), 1, 2, 2, 4)}), invalid,
               "x: output overlaps the input without being the same view");
}

TEST(Operand, EightBitsAreOnlyWritten) {
  Fixture f;
  EXPECT_FAILS(f.rope.rotate(f.angles, f.cache.heads()), invalid,
               "q: dtype f8_e4m3, expected f64, f32, f16 or bf16; 8 bits are only written, out of place");
  EXPECT_FAILS(rotary::store(f.cache.heads()), invalid,
               "x: dtype f8_e4m3, expected f64, f32, f16 or bf16; 8 bits");
  Tensor other(dense(DType::i16, 1, 40, 2, 64));
  EXPECT_FAILS(f.rope.rotate(f.angles, {f.k.heads(), other.heads()}), invalid,
               "q: output of i16, expected f64, f32, f16, bf16, f8_e4m3, f8_e5m2 or i8");
  // Cast where it lies: the bytes of q as another type.
  Heads narrow{f.q.data(), dense(DType::f8_e5m2, 1, 40, 8, 64)};
  EXPECT_FAILS(f.rope.rotate(f.angles, {f.q.heads(), narrow}), invalid,
               "q: output overlaps the input without being the same view");
}

TEST(Operand, HostileShapesAreRefused) {
  Fixture f;
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  HeadsShape in = f.k.shape, out = f.cache.shape;
  out.token_stride = most;
  EXPECT_FAILS(f.rope.plan({in, out}), invalid, "reach beyond 2^63 bytes");
  out = f.cache.shape;
  out.tokens = -1;
  EXPECT_FAILS(f.rope.plan({in, out}), invalid,
               "q: output of f8_e4m3 with batch 1, tokens -1, heads 2, expected batch 1, tokens 40, heads 2 "
               "as the input");
  out = f.cache.shape;
  out.head_stride = 0;
  EXPECT_FAILS(f.rope.plan({in, out}), invalid, "make elements overlap");
  out = f.cache.shape;
  out.head_dim = 63;
  EXPECT_FAILS(f.rope.plan({in, out}), invalid, "q: head_dim 63, expected 64");
  const Rope wide =
      Rope::make({.spectrum = Spectrum::make({.rotary_dim = 64}).value(), .head_dim = 4097}).value();
  Tensor x = random_tensor(dense(DType::f32, 1, 1, 1, 4097), 1);
  EXPECT_FAILS(wide.plan({x.shape, dense(DType::f16, 1, 1, 1, 4097)}), invalid,
               "q: head_dim 4097, expected at most 4096 where heads are normed, scaled or cast");
  EXPECT_FAILS(wide.rotate(f.angles, {x.heads(), x.heads(), {.scale = 2}}), invalid,

               "q: head_dim 4097, expected at most 4096");
  EXPECT_FAILS(rotary::store({x.heads(), x.heads(), {.scale = 2}}), invalid,
               "x: head_dim 4097, expected at most 4096");
  EXPECT_SUCCEEDS(rotary::store(x.heads()));
  EXPECT_FAILS(rotary::store({ConstHeads{nullptr, f.k.shape}, f.cache.heads()}), invalid, "x: null pointer");
}

TEST(Operand, NoTokensOrHeadsAreFine) {
  Fixture f;
  for (const HeadsShape& none : {dense(DType::f32, 1, 0, 8, 64), dense(DType::f32, 1, 4, 0, 64)}) {
    Heads nothing{nullptr, none};
    Heads cache{nullptr, none};
    cache.shape.dtype = DType::i8;
    EXPECT_SUCCEEDS(f.rope.rotate(f.angles, {nothing, cache, {.norm = f.norm}}));
    EXPECT_SUCCEEDS(f.rope.rotate(f.angles, {nothing, nothing, {.scale = 2}}, {nothing, cache}));
    EXPECT_SUCCEEDS(rotary::store({nothing, cache}));
  }
  EXPECT_SUCCEEDS(rotary::store(Heads{nullptr, dense(DType::f32, 1, 4, 2, 0)}));
}

TEST(Operand, OnePackedTensorGoesToQAndTwoCaches) {
  Fixture f;
  const std::int64_t heads = 8, kv_heads = 2, width = (heads + 2 * kv_heads) * 64;
  Tensor qkv = random_tensor(dense(DType::bf16, 1, 40, heads + 2 * kv_heads, 64), 3);
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return Heads{qkv.at({0, 0, first}, 0), dense(DType::bf16, 1, 40, count, 64)}.with_token_stride(width);
  };
  const Tensor q_in = cut(qkv, 0, 40, 0, heads), k_in = cut(qkv, 0, 40, heads, kv_heads);
  const Tensor v_in = cut(qkv, 0, 40, heads + kv_heads, kv_heads);
  Tensor q(q_in.shape), k_cache(f.cache.shape), v_cache(f.cache.shape), want_q(q_in.shape),
      want_k(f.cache.shape), want_v(f.cache.shape);
  ASSERT_SUCCEEDS(f.rope.rotate(f.angles, {part(0, heads), q.heads(), {.norm = f.norm, .scale = 0.125f}},
                                {part(heads, kv_heads), k_cache.heads(), {.norm = f.norm}}));
  ASSERT_SUCCEEDS(rotary::store({part(heads + kv_heads, kv_heads), v_cache.heads(), {.scale = 0.5f}}));
  ASSERT_SUCCEEDS(f.rope.rotate(f.angles, {q_in.heads(), want_q.heads(), {.norm = f.norm, .scale = 0.125f}}));
  ASSERT_SUCCEEDS(f.rope.rotate(f.angles, {k_in.heads(), want_k.heads(), {.norm = f.norm}}));
  ASSERT_SUCCEEDS(rotary::store({v_in.heads(), want_v.heads(), {.scale = 0.5f}}));
  EXPECT_TRUE(same_bits(q, want_q));
  EXPECT_EQ(k_cache.memory, want_k.memory);
  EXPECT_EQ(v_cache.memory, want_v.memory);
  for (std::int64_t lane = 0; lane < 64; ++lane) {
    const float value = static_cast<float>(v_in.get({0, 39, 1}, lane)) * 0.5f;
    EXPECT_EQ(static_cast<std::uint8_t>(*v_cache.at({0, 39, 1}, lane)), to_f8_e4m3(value).bits);
  }
}

TEST(Operand, InPlaceEqualsOutOfPlaceAndPlainQBesideAFusedKIsPlain) {
  Fixture f;
  Tensor q = f.q, k = f.k, q_out(f.q.shape), plain = f.q;
  ASSERT_SUCCEEDS(f.rope.rotate(f.angles, {f.q.heads(), q_out.heads(), {.norm = f.norm}}));
  ASSERT_SUCCEEDS(f.rope.rotate(f.angles, {q.heads(), q.heads(), {.norm = f.norm}}));
  EXPECT_TRUE(same_bits(q, q_out));
  Tensor beside = f.q;
  ASSERT_SUCCEEDS(f.rope.rotate(f.angles, plain.heads()));
  ASSERT_SUCCEEDS(f.rope.rotate(f.angles, beside.heads(), {k.heads(), f.cache.heads()}));
  EXPECT_TRUE(same_bits(beside, plain));
  EXPECT_TRUE(same_bits(k, f.k));
}

TEST(Operand, StoreCopiesEveryBitWhereNothingIsAsked) {
  const Tensor x = random_tensor(dense(DType::f32, 2, 3, 2, 40), 9, Values::any);
  Tensor out(HeadsShape::contiguous(Layout::bhtd, DType::f32, 2, 3, 2, 40)), want = out;
  ASSERT_SUCCEEDS(rotary::store({x.heads(), out.heads()}));
  copy_elements(x, want);
  EXPECT_EQ(out.memory, want.memory);
}

/// More heads than the stage takes at once, and more tokens than a task does.
TEST(Operand, ThreadsChangeNoBitAndNothingIsAllocated) {
  Fixture f;
  const auto shape = [](DType dtype) { return dense(dtype, 2, 70, 40, 64); };
  const Tensor x = random_tensor(shape(DType::f32), 4);
  const Angles angles = f.rope.angles(Positions::range(700, 770)).value();
  const OperandOptions options{.norm = f.norm, .scale = 0.3f};
  Tensor one(shape(DType::bf16)), many = one, steps = one, stored(shape(DType::i8)), all = stored;
  ThreadPool pool(3);
  ASSERT_SUCCEEDS(rotary::store({x.heads(), stored.heads(), options}));
  const std::size_t before = allocations();
  Status status = f.rope.rotate(angles, {x.heads(), one.heads(), options});
  status = status.ok() ? rotary::store({x.heads(), stored.heads(), options}) : status;
  EXPECT_EQ(allocations(), before);
  EXPECT_SUCCEEDS(status);
  ASSERT_SUCCEEDS(f.rope.rotate(angles, {x.heads(), many.heads(), options}, {.executor = &pool}));
  ASSERT_SUCCEEDS(rotary::store({x.heads(), all.heads(), options}, {.executor = &pool}));
  EXPECT_EQ(one.memory, many.memory);
  EXPECT_EQ(stored.memory, all.memory);

  Tensor y(shape(DType::f32));
  ASSERT_SUCCEEDS(rotary::store({x.heads(), y.heads(), {.norm = f.norm}}));
  ASSERT_SUCCEEDS(f.rope.rotate(angles, y.heads()));
  ASSERT_SUCCEEDS(rotary::store({y.heads(), steps.heads(), {.scale = 0.3f}}));
  EXPECT_EQ(one.memory, steps.memory);
}

TEST(Operand, APlanIsOfTheShapesAndTheOptionsOfTheCall) {
  Fixture f;
  const auto plan = f.rope.plan({f.q.shape, f.q.shape}, {f.k.shape, f.cache.shape}).value();
  Tensor q = f.q, want = f.q, cache = f.cache;
  EXPECT_SUCCEEDS(plan.run(f.angles, {q.heads(), q.heads(), {.norm = f.norm}}, {f.k.heads(), cache.heads()}));
  ASSERT_SUCCEEDS(f.rope.rotate(f.angles, {want.heads(), want.heads(), {.norm = f.norm}}));
  EXPECT_TRUE(same_bits(q, want));
  EXPECT_FAILS(plan.run(f.angles, q.heads(), f.k.heads()), invalid,
               "k: shape or strides differ from the planned ones");
}

}  // namespace
}  // namespace rotary::testing
