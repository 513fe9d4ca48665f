// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// Memory to registers and back for each element type: widen to the type of the arithmetic, round once and
// narrow. bf16 is rounded in integers, since Highway before 1.1 truncates. f16 goes through the processor,
// which every target with a fused multiply-add has and which rounds to nearest even.
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

/// Keeps a loaded vector in its register; g++ would rather load it again for every use.
template <class V>
HWY_INLINE V keep(V vector) {
#if HWY_ARCH_X86
  asm("" : "+v"(vector.raw));
#endif
  return vector;
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* from) {
  return keep(hn::LoadU(d, from));
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

/// The bits of `value` with the upper half rounded to nearest even; the lower half is left over.
template <class D, class Bits = hn::Rebind<std::uint32_t, D>>
HWY_INLINE hn::Vec<Bits> round_to_upper_half(D /*tag*/, hn::Vec<D> value) {
  const Bits bits;
  const auto exact = hn::BitCast(bits, value);
  // Adding 0x7FFF, plus one more if the kept last bit is odd, carries where it must.
  const auto odd = hn::And(hn::ShiftRight<16>(exact), hn::Set(bits, 1u));
  const auto rounded = hn::Add(hn::Add(exact, hn::Set(bits, 0x7FFFu)), odd);
  const auto nan = hn::Set(bits, 0x7FC00000u);
  return hn::IfThenElse(hn::RebindMask(bits, hn::IsNaN(value)), nan, rounded);
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, bf16* to) {
  const hn::Rebind<std::uint16_t, D> narrow;
  const auto kept = hn::ShiftRight<16>(round_to_upper_half(d, value));
  hn::StoreU(hn::TruncateTo(narrow, kept), narrow, reinterpret_cast<std::uint16_t*>(to));
}

/// Twice as many bf16 as D has lanes. In words of 32 bits the even ones are the lower halves and the odd ones
/// the upper, so that nothing has to cross lanes.
template <class D>
HWY_INLINE void load_even_odd(D d, const bf16* from, hn::Vec<D>& even, hn::Vec<D>& odd) {
  const hn::Repartition<std::uint16_t, D> narrow;
  const hn::Rebind<std::uint32_t, D> bits;
  const auto words = hn::BitCast(bits, hn::LoadU(narrow, reinterpret_cast<const std::uint16_t*>(from)));
  even = hn::BitCast(d, hn::ShiftLeft<16>(words));
  odd = hn::BitCast(d, hn::And(words, hn::Set(bits, 0xFFFF0000u)));
}

template <class D>
HWY_INLINE void store_even_odd(D d, hn::Vec<D> even, hn::Vec<D> odd, bf16* to) {
  const hn::Repartition<std::uint16_t, D> narrow;
  const hn::Rebind<std::uint32_t, D> bits;
  const auto words = hn::OrAnd(hn::ShiftRight<16>(round_to_upper_half(d, even)), round_to_upper_half(d, odd),
                               hn::Set(bits, 0xFFFF0000u));
  hn::StoreU(hn::BitCast(narrow, words), narrow, reinterpret_cast<std::uint16_t*>(to));
}

#if !HWY_HAVE_SCALABLE
/// The elements that one load brings: a vector, or two (even and odd) for bf16.
template <class D, class Element>
struct Group {
  static constexpr int vectors = std::is_same_v<Element, bf16> ? 2 : 1;
  static constexpr int lanes = vectors * static_cast<int>(hn::MaxLanes(D()));
  hn::Vec<D> v[vectors];
};

template <class D, class Element>
HWY_INLINE Group<D, Element> load_group(D d, const Element* from) {
  Group<D, Element> group;
  if constexpr (Group<D, Element>::vectors == 2) {
    load_even_odd(d, from, group.v[0], group.v[1]);
  } else {
    group.v[0] = load(d, from);
  }
  return group;
}

/// Numbers of a row in the order in which load_group() brings elements.
template <class Element, class D>
HWY_INLINE Group<D, Element> load_numbers(D d, const hn::TFromD<D>* from) {
  Group<D, Element> group;
  if constexpr (Group<D, Element>::vectors == 2) {
    hn::LoadInterleaved2(d, from, group.v[0], group.v[1]);
  } else {
    group.v[0] = hn::LoadU(d, from);
  }
  return group;
}

template <class D, class Element>
HWY_INLINE void store_group(D d, const Group<D, Element>& group, Element* to) {
  if constexpr (Group<D, Element>::vectors == 2) {
    store_even_odd(d, group.v[0], group.v[1], to);
  } else {
    store(d, group.v[0], to);
  }
}
#endif

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
