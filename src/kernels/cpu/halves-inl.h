// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// One row of cos and sin for heads in halves, and how a head turns by it. Turning by -angle is turning (y, x)
// by +angle.
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

/// The row moves to `memory`, of 2 * in_lines(pairs) numbers, unless that is null.
template <class Number>
HWY_INLINE void move_row(const Number*& cos, const Number*& sin, std::int64_t pairs, Number* memory) {
  if (memory == nullptr) return;
  Number* const sines = memory + in_lines<Number>(pairs);
  std::copy_n(cos, pairs, memory);
  std::copy_n(sin, pairs, sines);
  cos = memory;
  sin = sines;
}

/// The row in the order in which load_group() brings elements: as it stands, or for bf16 even and odd numbers
/// apart, a group at a time.
template <class Element>
class HalvesRow {
 public:
  using Number = Wide<Element>;
  using D = hn::ScalableTag<Number>;
  static constexpr std::int64_t max_row_pairs = is_bf16<Element> ? 256 : max_pairs;
  static constexpr int elements = 0;  // of a head: any
  /// Groups whose numbers leave registers for a head.
  static constexpr int most_held = is_bf16<Element> ? (many_registers ? 3 : 2) : (many_registers ? 8 : 4);
  static constexpr bool needs_memory = is_bf16<Element>;

  /// `memory` is aligned, of numbers(pairs); it may be null where the row may stay where it is.
  HWY_INLINE HalvesRow(const RotateArgs& args, const Number* cos, const Number* sin, std::int64_t pairs,
                       Number* memory)
      : cos_(cos), sin_(sin), pairs_(pairs), x_(args.conjugate ? args.pairs : 0), y_(args.pairs - x_) {
#if !HWY_HAVE_SCALABLE
    if constexpr (apart) {
      apart_cos_ = memory;
      apart_sin_ = memory + in_lines<Number>(pairs);
      set_apart<hn::MaxLanes(D())>(0);
      return;
    }
#endif
    move_row(cos_, sin_, pairs, memory);
  }
  static HWY_INLINE std::int64_t numbers(std::int64_t pairs) { return 2 * in_lines<Number>(pairs); }

  /// Turns any head.
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    std::int64_t i = 0;
#if !HWY_HAVE_SCALABLE
    if constexpr (Elements::vectors == 1) {
      for (; i + 4 * Elements::lanes <= pairs_; i += 4 * Elements::lanes) Held<4>(*this, i)(in + i, out + i);
    }
    for (; i + 2 * Elements::lanes <= pairs_; i += 2 * Elements::lanes) Held<2>(*this, i)(in + i, out + i);
    if constexpr (apart) i = turn_groups_from<hn::MaxLanes(D())>(in, out, i);
#endif
    if (i < pairs_) turn_from<hn::MaxLanes(D())>(in, out, i);
  }

  static HWY_INLINE std::int64_t offset_of(std::int64_t pair) { return pair; }

#if !HWY_HAVE_SCALABLE
  using Elements = Group<D, Element>;
  static constexpr bool apart = Elements::vectors == 2;

  static constexpr int group_pairs = Elements::lanes;
  static constexpr std::size_t least_lanes = apart ? 4 : 1;  // of the arithmetic, of a part of a group

  /// n groups of a row, from pair `first` on, in registers. A head is loaded whole, in the order of its addresses, before it is
  /// stored.
  template <int n, class Tag = D>
  class Held {
   public:
    using Elements = Group<Tag, Element>;
    static constexpr int elements = 2 * n * Elements::lanes;  // of a head

    HWY_INLINE explicit Held(const HalvesRow& row, std::int64_t first = 0) : x_(row.x_), y_(row.y_) {
      const Number* cos = apart ? row.apart_cos_ : row.cos_;
      const Number* sin = apart ? row.apart_sin_ : row.sin_;
      constexpr int width = Elements::lanes / Elements::vectors;
      for (int i = 0; i < n * Elements::vectors; ++i) cos_[i] = hn::LoadU(Tag(), cos + first + i * width);
      for (int i = 0; i < n * Elements::vectors; ++i) sin_[i] = hn::LoadU(Tag(), sin + first + i * width);
    }
    HWY_INLINE void operator()(const Element* in, Element* out) const {
      Elements x[2 * n];  // and the y of x[i] is x[n + i]
      const Element *x_in = in + x_, *y_in = in + y_;
      Element *x_out = out + x_, *y_out = out + y_;
      for (int i = 0; i < n; ++i) x[i] = load_group(Tag(), x_in + i * Elements::lanes);
      for (int i = 0; i < n; ++i) x[n + i] = load_group(Tag(), y_in + i * Elements::lanes);
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < Elements::vectors; ++j) {
          const int at = i * Elements::vectors + j;
          turn_pairs(x[i].v[j], x[n + i].v[j], cos_[at], sin_[at]);
        }
      }
      store_groups(Tag(), x, [&](int i) HWY_ATTR {
        return i < n ? x_out + i * Elements::lanes : y_out + (i - n) * Elements::lanes;
      });
    }

   private:
    hn::Vec<Tag> cos_[n * Elements::vectors], sin_[n * Elements::vectors];
    std::int64_t x_, y_;
  };
#endif

 private:
#if !HWY_HAVE_SCALABLE
  /// As turn_groups_from() will want it.
  template <std::size_t cap>
  HWY_INLINE void set_apart(std::int64_t i) {
    const hn::CappedTag<Number, cap> d;
    constexpr std::int64_t lanes = Group<decltype(d), Element>::lanes;
    for (; i + lanes <= pairs_; i += lanes) {
      for (const auto& [from, to] : {std::pair{cos_, apart_cos_}, std::pair{sin_, apart_sin_}}) {
        hn::Vec<decltype(d)> even, odd;
        hn::LoadInterleaved2(d, from + i, even, odd);
        hn::StoreU(even, d, to + i);
        hn::StoreU(odd, d, to + i + lanes / 2);
      }
    }
    if constexpr (cap > least_lanes) {
      if (i < pairs_) set_apart<cap / 2>(i);
    }
  }

  /// Groups from pair i on, of at most `cap` lanes, then of half as many. Where they end.
  template <std::size_t cap>
  HWY_INLINE std::int64_t turn_groups_from(const Element* in, Element* out, std::int64_t i) const {
    using Tag = hn::CappedTag<Number, cap>;
    if (i + Group<Tag, Element>::lanes <= pairs_) {
      Held<1, Tag>(*this, i)(in + i, out + i);
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
  Number *apart_cos_ = nullptr, *apart_sin_ = nullptr;
};

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
