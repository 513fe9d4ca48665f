// SPDX-License-Identifier: Apache-2.0
// Every refusal, with its sentence.
#include <gtest/gtest.h>

#include <limits>
#include <rotary/executors/thread_pool.hpp>
#include <rotary/kernels.hpp>
#include <rotary/rope.hpp>
#include <vector>

#include "support/status_matchers.hpp"

namespace rotary {
namespace {

constexpr auto invalid = StatusCode::invalid_argument;

Spectrum spectrum_of(std::int64_t rotary_dim, double base = 10000) {
  return Spectrum::make({.rotary_dim = rotary_dim, .base = base}).value();
}
Rope rope_of(std::int64_t rotary_dim, double base = 10000) {
  return Rope::make({.spectrum = spectrum_of(rotary_dim, base)}).value();
}

TEST(RopeMake, RefusesAWindowThatLeavesTheHead) {
  const auto make = [](std::int64_t rotary_dim, std::int64_t head_dim, std::int64_t offset) {
    return Rope::make({.spectrum = spectrum_of(rotary_dim), .head_dim = head_dim, .rotary_offset = offset});
  };
  EXPECT_FAILS(make(64, 32, 0), invalid, "rotary_dim 64 at rotary_offset 0: must end within head_dim 32");
  EXPECT_FAILS(make(64, 96, 33), invalid, "rotary_dim 64 at rotary_offset 33: must end within head_dim 96");
  EXPECT_FAILS(make(64, 96, -1), invalid, "rotary_offset -1: must not be negative");
  EXPECT_FAILS(make(64, -1, 0), invalid, "head_dim -1: must not be negative");
  EXPECT_FAILS(make(64, 0, std::numeric_limits<std::int64_t>::max()), invalid, "head_dim must be given");
  EXPECT_EQ(make(64, 192, 128).value().head_dim(), 192);
  EXPECT_EQ(make(64, 0, 128).value().head_dim(), 192);
  EXPECT_SUCCEEDS(make(64, 65, 0));
}

TEST(RopeMake, AForgottenSpectrumIsNoRopeThatTurnsNothing) {
  EXPECT_FAILS(Rope::make({.head_dim = 128}), invalid, "spectrum: none given");
  EXPECT_FAILS(Spectrum::make({.base = 500000}), invalid, "rotary_dim: not given");
  EXPECT_EQ(Rope::make({.spectrum = spectrum_of(0), .head_dim = 128}).value().rotary_dim(), 0);
}

TEST(RopeMake, GgmlNeedsABaseAndTableItsTable) {
  const double inv_freq[] = {1.0};
  const auto spectrum = Spectrum::from_inv_freq(inv_freq).value();
  EXPECT_FALSE(Rope::make({.spectrum = spectrum, .policy = AnglePolicy::ggml}).ok());
  EXPECT_FALSE(Rope::make({.spectrum = spectrum, .policy = AnglePolicy::table}).ok());
}

TEST(RopeMake, RefusesNumbersCastToEnumerations) {
  const auto spectrum = Spectrum::make({.rotary_dim = 8}).value();
  EXPECT_FAILS(Rope::make({.spectrum = spectrum, .pairing = static_cast<Pairing>(9)}), invalid,
               "pairing unknown");
  EXPECT_FAILS(Rope::make({.spectrum = spectrum, .direction = static_cast<Direction>(9)}), invalid,
               "direction unknown");
  HeadsShape shape = HeadsShape::contiguous(Layout::thd, static_cast<DType>(200), 1, 2, 1, 8);
  EXPECT_FAILS(rope_of(8).plan(shape), invalid, "q: dtype unknown, expected f64");
}

TEST(Plan, NamesTheOperandAndBothNumbers) {
  const Rope rope = rope_of(128);
  const auto q = HeadsShape::contiguous(Layout::bthd, DType::f32, 2, 7, 32, 128);
  auto k = HeadsShape::contiguous(Layout::bthd, DType::f32, 2, 7, 8, 128);
  EXPECT_SUCCEEDS(rope.plan(q, k));
  k.head_dim = 64;
  EXPECT_FAILS(rope.plan(q, k), invalid, "k: head_dim 64, expected 128");
  k = HeadsShape::contiguous(Layout::bthd, DType::f32, 2, 8, 8, 128);
  EXPECT_EQ(rope.plan(q, k).status().message(),
            "k: f32 with batch 2 and tokens 8, expected f32 with batch 2 and tokens 7 as q");
  // [2, 32, 7, 128] and [2, 8, 7, 128], read as bthd.
  const auto heads_first = HeadsShape::contiguous(Layout::bthd, DType::f32, 2, 32, 7, 128);
  k = HeadsShape::contiguous(Layout::bthd, DType::f32, 2, 8, 7, 128);
  EXPECT_FAILS(
      rope.plan(heads_first, k), invalid,
      "tokens 8, expected f32 with batch 2 and tokens 32 as q; are tokens and heads swapped (bthd, bhtd)?");
  k = HeadsShape::contiguous(Layout::bthd, DType::f16, 2, 7, 8, 128);
  EXPECT_FAILS(rope.plan(q, k), invalid, "k: f16 with batch 2");
  auto wrong = q;
  wrong.dtype = DType::i32;
  EXPECT_FAILS(rope.plan(wrong), invalid, "q: dtype i32, expected f64, f32, f16 or bf16");
  wrong = q;
  wrong.heads = -1;
  EXPECT_FAILS(rope.plan(wrong), invalid, "q: batch 2, tokens 7, heads -1: none may be negative");
  auto out = q;
  out.heads = 31;
  EXPECT_FAILS(
      rope.plan({q, out}), invalid,
      "q: output of f32 with batch 2, tokens 7, heads 31, expected batch 2, tokens 7, heads 32 as the input");
}

TEST(Plan, RefusesStridesThatOverflowOrOverlap) {
  const Rope rope = rope_of(128);
  auto shape = HeadsShape::contiguous(Layout::bthd, DType::f32, 2, 7, 32, 128);
  shape.batch_stride = std::numeric_limits<std::int64_t>::max();
  EXPECT_FAILS(rope.plan(shape), invalid, "reach beyond 2^63 bytes");
  shape.batch_stride = std::numeric_limits<std::int64_t>::min();
  EXPECT_FAILS(rope.plan(shape), invalid, "reach beyond 2^63 bytes");
  shape = HeadsShape::contiguous(Layout::bthd, DType::f32, std::int64_t{1} << 40, 1 << 20, 32, 128);
  EXPECT_FAILS(rope.plan(shape), invalid, "reach beyond 2^63 bytes");
  shape = HeadsShape::contiguous(Layout::bthd, DType::f32, 2, 7, 32, 128);
  shape.head_stride = 0;
  EXPECT_FAILS(rope.plan(shape), invalid, "q: output strides (batch 28672, token 4096, head 0, lane 1)");
  // A broadcast input is fine as long as the output is not.
  EXPECT_SUCCEEDS(rope.plan({shape, HeadsShape::contiguous(Layout::bthd, DType::f32, 2, 7, 32, 128)}));
}

TEST(Plan, ForcesAKernelByNameOrSaysWhyNot) {
  const Rope rope = rope_of(128);
  const auto q = HeadsShape::contiguous(Layout::thd, DType::f32, 1, 7, 32, 128);
  EXPECT_FAILS(rope.plan(q, {.kernel = "warp9"}), invalid, "kernel warp9: this build has ");
  for (const KernelVerdict& kernel : kernels()) {
    const auto plan = rope.plan(q, {.kernel = kernel.name});
    if (kernel.accepted) {
      EXPECT_EQ(plan.value().kernel(), kernel.name);
    } else {
      EXPECT_FAILS(plan, StatusCode::unsupported, kernel.reason);
    }
  }
  EXPECT_EQ(kernels().back().name, "reference");
}

TEST(Plan, ExplainsThePassedOverKernels) {
  const Rope rope = rope_of(8);
  auto shape = HeadsShape::contiguous(Layout::thd, DType::f32, 1, 7, 2, 8);
  shape.lane_stride = 2;
  shape.head_stride = 16;
  shape.token_stride = 32;
  std::string_view first;
  for (const KernelVerdict& kernel : explain_kernels(rope, shape)) {
    EXPECT_EQ(kernel.accepted, kernel.reason.empty()) << kernel.name;
    if (kernel.accepted && first.empty()) first = kernel.name;
  }
  EXPECT_EQ(rope.plan(shape).value().kernel(), first);
}

TEST(Plan, ShapesWhoseLanesNoIntegerCounts) {
  ThreadPool pool(2);
  const auto big = std::int64_t{1} << 40;
  auto q = HeadsShape::contiguous(Layout::bthd, DType::f32, big, big, 0, 128);
  EXPECT_SUCCEEDS(rope_of(128).plan(q, {.executor = &pool}));
  q = HeadsShape::contiguous(Layout::bthd, DType::f32, 1, std::int64_t{1} << 30, (1 << 24) - 1, 128);
  EXPECT_SUCCEEDS(rope_of(128).plan(q, {.executor = &pool}));
}

TEST(Run, RefusesAnglesOfAnotherRope) {
  const Rope local = rope_of(8, 10000), global = rope_of(8, 1000000), same = rope_of(8, 10000);
  const auto angles = local.angles(Positions::range(0, 4)).value();
  std::vector<float> x(4 * 8);
  EXPECT_FAILS(global.rotate(angles, thd(x.data(), 4, 1, 8)), invalid,
               "angles of another rope: pair 1 turns 0.1 radians a position, expected this rope's 0.03162");
  EXPECT_SUCCEEDS(same.rotate(angles, thd(x.data(), 4, 1, 8)));
  const Rope fp32 = Rope::make({.spectrum = spectrum_of(8), .policy = AnglePolicy::fp32}).value();
  EXPECT_FAILS(fp32.rotate(angles, thd(x.data(), 4, 1, 8)), invalid,
               "policy exact and 4 pairs, expected this rope's fp32 and 4 pairs");
  const auto stretched = [](double a) {
    const Spectrum s =
        Spectrum::make({.rotary_dim = 8, .scaling = scaling::Yarn{.factor = 4, .attention_factor = a}})
            .value();
    return Rope::make({.spectrum = s}).value();
  };
  EXPECT_FAILS(
      stretched(1).rotate(stretched(1.25).angles(Positions::range(0, 4)).value(), thd(x.data(), 4, 1, 8)),
      invalid, "angles of another rope: A is 1.25, expected this rope's 1");
}

TEST(Run, RefusesTooFewRows) {
  const Rope rope = rope_of(8);
  std::vector<float> x(6 * 8);
  const auto angles = rope.angles(Positions::range(0, 4)).value();
  EXPECT_FAILS(rope.rotate(angles, thd(x.data(), 5, 1, 8)), invalid, "angles have 4 tokens, q has 5");
  EXPECT_SUCCEEDS(rope.rotate(angles, thd(x.data(), 3, 1, 8)));
  const std::int64_t first[] = {0, 5};
  const auto two = rope.angles(Positions::offsets(first, 2).value()).value();
  EXPECT_FAILS(rope.rotate(two, bthd(x.data(), 3, 2, 1, 8)), invalid,
               "angles have 2 batch rows, expected 1 or q's 3");
}

TEST(Run, RefusesOverlapsAndNullPointersBeforeWriting) {
  const Rope rope = rope_of(8);
  const auto angles = rope.angles(Positions::range(700, 702)).value();
  std::vector<float> x(100, 1.0f);
  const auto untouched = x;
  EXPECT_FAILS(rope.rotate(angles, {thd(x.data(), 2, 1, 8), thd(x.data() + 1, 2, 1, 8)}), invalid,
               "q: output overlaps the input without being the same view");
  EXPECT_FAILS(rope.rotate(angles, {thd(x.data(), 2, 1, 8), thd(x.data(), 2, 1, 8).with_token_stride(9)}),
               invalid, "q: output overlaps the input");
  EXPECT_FAILS(rope.rotate(angles, thd(x.data(), 2, 1, 8), thd(x.data() + 15, 2, 1, 8)), invalid,
               "q and k overlap");
  EXPECT_FAILS(rope.rotate(angles, thd<float>(nullptr, 2, 1, 8)), invalid, "q: null pointer");
  Heads askew = thd(x.data(), 2, 1, 8);
  askew.data = reinterpret_cast<char*>(x.data()) + 2;
  EXPECT_FAILS(rope.rotate(angles, thd(x.data() + 50, 2, 1, 8), askew), invalid,
               "k: pointer is not a multiple of the 4 bytes of f32");
  EXPECT_EQ(x, untouched);
}

TEST(Run, AKeptPlanRefusesOtherShapes) {
  const Rope rope = rope_of(8);
  const auto angles = rope.angles(Positions::range(0, 4)).value();
  std::vector<float> x(4 * 8), y(4 * 8);
  const Heads q = thd(x.data(), 4, 1, 8), k = thd(y.data(), 4, 1, 8);
  const auto plan = rope.plan(q.shape).value();
  EXPECT_SUCCEEDS(plan.run(angles, q));
  EXPECT_FAILS(plan.run(angles, thd(x.data(), 2, 1, 8)), invalid, "q: shape or strides differ");
  EXPECT_FAILS(plan.run(angles, q, k), invalid, "k: the plan was made without it");
  EXPECT_FAILS(rope.plan(q.shape, k.shape).value().run(angles, q), invalid, "k: shape or strides differ");
}

}  // namespace
}  // namespace rotary
