// SPDX-License-Identifier: Apache-2.0
// For targets without a fused multiply-add (SSE): its bits by other operations. Slower than the fused one by far,
// and faster by far than the C library's, which is what rotate_scalar() would have there.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/turn_unfused.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <cstdint>

#if !HWY_NATIVE_FMA

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// a b + c, rounded once. The product is exact in double. The sum there is rounded to odd: where it is inexact, towards
/// zero and with the last bit set, so that rounding it to float falls as rounding the exact sum would.
template <class D, class Floats = hn::Rebind<float, D>>
HWY_INLINE hn::Vec<Floats> fused(D d, hn::Vec<Floats> a, hn::Vec<Floats> b, hn::Vec<Floats> c) {
  const hn::RebindToSigned<D> bits;
  const auto product = hn::Mul(hn::PromoteTo(d, a), hn::PromoteTo(d, b)), other = hn::PromoteTo(d, c);
  const auto sum = hn::Add(product, other), part = hn::Sub(sum, product);
  const auto error = hn::Add(hn::Sub(product, hn::Sub(sum, part)), hn::Sub(other, part));
  const auto zero = hn::Zero(d);
  // Not of infinities and NaNs, whose error is a NaN.
  const auto inexact = hn::VecFromMask(d, hn::Or(hn::Lt(error, zero), hn::Gt(error, zero)));
  const auto nearest = hn::BitCast(bits, sum), one = hn::Set(bits, 1);
  const auto even = hn::Sub(hn::And(nearest, one), one);  // all ones, or zero
  const auto apart = hn::BroadcastSignBit(hn::Xor(nearest, hn::BitCast(bits, error)));
  const auto step = hn::And(hn::And(hn::Or(apart, one), even), hn::BitCast(bits, inexact));
  return hn::DemoteTo(Floats(), hn::BitCast(d, hn::Add(nearest, step)));
}

/// Pairs from i on in vectors of d. Where they end.
template <class D>
HWY_INLINE std::int64_t turn_from(D d, const float* cos, const float* sin, bool conjugate, std::int64_t pairs,
                                  float* x, float* y, std::int64_t i) {
  const hn::Rebind<float, D> floats;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto sign = hn::Set(floats, conjugate ? -1.0f : 1.0f);
  for (; i + lanes <= pairs; i += lanes) {
    const auto a = hn::LoadU(floats, x + i), b = hn::LoadU(floats, y + i), c = hn::LoadU(floats, cos + i);
    const auto s = hn::Mul(hn::LoadU(floats, sin + i), sign);
    hn::StoreU(fused(d, a, c, hn::Neg(hn::Mul(b, s))), floats, x + i);
    hn::StoreU(fused(d, b, c, hn::Mul(a, s)), floats, y + i);
  }
  return i;
}

void turn_unfused(const float* cos, const float* sin, bool conjugate, std::int64_t pairs, float* x,
                  float* y) noexcept {
  const std::int64_t i = turn_from(hn::ScalableTag<double>(), cos, sin, conjugate, pairs, x, y, 0);
  turn_from(hn::CappedTag<double, 1>(), cos, sin, conjugate, pairs, x, y, i);
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
