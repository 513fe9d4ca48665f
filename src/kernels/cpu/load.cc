// SPDX-License-Identifier: Apache-2.0
// Heads from memory into the stage, normed on the way where that is asked for.
#include "kernels/reference/stage.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/load.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <cstdint>

#if HWY_NATIVE_FMA

#include "kernels/cpu/convert-inl.h"
#include "kernels/cpu/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Element>
HWY_INLINE void widen(const Element* in, float* to, std::int64_t lanes) {
  const Part d;
  const hn::CappedTag<float, 1> one;
  std::int64_t i = 0;
  for (; i + width <= lanes; i += width) hn::StoreU(load(d, in + i), d, to + i);
  for (; i < lanes; ++i) hn::StoreU(load(one, in + i), one, to + i);
}

/// The lanes from `at` on. There is no weight unless it is weighted.
template <bool weighted, class D, class Element>
HWY_INLINE void scale_lanes(D d, const Element* in, float* to, float r, const float* weight,
                            std::int64_t at) {
  auto y = hn::Mul(load(d, in + at), hn::Set(d, r));
  if constexpr (weighted) y = hn::Mul(y, hn::LoadU(d, weight + at));
  hn::StoreU(y, d, to + at);
}

/// Several heads at once: between the sum of one and its norm lie a root and two quotients, which take as long for
/// one as for all.
template <bool weighted, class Element>
class Norms {
 public:
  HWY_INLINE explicit Norms(const LoadArgs& args) : args_(args) {}

  HWY_INLINE void operator()(const Element* in, float* to) {
    sums_[count_] = sum_of_squares(in, args_.block.head_dim);
    in_[count_] = in;
    to_[count_] = to;
    if (++count_ == most) finish();
  }

  HWY_INLINE void finish() {
    const Part d;
    const hn::CappedTag<float, 1> one;
    const std::int64_t lanes = args_.block.head_dim;
    norms_of_sums(sums_, count_, lanes, args_.epsilon);
    const auto* weight = static_cast<const float*>(args_.weight);
    for (int head = 0; head < count_; ++head) {
      const Element* in = in_[head];
      float* to = to_[head];
      std::int64_t i = 0;
      for (; i + width <= lanes; i += width) scale_lanes<weighted>(d, in, to, sums_[head], weight, i);
      for (; i < lanes; ++i) scale_lanes<weighted>(one, in, to, sums_[head], weight, i);
    }
    count_ = 0;
  }

 private:
  static constexpr int most = norm_sums;  // of 128 floats each, a quarter of a first-level cache
  const LoadArgs& args_;
  int count_ = 0;
  HWY_ALIGN float sums_[most] = {};
  const Element* in_[most];
  float* to_[most];
};

template <class Element, class Use>
HWY_INLINE void for_each_head(const LoadArgs& args, const Use& use) {
  const StageBlock& b = args.block;
  for (std::int64_t token = 0; token < b.tokens; ++token) {
    const Element* in = static_cast<const Element*>(args.in) + token * b.token_stride;
    float* to = static_cast<float*>(args.stage) + token * b.stage_token_stride;
    for (std::int64_t head = 0; head < b.heads; ++head, in += b.head_stride, to += b.stage_head_stride) {
      use(in, to);
    }
  }
}

template <bool weighted, class Element>
HWY_NOINLINE void norm_heads(const LoadArgs& args) {
  Norms<weighted, Element> norms(args);
  for_each_head<Element>(args, [&](const Element* in, float* to) HWY_ATTR { norms(in, to); });
  norms.finish();
}

template <class Element>
HWY_NOINLINE void load_heads(const LoadArgs& args) {
  if (args.norm)
    return args.weight == nullptr ? norm_heads<false, Element>(args) : norm_heads<true, Element>(args);
  for_each_head<Element>(args,
                         [&](const Element* in, float* to) HWY_ATTR { widen(in, to, args.block.head_dim); });
}

void load(const LoadArgs& args) noexcept {
  if (args.block.lane_stride != 1 && args.block.head_dim > 1) return load_scalar(args);
  switch (args.dtype) {
    case DType::f32:
      return load_heads<float>(args);
    case DType::f16:
      return load_heads<f16>(args);
    case DType::bf16:
      return load_heads<bf16>(args);
    default:
      return load_scalar(args);
  }
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
