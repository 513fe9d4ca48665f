// SPDX-License-Identifier: Apache-2.0
// Included by load.cc and fuse.cc after convert-inl.h, once for each target.
//
// The sum of the squares of a head, in the order of additions that every target has.
#include <hwy/highway.h>

#include <cstdint>

#include "kernels/stage_args.hpp"

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

/// What the heads of so many lanes are multiplied by: 1 / sqrt(mean + epsilon), in place of their sums. There are
/// norm_sums of them at most, in aligned memory.
HWY_INLINE void norms_of_sums(float* sums, int count, std::int64_t lanes, float epsilon) {
  const hn::CappedTag<float, 4> d;  // of more the processor makes as many divisions
  const auto size = hn::Set(d, static_cast<float>(lanes)), added = hn::Set(d, epsilon);
  for (int i = 0; i < count; i += static_cast<int>(hn::Lanes(d))) {
    const auto root = hn::Sqrt(hn::Add(hn::Div(hn::Load(d, sums + i), size), added));
    hn::Store(hn::Div(hn::Set(d, 1.0f), root), d, sums + i);
  }
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
