// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// One row of cos and sin for heads in halves, and how a head turns by it. Turning by -angle is turning (y, x)
// by +angle.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/rotate_args.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Turns the pairs (a, b).
template <class V>
HWY_INLINE void turn_pairs(V& a, V& b, V cos, V sin) {
  const V x = hn::MulSub(a, cos, hn::Mul(b, sin));
  b = hn::MulAdd(b, cos, hn::Mul(a, sin));
  a = x;
}

/// The row as it stands.
template <class Element>
class HalvesRow {
 public:
  using Number = Wide<Element>;
  using D = hn::ScalableTag<Number>;
  static constexpr std::int64_t max_row_pairs = max_pairs;

  HWY_INLINE HalvesRow(const RotateArgs& args, const Number* cos, const Number* sin, std::int64_t pairs)
      : cos_(cos), sin_(sin), pairs_(pairs), x_(args.conjugate ? args.pairs : 0), y_(args.pairs - x_) {}

  /// Turns any head.
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    std::int64_t i = 0;
#if !HWY_HAVE_SCALABLE
    // bf16 would have to take the row apart for every head.
    if constexpr (Elements::vectors == 1) {
      constexpr std::int64_t width = 2 * Elements::lanes;
      for (; i + width <= pairs_; i += width) Held<2>(*this, i)(in + i, out + i);
    }
#endif
    turn_from<hn::MaxLanes(D())>(in, out, i);
  }

  static HWY_INLINE std::int64_t offset_of(std::int64_t pair) { return pair; }

#if !HWY_HAVE_SCALABLE
  using Elements = Group<D, Element>;

  /// How many groups the row fills, or 0 if it does not fill the last.
  HWY_INLINE std::int64_t groups() const {
    return pairs_ % Elements::lanes == 0 ? pairs_ / Elements::lanes : 0;
  }

  /// A row of n groups in registers. A head is loaded whole, in the order of its addresses, before it is
  /// stored.
  template <int n>
  class Held {
   public:
    HWY_INLINE explicit Held(const HalvesRow& row, std::int64_t first = 0) : x_(row.x_), y_(row.y_) {
      const Number *cos = row.cos_ + first, *sin = row.sin_ + first;
      for (int i = 0; i < n; ++i) cos_[i] = load_numbers<Element>(D(), cos + i * Elements::lanes);
      for (int i = 0; i < n; ++i) sin_[i] = load_numbers<Element>(D(), sin + i * Elements::lanes);
    }
    HWY_INLINE void operator()(const Element* in, Element* out) const {
      Elements a[n], b[n];
      for (int i = 0; i < n; ++i) a[i] = load_group(D(), in + x_ + i * Elements::lanes);
      for (int i = 0; i < n; ++i) b[i] = load_group(D(), in + y_ + i * Elements::lanes);
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < Elements::vectors; ++j) {
          turn_pairs(a[i].v[j], b[i].v[j], cos_[i].v[j], sin_[i].v[j]);
        }
      }
      for (int i = 0; i < n; ++i) store_group(D(), a[i], out + x_ + i * Elements::lanes);
      for (int i = 0; i < n; ++i) store_group(D(), b[i], out + y_ + i * Elements::lanes);
    }

   private:
    Elements cos_[n], sin_[n];
    std::int64_t x_, y_;
  };
#endif

 private:
  /// Pairs from i on in vectors of at most `cap` lanes, then of half as many.
  template <std::size_t cap>
  HWY_INLINE void turn_from(const Element* in, Element* out, std::int64_t i) const {
    const hn::CappedTag<Number, cap> d;
    const auto step = static_cast<std::int64_t>(hn::Lanes(d));
    for (; i + step <= pairs_; i += step) {
      auto a = load(d, in + x_ + i), b = load(d, in + y_ + i);
      turn_pairs(a, b, load(d, cos_ + i), load(d, sin_ + i));
      store(d, a, out + x_ + i);
      store(d, b, out + y_ + i);
    }
    if constexpr (cap > 1) {
      if (i < pairs_) turn_from<cap / 2>(in, out, i);
    }
  }

  const Number *cos_, *sin_;
  std::int64_t pairs_, x_, y_;
};

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
