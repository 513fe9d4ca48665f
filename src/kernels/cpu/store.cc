// SPDX-License-Identifier: Apache-2.0
// Heads from the stage into memory: times a scale, rounded once to the element type.
#include "kernels/reference/stage.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/store.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <bit>
#include <cstdint>

#if HWY_NATIVE_FMA

#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// To a type whose values are rounded by convert-inl.h.
template <class Element>
struct AsIs {
  using Stored = Element;
  template <class D>
  HWY_INLINE void operator()(D d, hn::Vec<D> value, Stored* to) const {
    store(d, value, to);
  }
};

/// To an 8-bit float, in integers; see src/base/dtype.cc.
template <int fraction, int bias>
struct AsF8 {
  using Stored = std::uint8_t;
  static constexpr int dropped = 23 - fraction;
  static constexpr std::uint32_t least_normal = static_cast<std::uint32_t>(128 - bias) << 23,
                                 rebias = static_cast<std::uint32_t>(127 - bias) << 23,
                                 half = (1u << (dropped - 1)) - 1,
                                 whole = static_cast<std::uint32_t>(151 - bias - fraction) << 23;

  template <class D>
  HWY_INLINE void operator()(D d, hn::Vec<D> value, Stored* to) const {
    const hn::Rebind<std::uint32_t, D> u;
    const hn::Rebind<std::uint8_t, D> narrow;
    const auto bits = hn::BitCast(u, value), signs = hn::Set(u, 0x80000000u);
    const auto magnitude = hn::AndNot(signs, bits), kept = hn::Min(magnitude, hn::Set(u, limit));
    const auto odd = hn::And(hn::ShiftRight<dropped>(kept), hn::Set(u, 1u));
    const auto normal = hn::ShiftRight<dropped>(hn::Add(hn::Add(kept, odd), hn::Set(u, half - rebias)));
    const auto shifted = hn::Add(hn::BitCast(d, kept), hn::BitCast(d, hn::Set(u, whole)));
    const auto subnormal = hn::Sub(hn::BitCast(u, shifted), hn::Set(u, whole));
    const auto code = hn::IfThenElse(hn::Lt(kept, hn::Set(u, least_normal)), subnormal, normal);
    const auto with_sign = hn::Or(code, hn::ShiftRight<24>(hn::And(bits, signs)));
    const auto nan = hn::RebindMask(u, hn::IsNaN(value));
    hn::StoreU(hn::TruncateTo(narrow, hn::IfThenElse(nan, hn::Set(u, 0x7Fu), with_sign)), narrow, to);
  }
  std::uint32_t limit;
};

struct AsI8 {
  using Stored = std::uint8_t;
  template <class D>
  HWY_INLINE void operator()(D d, hn::Vec<D> value, Stored* to) const {
    const hn::Rebind<std::uint32_t, D> u;
    const hn::Rebind<std::uint8_t, D> narrow;
    const auto number = hn::IfThenElse(hn::IsNaN(value), hn::Zero(d), value);
    const auto kept = hn::Min(hn::Max(number, hn::Set(d, -128.0f)), hn::Set(d, 127.0f));
    // Added to this number, a float is rounded to a whole one in the lowest bits.
    const auto shifted = hn::Add(kept, hn::Set(d, 0x1.8p23f));
    hn::StoreU(hn::TruncateTo(narrow, hn::BitCast(u, shifted)), narrow, to);
  }
};

/// Lanes from i on in vectors of at most `cap` lanes, then of half as many.
template <std::size_t cap, class As>
HWY_INLINE void store_from(const As& as, const float* from, typename As::Stored* to, float scale,
                           std::int64_t i, std::int64_t lanes) {
  const hn::CappedTag<float, cap> d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const auto all = hn::Set(d, scale);
  for (; i + step <= lanes; i += step) as(d, hn::Mul(hn::LoadU(d, from + i), all), to + i);
  if constexpr (cap > 1) {
    if (i < lanes) store_from<cap / 2>(as, from, to, scale, i, lanes);
  }
}

/// Heads by store_head(from, to, lanes, scale).
template <class Stored, class StoreHead>
HWY_INLINE void for_each_head(const StoreArgs& args, const StoreHead& store_head) {
  const StageBlock& b = args.block;
  for (std::int64_t token = 0; token < b.tokens; ++token) {
    auto* to = static_cast<Stored*>(args.out) + token * b.token_stride;
    const float* from = static_cast<const float*>(args.stage) + token * b.stage_token_stride;
    const float* scale = args.scales;
    for (std::int64_t head = 0; head < b.heads; ++head) {
      store_head(from, to, b.head_dim, *scale);
      from += b.stage_head_stride;
      to += b.head_stride;
      scale += args.scale_stride;
    }
  }
}

inline constexpr std::size_t widest = hn::MaxLanes(hn::ScalableTag<float>());

template <class As>
HWY_NOINLINE void store_heads(const StoreArgs& args, const As& as) {
  for_each_head<typename As::Stored>(
      args, [&](const float* from, typename As::Stored* to, std::int64_t lanes, float scale)
                HWY_ATTR { store_from<widest>(as, from, to, scale, 0, lanes); });
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
/// As the processor packs bf16, but for vectors in which it would lose a subnormal or keep a NaN's payload.
HWY_NOINLINE void store_packed_bf16(const StoreArgs& args) {
  const auto store_head = [&](const float* from, bf16* to, std::int64_t lanes, float scale) HWY_ATTR {
    const hn::ScalableTag<float> d;
    const hn::ScalableTag<std::uint16_t> narrow;
    const auto all = hn::Set(d, scale);
    std::int64_t i = 0;
    for (; i + 32 <= lanes; i += 32) {
      const auto low = hn::Mul(hn::LoadU(d, from + i), all), high = hn::Mul(hn::LoadU(d, from + i + 16), all);
      hn::Vec<decltype(narrow)> packed;
      asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(packed.raw) : "v"(low.raw), "v"(high.raw));
      // One more makes an exponent of zeros 1 and one of ones 0.
      const auto exponent = hn::And(hn::Add(packed, hn::Set(narrow, std::uint16_t{0x0080})),
                                    hn::Set(narrow, std::uint16_t{0x7F00}));
      if (HWY_UNLIKELY(!hn::AllFalse(narrow, hn::Eq(exponent, hn::Zero(narrow))))) {
        store(d, low, to + i);
        store(d, high, to + i + 16);
      } else {
        hn::StoreU(packed, narrow, reinterpret_cast<std::uint16_t*>(to + i));
      }
    }
    store_from<widest>(AsIs<bf16>(), from, to, scale, i, lanes);
  };
  for_each_head<bf16>(args, store_head);
}
#endif

void store(const StoreArgs& args) noexcept {
  if (args.wide || (args.block.lane_stride != 1 && args.block.head_dim > 1)) return store_scalar(args);
  const auto limit = [&](float saturating, float special) {
    return std::bit_cast<std::uint32_t>(args.overflow == Overflow::saturate ? saturating : special);
  };
  switch (args.dtype) {
    case DType::f32:
      return store_heads(args, AsIs<float>());
    case DType::f16:
      return store_heads(args, AsIs<f16>());
    case DType::bf16:
      return store_heads(args, AsIs<bf16>());
    case DType::f8_e4m3:
      return store_heads(args, AsF8<3, 7>{limit(448, 480)});
    case DType::f8_e5m2:
      return store_heads(args, AsF8<2, 15>{limit(57344, 65536)});
    case DType::i8:
      return store_heads(args, AsI8());
    default:
      return store_scalar(args);
  }
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
void store_packing_bf16(const StoreArgs& args) noexcept {
  const bool packs = args.dtype == DType::bf16 && !args.wide && args.block.lane_stride == 1;
  packs ? store_packed_bf16(args) : store(args);
}
#endif

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
