// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// One row of cos and sin for heads of adjacent lanes, and how a head turns by it.
#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// As many numbers as d has lanes, each of half as many twice.
#if !HWY_HAVE_SCALABLE
template <class D>
HWY_INLINE hn::Vec<D> load_twice(D d, const hn::TFromD<D>* from) {
  const auto twice = hn::IndicesFromVec(d, hn::ShiftRight<1>(hn::Iota(hn::RebindToUnsigned<D>(), 0)));
  const auto numbers = hn::ZeroExtendVector(d, load(hn::Half<D>(), from));
  return hn::TableLookupLanes(numbers, twice);
}
#endif

/// Each number of a row twice, the sines of x and y with their signs; `sign` is a zero, with that of the sines. A function of
/// its own, that takes no registers from the loops around it.
template <class Number>
HWY_NOINLINE void double_row(const Number* cos, const Number* sin, std::int64_t pairs, Number sign,
                             Number* cosines, Number* sines) {
  const hn::ScalableTag<Number> d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  const auto odd = hn::Set(d, sign), even = hn::Neg(odd);
  std::int64_t i = 0;
  for (; i + width <= pairs; i += width) {
    const auto c = hn::LoadU(d, cos + i), s = hn::LoadU(d, sin + i);
    hn::StoreInterleaved2(c, c, d, cosines + 2 * i);
    hn::StoreInterleaved2(hn::Xor(s, even), hn::Xor(s, odd), d, sines + 2 * i);
  }
  for (; i < pairs; ++i) {
    cosines[2 * i] = cosines[2 * i + 1] = cos[i];
    sines[2 * i + 1] = std::signbit(sign) ? -sin[i] : sin[i];
    sines[2 * i] = -sines[2 * i + 1];
  }
}

/// Each number twice and the sine with its sign, so that a vector of x y x y ... turns with its own swapped
/// copy: x c + y (-s), y c + x s.
template <class Element>
class AdjacentRow : public RowPlace<Wide<Element>> {
  using Place = RowPlace<Wide<Element>>;
  using Place::cos_, Place::pairs_, Place::sin_;

 public:
  using Number = Wide<Element>;
  using D = hn::ScalableTag<Number>;
  static constexpr int step = hn::MaxLanes(D());
  static constexpr std::int64_t max_row_pairs = 256;
  static constexpr int most_held = many_registers ? 8 : 4;  // groups
  static constexpr bool needs_memory = false;
  class Any;

  HWY_INLINE AdjacentRow(const RotateArgs& args, const Number* cos, const Number* sin, std::int64_t pairs,
                         Number* /*memory*/)
      : Place(cos, sin, pairs), sign_(args.conjugate ? Number{-0.0} : Number{0}) {}

  static HWY_INLINE std::int64_t offset_of(std::int64_t pair) { return 2 * pair; }
  static constexpr bool streams = false;

#if !HWY_HAVE_SCALABLE
  static constexpr int group_pairs = step / 2;
  static constexpr std::size_t least_lanes = 2;  // of a part of a group

  /// n groups of a row, from pair `first` on, in registers.
  template <int n, class Tag = D>
  class Held {
   public:
    static constexpr int width = hn::MaxLanes(Tag());

    HWY_INLINE Held(const Any& row, std::int64_t first, std::int64_t /*pairs*/ = 0) {
      for (int i = 0; i < n; ++i) cos_[i] = load(Tag(), row.cos_ + 2 * first + i * width);
      for (int i = 0; i < n; ++i) sin_[i] = load(Tag(), row.sin_ + 2 * first + i * width);
    }
    HWY_INLINE explicit Held(const AdjacentRow& row, std::int64_t first = 0, std::int64_t /*pairs*/ = 0) {
      const auto signs = row.signs(Tag());
      for (int i = 0; i < n; ++i) cos_[i] = keep(load_twice(Tag(), row.cos_ + first + i * width / 2));
      for (int i = 0; i < n; ++i) {
        sin_[i] = keep(hn::Xor(load_twice(Tag(), row.sin_ + first + i * width / 2), signs));
      }
    }
    HWY_INLINE void operator()(const Element* in, Element* out) const {
      for (int first = 0; first < n; first += at_once) {
        turn_some<at_once>(Tag(), in + first * width, out + first * width, cos_ + first, sin_ + first);
      }
    }

   private:
    /// With all at once no register would be left for what is on the way.
    static constexpr int at_once = std::is_same_v<Element, Number> && n % 4 == 0 ? 4 : n;
    hn::Vec<Tag> cos_[n], sin_[n];
  };
  template <int fraction>
  using HeldFraction = Held<1, hn::CappedTag<Number, hn::MaxLanes(D()) / fraction>>;
#endif

  /// Turns heads of any width, by a row that lies doubled in memory. It is what vectors of a row are loaded from again
  /// and again.
  class Any {
   public:
    HWY_INLINE explicit Any(const AdjacentRow& row) : lanes_(2 * row.pairs_) {
      double_row(row.cos_, row.sin_, row.pairs_, row.sign_, cos_, sin_);
    }
    HWY_INLINE void operator()(const Element* in, Element* out) const {
      std::int64_t i = 0;
#if !HWY_HAVE_SCALABLE
      for (; i + 4 * step <= lanes_; i += 4 * step) Held<4>(*this, i / 2)(in + i, out + i);
#endif
      turn_from<hn::MaxLanes(D())>(in, out, i);
    }

   private:
    /// Lanes from i on in vectors of at most `cap` lanes, then of half as many.
    template <std::size_t cap>
    HWY_INLINE void turn_from(const Element* in, Element* out, std::int64_t i) const {
      const hn::CappedTag<Number, cap> d;
      const auto width = static_cast<std::int64_t>(hn::Lanes(d));
      for (; i + width <= lanes_; i += width) {
        store(d, turn(d, load(d, in + i), hn::LoadU(d, cos_ + i), hn::LoadU(d, sin_ + i)), out + i);
      }
      if constexpr (cap > 2) {
        if (i < lanes_) turn_from<cap / 2>(in, out, i);
      }
    }

    friend class AdjacentRow;
    HWY_ALIGN Number cos_[2 * max_row_pairs];
    HWY_ALIGN Number sin_[2 * max_row_pairs];
    std::int64_t lanes_;
  };

 private:
  template <class Tag>
  static HWY_INLINE hn::Vec<Tag> turn(Tag d, hn::Vec<Tag> v, hn::Vec<Tag> cos, hn::Vec<Tag> sin) {
    return hn::MulAdd(v, cos, hn::Mul(hn::Reverse2(d, v), sin));
  }
#if !HWY_HAVE_SCALABLE
  template <int n, class Tag>
  static HWY_INLINE void turn_some(Tag d, const Element* in, Element* out, const hn::Vec<Tag>* cos,
                                   const hn::Vec<Tag>* sin) {
    constexpr int width = hn::MaxLanes(d);
    Group<Tag, Element> groups[n];
    for (int i = 0; i < n; ++i) groups[i].v[0] = load(d, in + i * width);
    for (int i = 0; i < n; ++i) groups[i].v[0] = turn(d, groups[i].v[0], cos[i], sin[i]);
    store_groups(d, groups, [&](int i) HWY_ATTR { return out + i * width; });
  }
#endif

  /// Of the sines of x and of y, in turn.
  template <class Tag>
  HWY_INLINE hn::Vec<Tag> signs(Tag d) const {
    const auto odd = hn::Set(d, sign_);
    return hn::OddEven(odd, hn::Neg(odd));
  }

  Number sign_;  // of the sines, a zero
};

/// In a word of two bf16 the pair already lies apart: the row is used as it stands. Turning by -angle is
/// turning (y, x) by +angle.
template <class Element>
class AdjacentWordsRow : public RowPlace<float> {
 public:
  using Number = float;
  using D = hn::ScalableTag<float>;
  static constexpr int step = hn::MaxLanes(D());
  static constexpr std::int64_t max_row_pairs = max_pairs;
  static constexpr int most_held = 4;  // groups
  static constexpr bool needs_memory = false;

  using Any = const AdjacentWordsRow&;

  HWY_INLINE AdjacentWordsRow(const RotateArgs& args, const float* cos, const float* sin, std::int64_t pairs,
                              float* /*memory*/)
      : RowPlace(cos, sin, pairs), sign_(args.conjugate ? -1.0f : 1.0f) {}

  HWY_INLINE void operator()(const Element* in, Element* out) const {
    std::int64_t i = 0;
#if !HWY_HAVE_SCALABLE
    for (; i + 2 * step <= pairs_; i += 2 * step) Held<2>(*this, i)(in + 2 * i, out + 2 * i);
#endif
    turn_from<hn::MaxLanes(D())>(in, out, i);
  }

  static HWY_INLINE std::int64_t offset_of(std::int64_t pair) { return 2 * pair; }
  static constexpr bool streams = false;

#if !HWY_HAVE_SCALABLE
  static constexpr int group_pairs = step;
  static constexpr std::size_t least_lanes = 1;  // of a part of a group

  template <int n, class Tag = D>
  class Held {
   public:
    static constexpr int width = hn::MaxLanes(Tag());

    HWY_INLINE explicit Held(const AdjacentWordsRow& row, std::int64_t first = 0,
                             std::int64_t /*pairs*/ = 0) {
      const auto sign = hn::Set(Tag(), row.sign_);
      for (int i = 0; i < n; ++i) cos_[i] = hn::LoadU(Tag(), row.cos_ + first + i * width);
      for (int i = 0; i < n; ++i) sin_[i] = hn::Mul(hn::LoadU(Tag(), row.sin_ + first + i * width), sign);
    }
    HWY_INLINE void operator()(const Element* in, Element* out) const {
      Group<Tag, Element> pairs[n];
      for (int i = 0; i < n; ++i) pairs[i] = load_group(Tag(), in + 2 * i * width);
      for (int i = 0; i < n; ++i) turn_pairs(pairs[i].v[0], pairs[i].v[1], cos_[i], sin_[i]);
      store_groups(Tag(), pairs, [&](int i) HWY_ATTR { return out + 2 * i * width; });
    }

   private:
    hn::Vec<Tag> cos_[n], sin_[n];
  };
  template <int fraction>
  using HeldFraction = Held<1, hn::CappedTag<Number, hn::MaxLanes(D()) / fraction>>;
#endif

 private:
  template <class Tag>
  static HWY_INLINE void store_turned(Tag d, hn::Vec<Tag> x, hn::Vec<Tag> y, Element* to) {
#if HWY_HAVE_SCALABLE
    store_even_odd(d, x, y, to);
#else
    Group<Tag, Element> group[1];
    group[0].v[0] = x;
    group[0].v[1] = y;
    store_groups(d, group, [to](int) HWY_ATTR { return to; });
#endif
  }

  template <std::size_t cap>
  HWY_INLINE void turn_from(const Element* in, Element* out, std::int64_t i) const {
    const hn::CappedTag<float, cap> d;
    const auto width = static_cast<std::int64_t>(hn::Lanes(d));
    for (; i + width <= pairs_; i += width) {
      hn::Vec<decltype(d)> x, y;
      load_even_odd(d, in + 2 * i, x, y);
      turn_pairs(x, y, hn::LoadU(d, cos_ + i), hn::Mul(hn::LoadU(d, sin_ + i), hn::Set(d, sign_)));
      store_turned(d, x, y, out + 2 * i);
    }
    if constexpr (cap > 1) {
      if (i < pairs_) turn_from<cap / 2>(in, out, i);
    }
  }

  float sign_;
};

template <class Element>
using AdjacentRowOf = std::conditional_t<is_bf16<Element>, AdjacentWordsRow<Element>, AdjacentRow<Element>>;

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
