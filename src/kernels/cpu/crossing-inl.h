// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// Lanes change places while a head turns: from adjacent to halves and back.
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "kernels/rotate_args.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Not there for vectors whose size is known when they run.
template <class Element, Lanes to, int n>
class Crossing;

#if !HWY_HAVE_SCALABLE
/// Adjacent pairs: x and y apart.
template <class D>
HWY_INLINE void load_pairs(D d, const hn::TFromD<D>* from, hn::Vec<D>& x, hn::Vec<D>& y) {
  hn::LoadInterleaved2(d, from, x, y);
}
template <class D, class Element, std::enable_if_t<is_bf16<Element>>* = nullptr>
HWY_INLINE void load_pairs(D d, const Element* from, hn::Vec<D>& x, hn::Vec<D>& y) {
  load_even_odd(d, from, x, y);
}
template <class D>
HWY_INLINE void load_pairs(D d, const f16* from, hn::Vec<D>& x, hn::Vec<D>& y) {
  const hn::Rebind<std::uint32_t, D> both;
  const hn::Rebind<std::uint16_t, D> half;
  const hn::Rebind<hwy::float16_t, D> narrow;
  const auto pair = hn::BitCast(
      both, hn::LoadU(hn::Repartition<std::uint16_t, D>(), reinterpret_cast<const std::uint16_t*>(from)));
  x = hn::PromoteTo(d, hn::BitCast(narrow, hn::TruncateTo(half, pair)));
  y = hn::PromoteTo(d, hn::BitCast(narrow, hn::TruncateTo(half, hn::ShiftRight<16>(pair))));
}

template <class D>
HWY_INLINE void store_pairs(D d, hn::Vec<D> x, hn::Vec<D> y, hn::TFromD<D>* to) {
  hn::StoreInterleaved2(x, y, d, to);
}
template <class D, class Element, std::enable_if_t<is_bf16<Element>>* = nullptr>
HWY_INLINE void store_pairs(D d, hn::Vec<D> x, hn::Vec<D> y, Element* to) {
  Group<D, Element> pairs[1];
  pairs[0].v[0] = x;
  pairs[0].v[1] = y;
  store_groups(d, pairs, [to](int) HWY_ATTR { return to; });
}
template <class D>
HWY_INLINE void store_pairs(D d, hn::Vec<D> x, hn::Vec<D> y, f16* to) {
  const hn::Rebind<std::uint32_t, D> both;
  const auto bits = [&](hn::Vec<D> v) HWY_ATTR { return hn::PromoteTo(both, narrow_bits(d, v)); };
  const auto pair = hn::Or(bits(x), hn::ShiftLeft<16>(bits(y)));
  const hn::Repartition<std::uint16_t, D> words;
  hn::StoreU(hn::BitCast(words, pair), words, reinterpret_cast<std::uint16_t*>(to));
}

/// n vectors, one after the other.
template <int n, class D, class Element>
HWY_INLINE void store_row(D d, const hn::Vec<D> (&v)[n], Element* to) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (std::is_same_v<Element, PackedBf16> && n % 2 == 0) {
    using Two = Group<D, Element>;
    Two two[n / 2];
    for (int i = 0; i < n; ++i) two[i / 2].v[i % 2] = v[i];
    return store_groups<Order::row>(d, two, [to](int i) HWY_ATTR { return to + i * Two::lanes; });
  }
#endif
  for (int i = 0; i < n; ++i) store(d, v[i], to + i * static_cast<int>(hn::MaxLanes(d)));
}

/// A row for heads of n vectors of pairs whose lanes change places. A head is loaded whole before any of it is
/// stored, so that it may turn in place.
template <class Element, Lanes to, int n>
class Crossing {
 public:
  using D = hn::ScalableTag<Wide<Element>>;
  static constexpr int width = hn::MaxLanes(D()), pairs = n * width;
  static constexpr int elements = 2 * pairs;  // of a head

  HWY_INLINE Crossing(const RotateArgs& args, std::int64_t token) {
    const auto* row = static_cast<const Wide<Element>*>(args.rows) + token * elements;
    const auto sign = hn::Set(D(), args.conjugate ? -1 : 1);
    for (int i = 0; i < n; ++i) cos_[i] = hn::LoadU(D(), row + i * width);
    for (int i = 0; i < n; ++i) sin_[i] = hn::Mul(hn::LoadU(D(), row + pairs + i * width), sign);
  }
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    const D d;
    hn::Vec<D> x[n], y[n];
    for (int i = 0; i < n; ++i) {
      if constexpr (to == Lanes::halves) {
        load_pairs(d, in + 2 * i * width, x[i], y[i]);
      } else {
        x[i] = load(d, in + i * width);
        y[i] = load(d, in + pairs + i * width);
      }
    }
    for (int i = 0; i < n; ++i) turn_pairs(x[i], y[i], cos_[i], sin_[i]);
    if constexpr (to == Lanes::halves) {
      store_row(d, x, out);
      store_row(d, y, out + pairs);
    } else {
      for (int i = 0; i < n; ++i) store_pairs(d, x[i], y[i], out + 2 * i * width);
    }
  }

 private:
  hn::Vec<D> cos_[n], sin_[n];
};
#endif

/// Calls use.template operator()<n>() with the vectors that the pairs of a head fill; 0: any head.
template <class Element, class Use>
HWY_INLINE void with_crossing(std::int64_t pairs, const Use& use) {
#if !HWY_HAVE_SCALABLE
  constexpr std::int64_t width = hn::MaxLanes(hn::ScalableTag<Wide<Element>>());
  switch (pairs % width == 0 ? pairs / width : 0) {  // heads of 64, 96, 128 and 192 lanes
    case 2:
      return use.template operator()<2>();
    case 3:
      return use.template operator()<3>();
    case 4:
      return use.template operator()<4>();
    case 6:
      return use.template operator()<6>();
    case 8:
      return use.template operator()<8>();
    default:
      break;
  }
#endif
  use.template operator()<0>();
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
