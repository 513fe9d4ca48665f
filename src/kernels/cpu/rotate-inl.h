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
#include <cstdlib>

#include "kernels/rotate_args.hpp"

// Without a fused multiply-add the bits would differ: turn_unfused.cc.
#if HWY_NATIVE_FMA

// Each uses those before it.
// clang-format off
#include "kernels/cpu/convert-inl.h"
#include "kernels/cpu/regroup-inl.h"
#include "kernels/cpu/halves-inl.h"
#include "kernels/cpu/adjacent-inl.h"
#include "kernels/cpu/crossing-inl.h"
#include "kernels/cpu/fetch-inl.h"
#include "kernels/cpu/turns-inl.h"
#include "kernels/cpu/head_runs-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Turns one head that is wider than a Row can be.
template <class Row>
struct TurnInParts {
  template <class Element>
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    HWY_ALIGN typename Row::Number numbers[Row::needs_memory ? 4 * Row::max_row_pairs : 1];
    auto* const memory = Row::needs_memory ? numbers : nullptr;
    for (std::int64_t first = 0; first < args.pairs; first += Row::max_row_pairs) {
      const auto count = std::min(Row::max_row_pairs, args.pairs - first);
      const std::int64_t offset = Row::offset_of(first);
      typename Row::Any(Row(args, cos + first, sin + first, count, memory))(in + offset, out + offset);
    }
  }
  const RotateArgs& args;
  const typename Row::Number *cos, *sin;
};

/// All heads of one token, q's and then k's. What turns them stands here once: it is long, and there are many of it.
template <class Element, class Turn>
HWY_INLINE void turn_heads(const RotateArgs& args, std::int64_t token, const Ahead* ahead, const Turn& turn) {
  for (std::int32_t n = 0; n < args.operands; ++n) {
    const auto& operand = args.operand[n];
    const std::int64_t in_stride = operand.in_head_stride, out_stride = operand.out_head_stride;
    const Element* in = static_cast<const Element*>(operand.in) + token * operand.in_token_stride;
    Element* out = static_cast<Element*>(operand.out) + token * operand.out_token_stride;
    std::int64_t heads = operand.heads, later = 0;  // to turn now, and then
    std::int64_t fetched = 0, next = 0;             // so many elements ahead; 0: nowhere
    if (const std::int64_t left = args.tokens - token - ahead[n].tokens; left > 0) {
      // Up to the head whose fetched one is the last of its token, and from there on.
      later = ahead[n].heads;
      heads -= later;
      fetched = ahead[n].tokens * operand.in_token_stride + later * in_stride;
      next = left > 1 ? fetched + operand.in_token_stride - operand.heads * in_stride : 0;
    }
    for (;;) {
      turn(in, out, in_stride, out_stride, heads, fetched);
      if (later == 0) break;
      in += heads * in_stride;
      out += heads * out_stride;
      heads = later;
      fetched = next;
      later = 0;
    }
  }
}

/// The row, or what fits of it, stays in registers over all heads of a token. A function of its own, whose loops have all
/// registers.
template <class Element, class Row>
struct TurnHeads {
  template <int n, int fraction>
  HWY_NOINLINE void operator()() const {
    using Turn = Turns<Row, n, fraction>;
    HWY_ALIGN typename Row::Number numbers[Row::needs_memory ? 4 * Row::max_row_pairs : 1];
    const auto* cos = static_cast<const typename Row::Number*>(args.rows);
    for (std::int64_t token = 0; token < args.tokens; ++token, cos += 2 * args.pairs) {
      const Row row(args, cos, cos + args.pairs, args.pairs, Row::needs_memory ? numbers : nullptr);
      if constexpr (Turn::passes == 1) {
        const typename Turn::Type& turn = Turn::make(row, 0);
        turn_heads<Element>(args, token, ahead, each_head<Turn::elements>(turn, args));
      } else {
        const typename Row::Any& any = typename Row::Any(row);
        turn_heads<Element>(args, token, ahead, InPasses<Turn>{any, args});
      }
    }
  }
  const RotateArgs& args;
  const Ahead* ahead;
};

/// The tokens of a head lie nearer together than the heads of a token, and there is more than one.
HWY_INLINE bool is_head_major(const RotateArgs& args) {
  const auto& first = args.operand[0];
  return args.tokens > 1 && std::abs(first.out_head_stride) > std::abs(first.out_token_stride);
}

template <class Element, class Row>
HWY_NOINLINE void rotate_tokens(const RotateArgs& args) {
  Ahead ahead[2];
  for (std::int32_t n = 0; n < args.operands; ++n) {
    ahead[n] = fetch_ahead(args, args.operand[n].heads, sizeof(Element));
  }
  if (args.pairs <= Row::max_row_pairs) {
    return with_groups<Row>(args.pairs, TurnHeads<Element, Row>{args, ahead});
  }
  for (std::int64_t token = 0; token < args.tokens; ++token) {
    const auto* cos = static_cast<const typename Row::Number*>(args.rows) + token * 2 * args.pairs;
    turn_heads<Element>(args, token, ahead,
                        each_head<0>(TurnInParts<Row>{args, cos, cos + args.pairs}, args));
  }
}

template <class Element, class Row>
HWY_INLINE void rotate_by(const RotateArgs& args) {
  if (args.pairs <= Row::max_row_pairs && is_head_major(args)) return rotate_head_runs<Element, Row>(args);
  rotate_tokens<Element, Row>(args);
}

/// For lanes that keep their places.
template <class Element>
HWY_INLINE void rotate_in_order(const RotateArgs& args) {
  if (args.out_lanes == Lanes::halves) {
    rotate_by<Element, HalvesRow<Element>>(args);
  } else {
    rotate_by<Element, AdjacentRowOf<Element>>(args);
  }
}

/// For lanes that change places: heads are regrouped into `stage` and rotated from there, as many as it holds
/// at a time, so that it works in place too.
template <class Element>
HWY_NOINLINE void rotate_regrouped(const RotateArgs& args) {
  HWY_ALIGN unsigned char memory[2 * max_pairs * sizeof(Element)];
  auto* stage = reinterpret_cast<Element*>(memory);
  const std::int64_t width = 2 * args.pairs, most = max_pairs / args.pairs;
  for (std::int64_t token = 0; token < args.tokens; ++token) {
    RotateArgs part = args;
    part.operands = 1;
    part.tokens = 1;
    part.rows = static_cast<const Wide<Element>*>(args.rows) + token * width;
    for (std::int32_t n = 0; n < args.operands; ++n) {
      const auto& whole = args.operand[n];
      const Element* in = static_cast<const Element*>(whole.in) + token * whole.in_token_stride;
      Element* out = static_cast<Element*>(whole.out) + token * whole.out_token_stride;
      for (std::int64_t head = 0; head < whole.heads; head += most) {
        auto& heads = part.operand[0] = whole;
        heads.heads = std::min(most, whole.heads - head);
        heads.in = stage;
        heads.in_head_stride = width;
        heads.out = out + head * whole.out_head_stride;
        for (std::int64_t i = 0; i < heads.heads; ++i) {
          regroup(args.out_lanes, in + (head + i) * whole.in_head_stride, stage + i * width, args.pairs);
        }
        rotate_in_order<Element>(part);
      }
    }
  }
}

/// Lanes change places in registers where a whole head fits them.
template <class Element, Lanes to>
struct TurnAcross {
  template <int n>
  HWY_NOINLINE void operator()() const {
    if constexpr (n == 0) {
      rotate_regrouped<Element>(args);
    } else {
      Ahead ahead[2];
      for (std::int32_t i = 0; i < args.operands; ++i) {
        ahead[i] = fetch_ahead(args, args.operand[i].heads, sizeof(Element));
      }
      for (std::int64_t token = 0; token < args.tokens; ++token) {
        using Turn = Crossing<Element, to, n>;
        turn_heads<Element>(args, token, ahead, each_head<Turn::elements>(Turn(args, token), args));
      }
    }
  }
  const RotateArgs& args;
};

template <class Element>
HWY_INLINE void rotate(const RotateArgs& args) {
  if (args.in_lanes == args.out_lanes) return rotate_in_order<Element>(args);
  if (args.out_lanes == Lanes::halves) {
    with_crossing<Element>(args.pairs, TurnAcross<Element, Lanes::halves>{args});
  } else {
    with_crossing<Element>(args.pairs, TurnAcross<Element, Lanes::adjacent>{args});
  }
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
#endif
