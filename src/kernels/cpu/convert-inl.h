// SPDX-License-Identifier: Apache-2.0
// Memory to registers and back for each element type: widen to the type of the arithmetic, round once and
// narrow. bf16 is rounded in integers, since Highway before 1.1 truncates. f16 goes through the processor,
// which every target with a fused multiply-add has and which rounds to nearest even.
#if defined(ROTARY_KERNELS_CPU_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_CPU_CONVERT_INL_H_
#undef ROTARY_KERNELS_CPU_CONVERT_INL_H_
#else
#define ROTARY_KERNELS_CPU_CONVERT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <rotary/dtype.hpp>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The type that an element is computed in.
template <class Element>
using Wide = std::conditional_t<std::is_same_v<Element, double>, double, float>;

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* from) {
  return hn::LoadU(d, from);
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const f16* from) {
  const hn::Rebind<hwy::float16_t, D> narrow;
  return hn::PromoteTo(d, hn::LoadU(narrow, reinterpret_cast<const hwy::float16_t*>(from)));
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const bf16* from) {
  const hn::Rebind<std::uint32_t, D> bits;
  const hn::Rebind<std::uint16_t, D> narrow;
  const auto halves = hn::LoadU(narrow, reinterpret_cast<const std::uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, halves)));
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, hn::TFromD<D>* to) {
  hn::StoreU(value, d, to);
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, f16* to) {
  const hn::Rebind<hwy::float16_t, D> narrow;
  const hn::Rebind<std::uint32_t, D> bits;
  // A NaN that narrows to 0x7E00, so that its payload does not depend on the target.
  const auto nan = hn::BitCast(d, hn::Set(bits, 0x7FC00000u));
  const auto kept = hn::IfThenElse(hn::IsNaN(value), nan, value);
  hn::StoreU(hn::DemoteTo(narrow, kept), narrow, reinterpret_cast<hwy::float16_t*>(to));
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, bf16* to) {
  const hn::Rebind<std::uint32_t, D> bits;
  const hn::Rebind<std::uint16_t, D> narrow;
  const auto exact = hn::BitCast(bits, value);
  // Adding 0x7FFF, plus one more if the kept last bit is odd, rounds to nearest even.
  const auto odd = hn::And(hn::ShiftRight<16>(exact), hn::Set(bits, 1u));
  const auto rounded = hn::Add(hn::Add(exact, hn::Set(bits, 0x7FFFu)), odd);
  const auto kept =
      hn::IfThenElse(hn::RebindMask(bits, hn::IsNaN(value)), hn::Set(bits, 0x7FC00000u), rounded);
  hn::StoreU(hn::TruncateTo(narrow, hn::ShiftRight<16>(kept)), narrow, reinterpret_cast<std::uint16_t*>(to));
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
