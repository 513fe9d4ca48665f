// SPDX-License-Identifier: Apache-2.0
// The rotation of one element type for one SIMD target. Vectors grow narrower towards the end of a head, down
// to one pair, so nothing is masked and no byte outside the window is read or written.
#if defined(ROTARY_KERNELS_CPU_ROTATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_CPU_ROTATE_INL_H_
#undef ROTARY_KERNELS_CPU_ROTATE_INL_H_
#else
#define ROTARY_KERNELS_CPU_ROTATE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/convert-inl.h"
#include "kernels/cpu/regroup-inl.h"
#include "kernels/rotate_args.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// One row for heads in halves. Turning by -angle is turning (y, x) by +angle.
template <class Element>
struct HalvesRow {
  using Number = Wide<Element>;
  static constexpr std::size_t narrowest = 1;
  static constexpr std::int64_t max_row_pairs = max_pairs;

  HWY_INLINE HalvesRow(const RotateArgs& args, const Number* row_cos, const Number* row_sin,
                       std::int64_t count)
      : cos(row_cos), sin(row_sin), lanes(count), x(args.conjugate ? args.pairs : 0), y(args.pairs - x) {}

  template <class D>
  HWY_INLINE void turn(D d, const Element* in, Element* out, std::int64_t i) const {
    const auto a = load(d, in + x + i), b = load(d, in + y + i);
    const auto c = hn::LoadU(d, cos + i), s = hn::LoadU(d, sin + i);
    store(d, hn::MulSub(a, c, hn::Mul(b, s)), out + x + i);
    store(d, hn::MulAdd(b, c, hn::Mul(a, s)), out + y + i);
  }

  const Number *cos, *sin;
  std::int64_t lanes;  ///< to step through
  std::int64_t x, y;   ///< where the halves begin
};

/// One row for heads of adjacent lanes: each number twice, the sine with its sign, so that a vector of x y x
/// y ... turns with its own swapped copy.
template <class Element>
struct AdjacentRow {
  using Number = Wide<Element>;
  static constexpr std::size_t narrowest = 2;
  static constexpr std::int64_t max_row_pairs = 256;

  HWY_INLINE AdjacentRow(const RotateArgs& args, const Number* row_cos, const Number* row_sin,
                         std::int64_t count)
      : lanes(2 * count) {
    const hn::ScalableTag<Number> d;
    const auto step = static_cast<std::int64_t>(hn::Lanes(d));
    const Number sign = args.conjugate ? Number{-1} : Number{1};
    const auto signs = hn::Set(d, sign);
    std::int64_t i = 0;
    for (; i + step <= count; i += step) {
      const auto c = hn::LoadU(d, row_cos + i), s = hn::Mul(hn::LoadU(d, row_sin + i), signs);
      hn::StoreInterleaved2(c, c, d, cos + 2 * i);
      hn::StoreInterleaved2(hn::Neg(s), s, d, sin + 2 * i);
    }
    for (; i < count; ++i) {
      cos[2 * i] = cos[2 * i + 1] = row_cos[i];
      sin[2 * i] = -sign * row_sin[i];
      sin[2 * i + 1] = sign * row_sin[i];
    }
  }

  template <class D>
  HWY_INLINE void turn(D d, const Element* in, Element* out, std::int64_t i) const {
    const auto v = load(d, in + i);
    const auto c = hn::LoadU(d, cos + i), s = hn::LoadU(d, sin + i);
    store(d, hn::MulAdd(v, c, hn::Mul(hn::Reverse2(d, v), s)), out + i);
  }

  HWY_ALIGN Number cos[2 * max_row_pairs], sin[2 * max_row_pairs];
  std::int64_t lanes;
};

/// The lanes of a head from i on, in vectors of at most `cap` lanes, then of half as many.
template <std::size_t cap, class Row, class Element>
HWY_INLINE void turn_from(const Row& row, const Element* in, Element* out, std::int64_t i) {
  const hn::CappedTag<typename Row::Number, cap> d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + step <= row.lanes; i += step) row.turn(d, in, out, i);
  if constexpr (cap > Row::narrowest) turn_from<cap / 2>(row, in, out, i);
}

/// Turns one head by a row that stays in memory, which is to say in the first cache.
template <class Row, class Element>
struct TurnByRow {
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    constexpr auto widest = hn::MaxLanes(hn::ScalableTag<typename Row::Number>());
    turn_from<widest>(row, in, out, 0);
  }
  const Row& row;
};

/// Turns one head that is wider than a Row can be.
template <class Row, class Element>
struct TurnInParts {
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    for (std::int64_t first = 0; first < args.pairs; first += Row::max_row_pairs) {
      const auto count = std::min(Row::max_row_pairs, args.pairs - first);
      const Row row(args, cos + first, sin + first, count);
      TurnByRow<Row, Element>{row}(in + 2 * first, out + 2 * first);
    }
  }
  const RotateArgs& args;
  const typename Row::Number *cos, *sin;
};

/// All heads of one token, q's and then k's. With a `stage` a head is regrouped there first, so that lanes
/// may change places in place.
template <class Element, class Turn>
HWY_INLINE void turn_heads(const RotateArgs& args, std::int64_t token, Element* stage, const Turn& turn) {
  for (std::int32_t n = 0; n < args.operands; ++n) {
    const auto& operand = args.operand[n];
    const Element* in = static_cast<const Element*>(operand.in) + token * operand.in_token_stride;
    Element* out = static_cast<Element*>(operand.out) + token * operand.out_token_stride;
    for (std::int64_t head = 0; head < operand.heads; ++head) {
      if (stage) {
        regroup(args.out_lanes, in, stage, args.pairs);
        turn(stage, out);
      } else {
        turn(in, out);
      }
      in += operand.in_head_stride;
      out += operand.out_head_stride;
    }
  }
}

template <class Row, class Element>
HWY_INLINE void rotate_tokens(const RotateArgs& args, Element* stage) {
  for (std::int64_t token = 0; token < args.tokens; ++token) {
    const auto* cos = static_cast<const typename Row::Number*>(args.rows) + token * 2 * args.pairs;
    const auto* sin = cos + args.pairs;
    if (args.pairs <= Row::max_row_pairs) {
      const Row row(args, cos, sin, args.pairs);
      turn_heads(args, token, stage, TurnByRow<Row, Element>{row});
    } else {
      turn_heads(args, token, stage, TurnInParts<Row, Element>{args, cos, sin});
    }
  }
}

template <class Element>
HWY_INLINE void rotate_staged(const RotateArgs& args, Element* stage) {
  if (args.out_lanes == Lanes::halves) {
    rotate_tokens<HalvesRow<Element>>(args, stage);
  } else {
    rotate_tokens<AdjacentRow<Element>>(args, stage);
  }
}

template <class Element>
HWY_NOINLINE void rotate_regrouped(const RotateArgs& args) {
  alignas(64) unsigned char stage[2 * max_pairs * sizeof(Element)];
  rotate_staged(args, reinterpret_cast<Element*>(stage));
}

template <class Element>
HWY_INLINE void rotate(const RotateArgs& args) {
  if (args.in_lanes == args.out_lanes) {
    rotate_staged<Element>(args, nullptr);
  } else {
    rotate_regrouped<Element>(args);
  }
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
