// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// One row of cos and sin for heads in halves, and how a head turns by it. Turning by -angle is turning by sines of
// the other sign.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

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

/// A row of n numbers in lines of a cache of its own.
template <class Number>
HWY_INLINE std::int64_t in_lines(std::int64_t numbers) {
  constexpr std::int64_t line = 64 / sizeof(Number);
  return (numbers + line - 1) / line * line;
}

/// Where a row lies.
template <class Number>
class RowPlace {
 public:
  /// Numbers from the cosines to the sines and from these to the next row.
  static HWY_INLINE std::int64_t half(std::int64_t pairs) { return pairs; }
  HWY_INLINE const Number* cos() const { return cos_; }
  HWY_INLINE void move_to(const Number* cos, std::int64_t half) {
    cos_ = cos;
    sin_ = cos + half;
  }

 protected:
  HWY_INLINE RowPlace(const Number* cos, const Number* sin, std::int64_t pairs)
      : cos_(cos), sin_(sin), pairs_(pairs) {}

  const Number *cos_, *sin_;
  std::int64_t pairs_;
};

/// The row in the order in which load_in_order() brings elements: as it stands, or even and odd numbers apart, a group
/// at a time. Vectors are those of Full or smaller.
template <class Element, class Full = hn::ScalableTag<Wide<Element>>>
class HalvesRow : public RowPlace<Wide<Element>> {
  using Place = RowPlace<Wide<Element>>;
  using Place::cos_, Place::pairs_, Place::sin_;

 public:
  using Number = Wide<Element>;
  using D = Full;
  static constexpr bool needs_memory = !HWY_HAVE_SCALABLE && is_bf16<Element> && !in_order<Element>;
  static constexpr std::int64_t max_row_pairs = needs_memory ? 256 : max_pairs;
  /// Groups whose numbers leave registers for a head.
  static constexpr int most_held = is_bf16<Element> ? (many_registers ? 3 : 2) : (many_registers ? 8 : 4);
  static constexpr int most_together = most_held / (is_bf16<Element> ? 1 : 2);

  using Any = const HalvesRow&;

  /// `memory` is aligned, of 2 * half(pairs) numbers, where the row needs it; else it stays where it is.
  HWY_INLINE HalvesRow(const RotateArgs& args, const Number* cos, const Number* sin, std::int64_t pairs,
                       [[maybe_unused]] Number* memory)
      : Place(cos, sin, pairs), y_(args.pairs), sign_(args.conjugate ? Number{-0.0} : Number{0}) {
#if !HWY_HAVE_SCALABLE
    if constexpr (needs_memory) {
      set_apart<hn::MaxLanes(D())>(0, memory, memory + half(pairs));
      Place::move_to(memory, half(pairs));
    }
#endif
  }
  static HWY_INLINE std::int64_t half(std::int64_t pairs) {
    return needs_memory ? in_lines<Number>(pairs) : pairs;
  }

  /// Turns any head.
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    std::int64_t i = 0;
#if !HWY_HAVE_SCALABLE
    if constexpr (Elements::vectors == 1) {
      for (; i + 4 * Elements::lanes <= pairs_; i += 4 * Elements::lanes)
        Held<4>(*this, i, y_)(in + i, out + i);
    }
    for (; i + 2 * Elements::lanes <= pairs_; i += 2 * Elements::lanes)
      Held<2>(*this, i, y_)(in + i, out + i);
    if constexpr (Elements::vectors == 2) i = turn_groups_from<hn::MaxLanes(D())>(in, out, i);
#endif
    if (i < pairs_) turn_from<hn::MaxLanes(D())>(in, out, i);
  }

  static HWY_INLINE std::int64_t offset_of(std::int64_t pair) { return pair; }

#if !HWY_HAVE_SCALABLE
  using Elements = Group<D, Element>;

  static constexpr int group_pairs = Elements::lanes;
  static constexpr std::size_t least_lanes =
      Elements::vectors == 2 ? 4 : 1;  // of the arithmetic, of a part of a group

  /// n groups of a row, from pair `first` on, in registers. The x of a head are loaded before any of it is stored, so that
  /// memory is met in the order of its addresses, and then as many y as there are registers for.
  template <int n, class Tag = D>
  class Held {
   public:
    using Elements = Group<Tag, Element>;

    /// Of a head of `pairs`: where that is known when compiling, loops over heads have more registers free.
    HWY_INLINE Held(const HalvesRow& row, std::int64_t first, std::int64_t pairs) : y_(pairs) {
      constexpr int width = Elements::lanes / Elements::vectors;
      const auto sign = hn::Set(Tag(), row.sign_);
      for (int i = 0; i < n * Elements::vectors; ++i) cos_[i] = load(Tag(), row.cos_ + first + i * width);
      for (int i = 0; i < n * Elements::vectors; ++i) {
        sin_[i] = keep(hn::Xor(hn::LoadU(Tag(), row.sin_ + first + i * width), sign));
      }
    }
    HWY_INLINE void operator()(const Element* in, Element* out) const {
      Elements x[n];
      for (int i = 0; i < n; ++i) x[i] = load_in_order(Tag(), in + i * Elements::lanes);
      for (int first = 0; first < n; first += at_once) turn_some(x + first, first, in, out);
    }

   private:
    /// Each time asks for NaNs.
    static constexpr bool in_fours = many_registers && std::is_same_v<Element, f16> && n % 4 == 0;
    static constexpr int at_once = n <= most_together ? n : in_fours ? 4 : 1;
    HWY_INLINE void turn_some(const Elements* x, int first, const Element* in, Element* out) const {
      Elements turned[2 * at_once];  // and the y of turned[i] is turned[at_once + i]
      Element* const to = out + first * Elements::lanes;
      for (int i = 0; i < at_once; ++i) turned[i] = x[i];
      for (int i = 0; i < at_once; ++i) {
        turned[at_once + i] = load_in_order(Tag(), in + y_ + (first + i) * Elements::lanes);
      }
      for (int i = 0; i < at_once; ++i) {
        for (int j = 0; j < Elements::vectors; ++j) {
          const int at = (first + i) * Elements::vectors + j;
          turn_pairs(turned[i].v[j], turned[at_once + i].v[j], cos_[at], sin_[at]);
        }
      }
      const auto place = [&](int i) HWY_ATTR {
        return i < at_once ? to + i * Elements::lanes : to + y_ + (i - at_once) * Elements::lanes;
      };
      if constexpr (n <= 2 && std::is_same_v<Element, Number>) {
        // In the order of addresses, which g++ would change: where a window is half of a head that costs a sixth.
        for (int i = 0; i < 2 * at_once; ++i) store(Tag(), keep(turned[i].v[0]), place(i));
      } else {
        store_in_order(Tag(), turned, place);
      }
    }

    hn::Vec<Tag> cos_[n * Elements::vectors], sin_[n * Elements::vectors];
    std::int64_t y_;
  };

  /// Turns a head of so many pairs, met in the order of its addresses: all x are in registers before the first y.
  static constexpr bool streams = !is_bf16<Element>;
  template <int pairs>
  HWY_INLINE void stream(const Element* in, Element* out) const {
    constexpr int lanes = hn::MaxLanes(D()), n = pairs / lanes;
    const auto sign = hn::Set(D(), sign_);
    hn::Vec<D> x[n];
    for (int i = 0; i < n; ++i) x[i] = load(D(), in + i * lanes);
    for (int i = 0; i < n; ++i) {
      const int at = i * lanes;
      auto y = load(D(), in + pairs + at);
      turn_pairs(x[i], y, load(D(), cos_ + at), hn::Xor(load(D(), sin_ + at), sign));
      store(D(), x[i], out + at);
      store(D(), y, out + pairs + at);
    }
  }

  /// A head of m vectors of x and as many of y, which come in order as m groups.
  template <int m>
  class HeldHead {
   public:
    static constexpr int pairs = m * static_cast<int>(hn::MaxLanes(D()));

    HWY_INLINE explicit HeldHead(const HalvesRow& row) {
      constexpr int width = pairs / m;
      const auto sign = hn::Set(D(), row.sign_);
      for (int i = 0; i < m; ++i) cos_[i] = load(D(), row.cos_ + i * width);
      for (int i = 0; i < m; ++i) sin_[i] = keep(hn::Xor(hn::LoadU(D(), row.sin_ + i * width), sign));
    }
    HWY_INLINE void operator()(const Element* in, Element* out) const {
      Elements head[m];
      const auto vector = [&](int i) HWY_ATTR -> hn::Vec<D>& { return head[i / 2].v[i % 2]; };
      for (int i = 0; i < m; ++i) head[i] = load_in_order(D(), in + i * Elements::lanes);
      for (int i = 0; i < m; ++i) turn_pairs(vector(i), vector(m + i), cos_[i], sin_[i]);
      store_in_order(D(), head, [&](int i) HWY_ATTR { return out + i * Elements::lanes; });
    }

   private:
    hn::Vec<D> cos_[m], sin_[m];
  };

  /// Half of a group or less that comes in order: a vector of x and one of y, packed together.
  template <class Tag>
  class HeldVector {
   public:
    HWY_INLINE HeldVector(const HalvesRow& row, std::int64_t first, std::int64_t pairs)
        : cos_(hn::LoadU(Tag(), row.cos_ + first)),
          sin_(hn::Xor(hn::LoadU(Tag(), row.sin_ + first), hn::Set(Tag(), row.sign_))),
          y_(pairs) {}
    HWY_INLINE void operator()(const Element* in, Element* out) const {
      auto x = load(Tag(), in), y = load(Tag(), in + y_);
      turn_pairs(x, y, cos_, sin_);
      store_two(Tag(), x, y, {out, out + y_});
    }

   private:
    hn::Vec<Tag> cos_, sin_;
    std::int64_t y_;
  };
  /// That fraction of a group in registers.
  template <int fraction>
  using HeldFraction = std::conditional_t<in_order<Element>,
                                          HeldVector<hn::CappedTag<Number, 2 * hn::MaxLanes(D()) / fraction>>,
                                          Held<1, hn::CappedTag<Number, hn::MaxLanes(D()) / fraction>>>;
#endif

 private:
#if !HWY_HAVE_SCALABLE
  /// As turn_groups_from() will want it.
  template <std::size_t cap>
  HWY_INLINE void set_apart(std::int64_t i, Number* cos, Number* sin) const {
    const hn::CappedTag<Number, cap> d;
    constexpr std::int64_t lanes = Group<decltype(d), Element>::lanes;
    for (; i + lanes <= pairs_; i += lanes) {
      for (const auto& [from, to] : {std::pair{cos_, cos}, std::pair{sin_, sin}}) {
        hn::Vec<decltype(d)> even, odd;
        hn::LoadInterleaved2(d, from + i, even, odd);
        hn::StoreU(even, d, to + i);
        hn::StoreU(odd, d, to + i + lanes / 2);
      }
    }
    if constexpr (cap > least_lanes) {
      if (i < pairs_) set_apart<cap / 2>(i, cos, sin);
    } else {
      std::copy(cos_ + i, cos_ + pairs_, cos + i);
      std::copy(sin_ + i, sin_ + pairs_, sin + i);
    }
  }

  /// Groups from pair i on, of at most `cap` lanes, then of half as many. Where they end.
  template <std::size_t cap>
  HWY_INLINE std::int64_t turn_groups_from(const Element* in, Element* out, std::int64_t i) const {
    using Tag = hn::CappedTag<Number, cap>;
    if (i + Group<Tag, Element>::lanes <= pairs_) {
      Held<1, Tag>(*this, i, y_)(in + i, out + i);
      i += Group<Tag, Element>::lanes;
    }
    if constexpr (cap > least_lanes) {
      if (i < pairs_) return turn_groups_from<cap / 2>(in, out, i);
    }
    return i;
  }
#endif

  /// Pairs from i on in vectors of at most `cap` lanes, then of half as many.
  template <std::size_t cap>
  HWY_INLINE void turn_from(const Element* in, Element* out, std::int64_t i) const {
    const hn::CappedTag<Number, cap> d;
    const auto step = static_cast<std::int64_t>(hn::Lanes(d));
    for (; i + step <= pairs_; i += step) {
      auto a = load(d, in + i), b = load(d, in + y_ + i);
      turn_pairs(a, b, load(d, cos_ + i), hn::Xor(load(d, sin_ + i), hn::Set(d, sign_)));
      store(d, a, out + i);
      store(d, b, out + y_ + i);
    }
    if constexpr (cap > 1) {
      if (i < pairs_) turn_from<cap / 2>(in, out, i);
    }
  }

  std::int64_t y_;
  Number sign_;  // of the sines, a zero
};

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
