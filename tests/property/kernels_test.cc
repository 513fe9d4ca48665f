// SPDX-License-Identifier: Apache-2.0
// Every kernel gives the bits that `scalar` defines, and what `reference` computes in double, within a
// rounding.
#include "support.hpp"

namespace rotary::testing {
namespace {

struct Work {
  Rope rope;
  Tensor q, k;
  Angles angles;
  bool in_place;
};

Work draw_work(Values values) {
  const Rope rope = draw_rope({.directions = {Direction::forward, Direction::inverse, Direction::gradient,
                                              Direction::inverse_gradient}});
  const HeadsShape packed = draw_shape(rope);
  const HeadsShape q = draw_strides(packed), k = draw_strides(with_heads(packed, draw("kv_heads", 1, 3)));
  const std::uint64_t seed = draw_seed();
  return {rope, random_tensor(q, seed, values), random_tensor(k, seed + 1, values),
          rope.angles(draw_positions(q.batch, q.tokens)).value(), draw_chance("in place", 50)};
}

struct Outputs {
  Tensor q, k;
};

Outputs run(const Work& work, std::string_view kernel) {
  const RotateOptions options{.kernel = kernel};
  Outputs out{work.q, work.k};
  if (work.in_place) {
    check(work.rope.rotate(work.angles, out.q.heads(), out.k.heads(), options));
  } else {
    out = {Tensor(work.q.shape), Tensor(work.k.shape)};
    check(work.rope.rotate(work.angles, {work.q.heads(), out.q.heads()}, {work.k.heads(), out.k.heads()},
                           options));
  }
  return out;
}

RC_GTEST_PROP(Kernels, EveryFastOneEqualsScalarToTheBit, ()) {
  const Work work = draw_work(Values::any);
  const Outputs expected = run(work, "scalar");
  for_each_kernel(work.rope, work.q.shape, work.k.shape, [&](std::string_view kernel) {
    if (kernel == "reference") return;
    const Outputs out = run(work, kernel);
    RC_ASSERT(same_bits(out.q, expected.q));
    RC_ASSERT(same_bits(out.k, expected.k));
  });
}

void assert_within_a_rounding(const Rope& rope, const Tensor& x, const Tensor& out, const Tensor& reference) {
  const DType dtype = x.shape.dtype;
  const double inner = dtype == DType::f64 ? 0 : 0x1p-24;  // the inner product; in f64 both round it
  const double floor = dtype == DType::f16 ? 0x1p-24 : 0;
  for_each_pair(rope, x.shape, [&](HeadIndex h, PairLanes, PairLanes written, std::int64_t) {
    const double length = std::abs(pair(reference, h, written));
    for (const std::int64_t lane : {written.x, written.y}) {
      const double expected = reference.get(h, lane);
      const double allowed = 2 * unit_roundoff(dtype) * std::abs(expected) + 2 * inner * length + floor;
      RC_ASSERT(std::abs(out.get(h, lane) - expected) <= (dtype == DType::f64 ? 0 : allowed));
    }
  });
}

RC_GTEST_PROP(Kernels, EveryOneEqualsReferenceWithinARounding, ()) {
  const Work work = draw_work(Values::moderate);
  const Outputs reference = run(work, "reference");
  for_each_kernel(work.rope, work.q.shape, work.k.shape, [&](std::string_view kernel) {
    const Outputs out = run(work, kernel);
    assert_within_a_rounding(work.rope, work.q, out.q, reference.q);
    assert_within_a_rounding(work.rope, work.k, out.k, reference.k);
  });
}

// A law proves nothing of a kernel that declined all its work.
TEST(Kernels, EachThatRunsHereTakesDenseWorkOfSomeElementType) {
  const Spectrum spectrum = Spectrum::make({.rotary_dim = 128}).value();
  for (const KernelVerdict& kernel : kernels()) {
    if (!kernel.accepted) continue;
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
      const Rope rope = Rope::make({.spectrum = spectrum, .pairing = pairing}).value();
      int taken = 0;
      for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
        taken += takes(kernel.name, rope, dense(dtype, 1, 2, 3, 128));
      }
      EXPECT_GT(taken, 0) << kernel.name << ' ' << name(pairing);
    }
  }
}

}  // namespace
}  // namespace rotary::testing
