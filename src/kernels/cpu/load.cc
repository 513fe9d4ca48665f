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

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_SCALABLE
using Part = hn::FixedTag<float, 4>;
#else
using Part = hn::CappedTag<float, norm_sums>;
#endif
/// Lanes of a vector, and vectors that hold the sums.
inline constexpr std::int64_t width = hn::MaxLanes(Part());
inline constexpr int parts = static_cast<int>(norm_sums / width);
using Vector = hn::Vec<Part>;

/// The lanes of a vector in halves, until one is left.
#if HWY_HAVE_SCALABLE
HWY_INLINE float sum_of_lanes(Part d, Vector v) {
  // There the halves would be those of the whole vector, not of the part that is in use.
  HWY_ALIGN float lanes[width];
  hn::Store(v, d, lanes);
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}
#else
template <class D>
HWY_INLINE float sum_of_lanes(D /*tag*/, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<D> half;
    return sum_of_lanes(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}
#endif

template <class Element>
HWY_INLINE void widen(const Element* in, float* to, std::int64_t lanes) {
  const Part d;
  const hn::CappedTag<float, 1> one;
  std::int64_t i = 0;
  for (; i + width <= lanes; i += width) hn::StoreU(load(d, in + i), d, to + i);
  for (; i < lanes; ++i) hn::StoreU(load(one, in + i), one, to + i);
}

template <class Element>
HWY_INLINE float sum_of_squares(const Element* in, std::int64_t lanes) {
  const Part d;
  Vector a = hn::Zero(d), b = a, c = a, e = a;  // the first `parts` of them
  const auto add = [&](Vector& sum, std::int64_t at) HWY_ATTR {
    const auto x = load(d, in + at);
    sum = hn::MulAdd(x, x, sum);
  };
  std::int64_t i = 0;
  for (; i + norm_sums <= lanes; i += norm_sums) {
    add(a, i);
    if constexpr (parts >= 2) add(b, i + width);
    if constexpr (parts == 4) {
      add(c, i + 2 * width);
      add(e, i + 3 * width);
    }
  }
  if (HWY_UNLIKELY(i < lanes)) {
    const hn::CappedTag<float, 1> one;
    HWY_ALIGN float sums[norm_sums];
    hn::Store(a, d, sums);
    if constexpr (parts >= 2) hn::Store(b, d, sums + width);
    if constexpr (parts == 4) {
      hn::Store(c, d, sums + 2 * width);
      hn::Store(e, d, sums + 3 * width);
    }
    for (float* sum = sums; i < lanes; ++i, ++sum) {
      const auto x = load(one, in + i);
      hn::StoreU(hn::MulAdd(x, x, hn::LoadU(one, sum)), one, sum);
    }
    a = hn::Load(d, sums);
    if constexpr (parts >= 2) b = hn::Load(d, sums + width);
    if constexpr (parts == 4) {
      c = hn::Load(d, sums + 2 * width);
      e = hn::Load(d, sums + 3 * width);
    }
  }
  if constexpr (parts == 4) {
    a = hn::Add(a, c);
    b = hn::Add(b, e);
  }
  if constexpr (parts >= 2) a = hn::Add(a, b);
  return sum_of_lanes(d, a);
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
    const auto size = hn::Set(d, static_cast<float>(lanes)), epsilon = hn::Set(d, args_.epsilon);
    for (int i = 0; i < count_; i += static_cast<int>(width)) {
      const auto root = hn::Sqrt(hn::Add(hn::Div(hn::Load(d, sums_ + i), size), epsilon));
      hn::Store(hn::Div(hn::Set(d, 1.0f), root), d, sums_ + i);
    }
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
  static constexpr int most = 16;  // of 128 floats each, a quarter of a first-level cache
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
