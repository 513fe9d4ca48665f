// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// Lanes change places, bits unchanged: from adjacent lanes to halves and back. 16-bit ones are moved as
// integers.
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "kernels/rotate_args.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// x0 y0 x1 y1 ... to x0 x1 ..., y0 y1 ...
template <class D, class Word = hn::TFromD<D>>
HWY_INLINE void unzip_step(D d, const Word* from, Word* x, Word* y) {
  if constexpr (sizeof(Word) == 2) {
    const hn::RepartitionToWide<D> both;
    const hn::Rebind<std::uint16_t, decltype(both)> half;
    const auto pair = hn::BitCast(both, hn::LoadU(d, from));
    hn::StoreU(hn::TruncateTo(half, pair), half, x);
    hn::StoreU(hn::TruncateTo(half, hn::ShiftRight<16>(pair)), half, y);
  } else {
    hn::Vec<D> a, b;
    hn::LoadInterleaved2(d, from, a, b);
    hn::StoreU(a, d, x);
    hn::StoreU(b, d, y);
  }
}

/// x0 x1 ..., y0 y1 ... to x0 y0 x1 y1 ...
template <class D, class Word = hn::TFromD<D>>
HWY_INLINE void zip_step(D d, const Word* x, const Word* y, Word* to) {
  if constexpr (sizeof(Word) == 2) {
    const hn::RepartitionToWide<D> both;
    const hn::Rebind<std::uint16_t, decltype(both)> half;
    const auto low = hn::PromoteTo(both, hn::LoadU(half, x));
    const auto high = hn::PromoteTo(both, hn::LoadU(half, y));
    hn::StoreU(hn::BitCast(d, hn::Or(low, hn::ShiftLeft<16>(high))), d, to);
  } else {
    hn::StoreInterleaved2(hn::LoadU(d, x), hn::LoadU(d, y), d, to);
  }
}

template <Lanes to_lanes, class Word>
HWY_INLINE void regroup_words(const Word* from, Word* to, std::int64_t pairs) {
  const hn::ScalableTag<Word> d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d)) / (sizeof(Word) == 2 ? 2 : 1);
  std::int64_t i = 0;
  for (; i + step <= pairs; i += step) {
    if constexpr (to_lanes == Lanes::halves) {
      unzip_step(d, from + 2 * i, to + i, to + pairs + i);
    } else {
      zip_step(d, from + i, from + pairs + i, to + 2 * i);
    }
  }
  for (; i < pairs; ++i) {
    if constexpr (to_lanes == Lanes::halves) {
      to[i] = from[2 * i];
      to[pairs + i] = from[2 * i + 1];
    } else {
      to[2 * i] = from[i];
      to[2 * i + 1] = from[pairs + i];
    }
  }
}

/// One head from the other lane order into `to_lanes`. The two places do not overlap.
template <class Element>
HWY_NOINLINE void regroup(Lanes to_lanes, const Element* from, Element* to, std::int64_t pairs) {
  using Word = std::conditional_t<sizeof(Element) == 2, std::uint16_t, Wide<Element>>;
  const auto* words = reinterpret_cast<const Word*>(from);
  auto* to_words = reinterpret_cast<Word*>(to);
  if (to_lanes == Lanes::halves) {
    regroup_words<Lanes::halves>(words, to_words, pairs);
  } else {
    regroup_words<Lanes::adjacent>(words, to_words, pairs);
  }
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
