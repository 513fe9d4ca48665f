// SPDX-License-Identifier: Apache-2.0
// Included by store.cc and fused.cc after convert-inl.h, once for each target.
//
// Floats as each type that may be stored: one vector of any numbers, or four vectors at once, among which a NaN is rare.
#include <hwy/highway.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/stage_args.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// A type whose values are rounded by convert-inl.h.
template <class Element>
struct AsIs {
  using Stored = Element;
  template <class D>
  HWY_INLINE void operator()(D d, hn::Vec<D> value, Stored* to) const {
    store(d, value, to);
  }
#if !HWY_HAVE_SCALABLE
  /// None is a NaN.
  template <class D>
  HWY_INLINE void numbers(D d, const Group<D, float> (&values)[4], Stored* to) const {
    const hn::Rebind<std::uint16_t, D> narrow;
    for (int i = 0; i < 4; ++i, to += hn::MaxLanes(D())) {
      if constexpr (std::is_same_v<Element, float>) {
        hn::StoreU(values[i].v[0], d, to);
      } else if constexpr (std::is_same_v<Element, f16>) {
        const auto half = hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), values[i].v[0]);
        hn::StoreU(hn::BitCast(narrow, half), narrow, reinterpret_cast<std::uint16_t*>(to));
      } else {
        const auto upper = hn::TruncateTo(narrow, hn::ShiftRight<16>(round_number(d, values[i].v[0])));
        hn::StoreU(upper, narrow, reinterpret_cast<std::uint16_t*>(to));
      }
    }
  }
#endif
};

#if !HWY_HAVE_SCALABLE
/// The lowest bytes of four vectors, one vector's after the other's.
template <class U>
HWY_INLINE void store_bytes(U u, const hn::Vec<U> (&words)[4], std::uint8_t* to) {
  constexpr int blocks = hn::MaxLanes(U()) / 4;  // of 16 bytes
  const hn::Repartition<std::uint8_t, U> bytes;
  const auto low = hn::Set(u, 0xFFu), lower = hn::Set(u, 0xFFFFu);
  const auto first = hn::OrAnd(hn::ShiftLeft<8>(words[1]), words[0], low);
  const auto second = hn::OrAnd(hn::ShiftLeft<8>(words[3]), words[2], low);
  auto all = hn::OrAnd(hn::ShiftLeft<16>(second), first, lower);  // a byte of each in every lane
  // To four bytes of one vector in every lane, then to their places.
  HWY_ALIGN static constexpr std::uint8_t turned[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  all = hn::BitCast(u, hn::TableLookupBytes(hn::BitCast(bytes, all), hn::LoadDup128(bytes, turned)));
  if constexpr (blocks > 1) {
    HWY_ALIGN std::uint32_t places[4 * blocks];
    for (int i = 0; i < 4 * blocks; ++i) {
      places[i] = static_cast<std::uint32_t>(i % blocks * 4 + i / blocks);
    }
    all = hn::TableLookupLanes(all, hn::SetTableIndices(u, places));
  }
  hn::StoreU(hn::BitCast(bytes, all), bytes, to);
}
#endif

/// One byte: Code gives that of what is no NaN in the lowest byte of a word.
template <class Code>
struct AsByte : Code {
  using Stored = std::uint8_t;
  template <class D>
  HWY_INLINE void operator()(D d, hn::Vec<D> value, Stored* to) const {
    const hn::Rebind<std::uint32_t, D> u;
    const hn::Rebind<std::uint8_t, D> narrow;
    const auto no_number = hn::RebindMask(u, hn::IsNaN(value));
    const auto code = hn::IfThenElse(no_number, hn::Set(u, Code::nan), Code::of(d, value));
    hn::StoreU(hn::TruncateTo(narrow, code), narrow, to);
  }
#if !HWY_HAVE_SCALABLE
  template <class D>
  HWY_INLINE void numbers(D d, const Group<D, float> (&values)[4], Stored* to) const {
    const hn::Rebind<std::uint32_t, D> u;
    hn::Vec<decltype(u)> codes[4];
    for (int i = 0; i < 4; ++i) codes[i] = Code::of(d, values[i].v[0]);
    store_bytes(u, codes, to);
  }
#endif
};

/// An 8-bit float; see src/base/dtype.cc.
template <int fraction, int bias>
struct F8 {
  static constexpr std::uint32_t nan = 0x7F;
  static constexpr int dropped = 23 - fraction;

  explicit F8(std::uint32_t largest) : limit(largest) {}

  template <class D>
  HWY_INLINE auto of(D d, hn::Vec<D> value) const {
    const hn::Rebind<std::uint32_t, D> u;
    const auto bits = hn::BitCast(u, value);
    const auto kept = hn::Min(hn::And(bits, hn::Set(u, magnitude)), hn::Set(u, limit));
    // The exponent of the number, at least that of the normal ones. To it a number is added that is so much larger that
    // the sum is rounded where the code ends; its own lowest bits make up for the bias.
    const auto exponent = hn::Max(hn::And(kept, hn::Set(u, exponents)), hn::Set(u, least_normal));
    const auto larger = hn::BitCast(d, hn::Add(exponent, hn::Set(u, further)));
    const auto rounded = hn::BitCast(u, hn::Add(hn::BitCast(d, kept), larger));
    const auto code = hn::Add(rounded, hn::ShiftRight<dropped>(exponent));
    return hn::OrAnd(code, hn::ShiftRight<24>(bits), hn::Set(u, 0x80u));
  }

  // Members, since g++ would make constants anew for every vector.
  std::uint32_t limit, magnitude = 0x7FFFFFFF, exponents = 0x7F800000,
                       least_normal = static_cast<std::uint32_t>(128 - bias) << 23,
                       further = (static_cast<std::uint32_t>(dropped) << 23) +
                                 ((static_cast<std::uint32_t>(bias - 128) << fraction) & 0xFFu);
};

struct I8 {
  static constexpr std::uint32_t nan = 0;

  template <class D>
  HWY_INLINE auto of(D d, hn::Vec<D> value) const {
    const auto kept = hn::Min(hn::Max(value, hn::Set(d, -128.0f)), hn::Set(d, 127.0f));
    // Added to this number, a float is rounded to a whole one in the lowest bits.
    return hn::BitCast(hn::Rebind<std::uint32_t, D>(), hn::Add(kept, hn::Set(d, 0x1.8p23f)));
  }
};

#if !HWY_HAVE_SCALABLE
template <class As, class D>
HWY_INLINE void store_four(const As& as, D d, const Group<D, float> (&values)[4], typename As::Stored* to) {
  if (std::is_same_v<typename As::Stored, float> || HWY_LIKELY(all_numbers(d, values))) {
    return as.numbers(d, values, to);
  }
  for (int i = 0; i < 4; ++i) as(d, values[i].v[0], to + i * static_cast<int>(hn::MaxLanes(D())));
}
#endif

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
/// bf16, packed by the processor where it rounds as we do.
struct AsPackedBf16 : AsIs<bf16> {};

template <class D>
HWY_INLINE void store_four(const AsPackedBf16& /*as*/, D d, const Group<D, float> (&values)[4], bf16* to) {
  using Two = Group<D, PackedBf16>;
  Two two[2];
  for (int i = 0; i < 4; ++i) two[i / 2].v[i % 2] = values[i].v[0];
  store_in_order(d, two, [&](int i) HWY_ATTR { return reinterpret_cast<PackedBf16*>(to) + i * Two::lanes; });
}
#endif

/// Calls use(as) for the type that is stored.
template <class Use>
HWY_INLINE void with_stored(DType dtype, Overflow overflow, const Use& use) {
  const auto limit = [&](float saturating, float special) {
    return std::bit_cast<std::uint32_t>(overflow == Overflow::saturate ? saturating : special);
  };
  switch (dtype) {
    case DType::f32:
      return use(AsIs<float>());
    case DType::f16:
      return use(AsIs<f16>());
    case DType::bf16:
      return use(AsIs<bf16>());
    case DType::f8_e4m3:
      return use(AsByte<F8<3, 7>>{F8<3, 7>(limit(448, 480))});
    case DType::f8_e5m2:
      return use(AsByte<F8<2, 15>>{F8<2, 15>(limit(57344, 65536))});
    case DType::i8:
      return use(AsByte<I8>());
    default:
      return;
  }
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
