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

/// 32, not the 16 of x86 before AVX-512.
constexpr bool many_registers = !HWY_ARCH_X86 || HWY_MAX_BYTES >= 64;

/// bf16 that whole vectors of are packed by the processor (AVX512-BF16).
struct PackedBf16 {
  std::uint16_t bits;
};
template <class Element>
inline constexpr bool is_bf16 = std::is_same_v<Element, bf16> || std::is_same_v<Element, PackedBf16>;
/// A group of two vectors that come and go in the order of memory; of other bf16 as even and odd elements.
template <class Element>
inline constexpr bool in_order = std::is_same_v<Element, PackedBf16>;

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

template <class D, class Element, std::enable_if_t<is_bf16<Element>>* = nullptr>
HWY_INLINE hn::Vec<D> load(D d, const Element* from) {
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
HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrow_bits(D d, hn::Vec<D> value) {
  const hn::Rebind<hwy::float16_t, D> narrow;
  const hn::Rebind<std::uint32_t, D> bits;
  // A NaN that narrows to 0x7E00, so that its payload does not depend on the target.
  const auto nan = hn::BitCast(d, hn::Set(bits, 0x7FC00000u));
  const auto kept = hn::IfThenElse(hn::IsNaN(value), nan, value);
  return hn::BitCast(hn::Rebind<std::uint16_t, D>(), hn::DemoteTo(narrow, kept));
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, f16* to) {
  hn::StoreU(narrow_bits(d, value), hn::Rebind<std::uint16_t, D>(), reinterpret_cast<std::uint16_t*>(to));
}

/// The bits of `value`, which is no NaN, with the upper half rounded to nearest even; the lower half is left over.
template <class D, class Bits = hn::Rebind<std::uint32_t, D>>
HWY_INLINE hn::Vec<Bits> round_number(D /*tag*/, hn::Vec<D> value) {
  const Bits bits;
  const auto exact = hn::BitCast(bits, value);
  // Adding 0x7FFF, plus one more if the kept last bit is odd, carries where it must.
  const auto odd = hn::And(hn::ShiftRight<16>(exact), hn::Set(bits, 1u));
  return hn::Add(hn::Add(exact, hn::Set(bits, 0x7FFFu)), odd);
}
template <class D, class Bits = hn::Rebind<std::uint32_t, D>>
HWY_INLINE hn::Vec<Bits> round_any(D d, hn::Vec<D> value) {
  const Bits bits;
  const auto nan = hn::Set(bits, 0x7FC00000u);
  return hn::IfThenElse(hn::RebindMask(bits, hn::IsNaN(value)), nan, round_number(d, value));
}

template <class D, class Element, std::enable_if_t<is_bf16<Element>>* = nullptr>
HWY_INLINE void store(D d, hn::Vec<D> value, Element* to) {
  const hn::Rebind<std::uint16_t, D> narrow;
  const auto kept = hn::ShiftRight<16>(round_any(d, value));
  hn::StoreU(hn::TruncateTo(narrow, kept), narrow, reinterpret_cast<std::uint16_t*>(to));
}

/// Twice as many bf16 as D has lanes. In words of 32 bits the even ones are the lower halves and the odd ones
/// the upper, so that nothing has to cross lanes.
template <class D, class Element>
HWY_INLINE void load_even_odd(D d, const Element* from, hn::Vec<D>& even, hn::Vec<D>& odd) {
  const hn::Repartition<std::uint16_t, D> narrow;
  const hn::Rebind<std::uint32_t, D> bits;
  const auto words = hn::BitCast(bits, hn::LoadU(narrow, reinterpret_cast<const std::uint16_t*>(from)));
  even = hn::BitCast(d, hn::ShiftLeft<16>(words));
  odd = hn::BitCast(d, hn::And(words, hn::Set(bits, 0xFFFF0000u)));
}

/// Words of 32 bits whose upper halves are already rounded.
template <class Bits, class Element>
HWY_INLINE void store_rounded(Bits bits, hn::Vec<Bits> even, hn::Vec<Bits> odd, Element* to) {
  const hn::Repartition<std::uint16_t, Bits> narrow;
  const auto words = hn::OrAnd(hn::ShiftRight<16>(even), odd, hn::Set(bits, 0xFFFF0000u));
  hn::StoreU(hn::BitCast(narrow, words), narrow, reinterpret_cast<std::uint16_t*>(to));
}

template <class D, class Element>
HWY_INLINE void store_even_odd(D d, hn::Vec<D> even, hn::Vec<D> odd, Element* to) {
  store_rounded(hn::Rebind<std::uint32_t, D>(), round_any(d, even), round_any(d, odd), to);
}

#if !HWY_HAVE_SCALABLE
/// The elements that one load brings: a vector, or two (even and odd) for bf16.
template <class D, class Element>
struct Group {
  static constexpr int vectors = is_bf16<Element> ? 2 : 1;
  static constexpr int lanes = vectors * static_cast<int>(hn::MaxLanes(D()));
  HWY_INLINE Group() {
  }  // g++ makes implicit ones for no target in particular, where NEON's vectors are unknown
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

/// The same in the order of memory where it can be had.
template <class D, class Element>
HWY_INLINE Group<D, Element> load_in_order(D d, const Element* from) {
  return load_group(d, from);
}

template <class D, class Element>
HWY_INLINE void store_group(D d, const Group<D, Element>& group, Element* to) {
  if constexpr (Group<D, Element>::vectors == 2) {
    store_even_odd(d, group.v[0], group.v[1], to);
  } else {
    store(d, group.v[0], to);
  }
}

/// Group i goes to place(i). What is rare is looked for in all of them at once, before anything is stored.
template <int n, class D, class Element, class Place>
HWY_INLINE void store_groups(D d, const Group<D, Element> (&groups)[n], const Place& place) {
  for (int i = 0; i < n; ++i) store_group(d, groups[i], place(i));
}

template <int n, class D, class Element, class Place>
HWY_INLINE void store_in_order(D d, const Group<D, Element> (&groups)[n], const Place& place) {
  store_groups(d, groups, place);
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
/// Of the lanes of `among` those that are no NaN in either.
HWY_INLINE unsigned numbers(unsigned among, __m512 a, __m512 b) {
  return _mm512_mask_cmp_ps_mask(static_cast<__mmask16>(among), a, b, _CMP_ORD_Q);
}
HWY_INLINE unsigned numbers(unsigned among, __m256 a, __m256 b) {
  return _mm256_mask_cmp_ps_mask(static_cast<__mmask8>(among), a, b, _CMP_ORD_Q);
}
#endif

/// True if there is no NaN in any; may be false where infinities meet.
template <int n, class D, class Element>
HWY_INLINE bool all_numbers(D d, const Group<D, Element> (&groups)[n]) {
  constexpr int vectors = Group<D, Element>::vectors, count = n * vectors;
  const auto v = [&](int i) HWY_ATTR { return groups[i / vectors].v[i % vectors]; };
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(hn::Vec<D>) >= 32) {  // two vectors a comparison
    constexpr unsigned all = (1u << hn::MaxLanes(D())) - 1;
    unsigned among = all;
    for (int i = 0; i < count; i += 2) among = numbers(among, v(i).raw, v(i + 1 < count ? i + 1 : i).raw);
    return among == all;
  }
#endif
  auto sum = v(0);
  for (int i = 1; i < count; ++i) sum = hn::Add(sum, v(i));
  return hn::AllFalse(d, hn::IsNaN(sum));
}

template <int n, class D, class Place>
HWY_INLINE void store_groups(D d, const Group<D, f16> (&groups)[n], const Place& place) {
  if (HWY_UNLIKELY(!all_numbers(d, groups))) {
    for (int i = 0; i < n; ++i) store_group(d, groups[i], place(i));
    return;
  }
  const hn::Rebind<hwy::float16_t, D> narrow;
  for (int i = 0; i < n; ++i) {
    hn::StoreU(hn::DemoteTo(narrow, groups[i].v[0]), narrow, reinterpret_cast<hwy::float16_t*>(place(i)));
  }
}

template <int n, class D, class Place>
HWY_INLINE void store_groups(D d, const Group<D, bf16> (&groups)[n], const Place& place) {
  if (HWY_UNLIKELY(!all_numbers(d, groups))) {
    for (int i = 0; i < n; ++i) store_group(d, groups[i], place(i));
    return;
  }
  const hn::Rebind<std::uint32_t, D> bits;
  for (int i = 0; i < n; ++i) {
    store_rounded(bits, round_number(d, groups[i].v[0]), round_number(d, groups[i].v[1]), place(i));
  }
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
/// Where the words of even | odd go, in vectors of any size.
template <int lanes>
struct Zipped {
  HWY_ALIGN std::uint16_t order[lanes];
  constexpr Zipped() : order() {
    for (int i = 0; i < lanes; ++i) order[i] = static_cast<std::uint16_t>(i % 2 * (lanes / 2) + i / 2);
  }
};
HWY_INLINE __m512i zip(__m512i order, __m512i words) { return _mm512_permutexvar_epi16(order, words); }
HWY_INLINE __m256i zip(__m256i order, __m256i words) { return _mm256_permutexvar_epi16(order, words); }
HWY_INLINE __m128i zip(__m128i order, __m128i words) { return _mm_permutexvar_epi16(order, words); }

/// Where words go to be the upper halves of numbers: those of the first half of a vector, then the others.
template <int lanes>
struct Widened {
  HWY_ALIGN std::uint16_t first[lanes], second[lanes];
  constexpr Widened() : first(), second() {
    for (int i = 0; i < lanes; ++i) {
      first[i] = static_cast<std::uint16_t>(i / 2);
      second[i] = static_cast<std::uint16_t>(lanes / 2 + i / 2);
    }
  }
};
constexpr __mmask32 upper = 0xAAAAAAAA;
HWY_INLINE __m512i widen(__m512i order, __m512i words) {
  return _mm512_maskz_permutexvar_epi16(upper, order, words);
}
HWY_INLINE __m256i widen(__m256i order, __m256i words) {
  return _mm256_maskz_permutexvar_epi16(upper & 0xFFFF, order, words);
}
HWY_INLINE __m128i widen(__m128i order, __m128i words) {
  return _mm_maskz_permutexvar_epi16(upper & 0xFF, order, words);
}

template <class D>
HWY_INLINE Group<D, PackedBf16> load_in_order(D d, const PackedBf16* from) {
  using Both = Group<D, PackedBf16>;
  Both group;
  if constexpr (Both::lanes < 8) {  // less than the smallest vector
    group.v[0] = load(d, from);
    group.v[1] = load(d, from + hn::MaxLanes(d));
  } else {
    const hn::Repartition<std::uint16_t, D> narrow;
    static constexpr Widened<Both::lanes> widened;
    auto words = hn::LoadU(narrow, reinterpret_cast<const std::uint16_t*>(from));
    for (int i = 0; i < 2; ++i) {
      auto number = hn::Load(narrow, i == 0 ? widened.first : widened.second);
      number.raw = widen(number.raw, words.raw);
      group.v[i] = hn::BitCast(d, number);
    }
  }
  return group;
}

/// Subnormals (0x20) and NaNs (0x81).
HWY_INLINE unsigned packed_wrongly(__m512 v) { return _mm512_fpclass_ps_mask(v, 0xA1); }
HWY_INLINE unsigned packed_wrongly(__m256 v) { return _mm256_fpclass_ps_mask(v, 0xA1); }
HWY_INLINE unsigned packed_wrongly(__m128 v) { return _mm_fpclass_ps_mask(v, 0xA1); }

/// Two vectors as the elements of a group, as those of a row, the second after the first, or each to a place of its own.
enum class Order { even_odd, row, two_rows };
struct TwoPlaces {
  PackedBf16 *first, *second;
};

template <Order order, class D, class Place>
HWY_INLINE void store_group_by(D d, const Group<D, PackedBf16>& group, Place to) {
  if constexpr (order == Order::even_odd) {
    store_group(d, group, to);
  } else if constexpr (order == Order::row) {
    store(d, group.v[0], to);
    store(d, group.v[1], to + hn::MaxLanes(d));
  } else {
    store(d, group.v[0], to.first);
    store(d, group.v[1], to.second);
  }
}

/// The processor rounds to nearest even as we do, but loses subnormals and keeps the payload of a NaN.
template <Order by = Order::even_odd, int n, class D, class Place>
HWY_INLINE void store_groups(D d, const Group<D, PackedBf16> (&groups)[n], const Place& place) {
  constexpr int lanes = Group<D, PackedBf16>::lanes;
  if constexpr (lanes < 8) {  // less than the smallest vector
    for (int i = 0; i < n; ++i) store_group_by<by>(d, groups[i], place(i));
  } else {
    const hn::Repartition<std::uint16_t, D> narrow;
    static constexpr Zipped<lanes> zipped;
    const auto order = hn::Load(narrow, zipped.order);
    // Of exponents from 40 to 167 (2^-87 to 2^40) this leaves the highest bit clear, of any other it sets it.
    const auto lowest = hn::Set(narrow, std::uint16_t{40 << 7});
    hn::Vec<decltype(narrow)> packed[n], far;
    for (int i = 0; i < n; ++i) {
      const auto &even = groups[i].v[0].raw, &odd = groups[i].v[1].raw;
      asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(packed[i].raw) : "v"(even), "v"(odd));
      const auto difference = hn::Sub(packed[i], lowest);
      far = i == 0 ? difference : hn::Or(far, difference);
    }
    if (HWY_UNLIKELY(!hn::AllFalse(narrow, hn::TestBit(far, hn::Set(narrow, std::uint16_t{0x4000}))))) {
      unsigned wrong = 0;  // zeros, mostly, are packed well
      for (int i = 0; i < n; ++i) {
        for (const auto& v : groups[i].v) wrong |= packed_wrongly(v.raw);
      }
      if (wrong != 0) {
        for (int i = 0; i < n; ++i) store_group_by<by>(d, groups[i], place(i));
        return;
      }
    }
    for (int i = 0; i < n; ++i) {
      auto words = packed[i];
      if constexpr (by == Order::even_odd) words.raw = zip(order.raw, words.raw);
      if constexpr (by == Order::two_rows) {
        const hn::Half<decltype(narrow)> half;
        hn::StoreU(hn::LowerHalf(half, words), half, reinterpret_cast<std::uint16_t*>(place(i).first));
        hn::StoreU(hn::UpperHalf(half, words), half, reinterpret_cast<std::uint16_t*>(place(i).second));
      } else {
        hn::StoreU(words, narrow, reinterpret_cast<std::uint16_t*>(place(i)));
      }
    }
  }
}
/// One vector to each place, less than a group would fill.
template <class D>
HWY_INLINE void store_two(D d, hn::Vec<D> first, hn::Vec<D> second, TwoPlaces places) {
  Group<D, PackedBf16> both[1];
  both[0].v[0] = first;
  both[0].v[1] = second;
  store_groups<Order::two_rows>(d, both, [&](int) HWY_ATTR { return places; });
}

template <int n, class D, class Place>
HWY_INLINE void store_in_order(D d, const Group<D, PackedBf16> (&groups)[n], const Place& place) {
  store_groups<Order::row>(d, groups, place);
}
#endif
#endif

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
