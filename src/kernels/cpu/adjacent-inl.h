// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// One row of cos and sin for heads of adjacent lanes, and how a head turns by it.
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Each number twice and the sine with its sign, so that a vector of x y x y ... turns with its own swapped
/// copy: x c + y (-s), y c + x s.
template <class Element>
class AdjacentRow {
 public:
  using Number = Wide<Element>;
  using D = hn::ScalableTag<Number>;
  static constexpr int step = hn::MaxLanes(D());
  static constexpr std::int64_t max_row_pairs = 256;
  static constexpr int most_held = many_registers ? 8 : 4;  // groups
  static constexpr bool needs_memory = true;

  /// `memory` is aligned, of numbers(pairs).
  HWY_INLINE AdjacentRow(const RotateArgs& args, const Number* cos, const Number* sin, std::int64_t pairs,
                         Number* memory)
      : cos_(memory), sin_(memory + in_lines<Number>(2 * pairs)), lanes_(2 * pairs) {
    fill(cos, sin, pairs, args.conjugate ? Number{-1} : Number{1});
  }

  static HWY_INLINE std::int64_t numbers(std::int64_t pairs) { return 2 * in_lines<Number>(2 * pairs); }
  /// The same for a row that lies so many numbers further.
  HWY_INLINE AdjacentRow further(std::int64_t numbers) const {
    AdjacentRow row = *this;
    row.cos_ += numbers;
    row.sin_ += numbers;
    return row;
  }

  /// Turns any head.
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    std::int64_t i = 0;
#if !HWY_HAVE_SCALABLE
    for (; i + 4 * step <= lanes_; i += 4 * step) Held<4>(*this, i / 2)(in + i, out + i);
#endif
    turn_from<hn::MaxLanes(D())>(in, out, i);
  }

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

    HWY_INLINE explicit Held(const AdjacentRow& row, std::int64_t first = 0, std::int64_t /*pairs*/ = 0) {
      for (int i = 0; i < n; ++i) cos_[i] = load(Tag(), row.cos_ + 2 * first + i * width);
      for (int i = 0; i < n; ++i) sin_[i] = load(Tag(), row.sin_ + 2 * first + i * width);
    }
    HWY_INLINE void operator()(const Element* in, Element* out) const {
      Group<Tag, Element> groups[n];
      for (int i = 0; i < n; ++i) groups[i].v[0] = load(Tag(), in + i * width);
      for (int i = 0; i < n; ++i) groups[i].v[0] = turn(Tag(), groups[i].v[0], cos_[i], sin_[i]);
      store_groups(Tag(), groups, [&](int i) HWY_ATTR { return out + i * width; });
    }

   private:
    hn::Vec<Tag> cos_[n], sin_[n];
  };
  template <int fraction>
  using HeldFraction = Held<1, hn::CappedTag<Number, hn::MaxLanes(D()) / fraction>>;
#endif

 private:
  /// A function of its own, that takes no registers from the loops around it.
  HWY_NOINLINE void fill(const Number* cos, const Number* sin, std::int64_t pairs, Number sign) const {
    const D d;
    const auto width = static_cast<std::int64_t>(hn::Lanes(d));
    const auto signs = hn::Set(d, sign);
    std::int64_t i = 0;
    for (; i + width <= pairs; i += width) {
      const auto c = hn::LoadU(d, cos + i), s = hn::Mul(hn::LoadU(d, sin + i), signs);
      hn::StoreInterleaved2(c, c, d, cos_ + 2 * i);
      hn::StoreInterleaved2(hn::Neg(s), s, d, sin_ + 2 * i);
    }
    for (; i < pairs; ++i) {
      cos_[2 * i] = cos_[2 * i + 1] = cos[i];
      sin_[2 * i] = -sign * sin[i];
      sin_[2 * i + 1] = sign * sin[i];
    }
  }

  template <class Tag>
  static HWY_INLINE hn::Vec<Tag> turn(Tag d, hn::Vec<Tag> v, hn::Vec<Tag> cos, hn::Vec<Tag> sin) {
    return hn::MulAdd(v, cos, hn::Mul(hn::Reverse2(d, v), sin));
  }

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

  Number *cos_, *sin_;
  std::int64_t lanes_;
};

/// In a word of two bf16 the pair already lies apart: the row is used as it stands. Turning by -angle is
/// turning (y, x) by +angle.
template <class Element>
class AdjacentWordsRow {
 public:
  using Number = float;
  using D = hn::ScalableTag<float>;
  static constexpr int step = hn::MaxLanes(D());
  static constexpr std::int64_t max_row_pairs = max_pairs;
  static constexpr int most_held = 4;  // groups
  static constexpr bool needs_memory = false;

  /// `memory` is aligned, of numbers(pairs), or null: the row stays where it is.
  HWY_INLINE AdjacentWordsRow(const RotateArgs& args, const float* cos, const float* sin, std::int64_t pairs,
                              float* memory)
      : cos_(cos), sin_(sin), pairs_(pairs), sign_(args.conjugate ? -1.0f : 1.0f) {
    move_row(cos_, sin_, pairs, memory);
  }
  static HWY_INLINE std::int64_t numbers(std::int64_t pairs) { return 2 * in_lines<float>(pairs); }
  /// The same for a row that lies so many numbers further.
  HWY_INLINE AdjacentWordsRow further(std::int64_t numbers) const {
    AdjacentWordsRow row = *this;
    row.cos_ += numbers;
    row.sin_ += numbers;
    return row;
  }

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

  const float *cos_, *sin_;
  std::int64_t pairs_;
  float sign_;
};

template <class Element>
using AdjacentRowOf = std::conditional_t<is_bf16<Element>, AdjacentWordsRow<Element>, AdjacentRow<Element>>;

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
