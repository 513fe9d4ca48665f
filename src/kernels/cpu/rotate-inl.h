// SPDX-License-Identifier: Apache-2.0
// The rotation of one element type for one SIMD target. Vectors grow narrower towards the end of a head, down
// to one pair, so nothing is masked and no byte outside the window is read or written.
#if defined(ROTARY_KERNELS_CPU_ROTATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_CPU_ROTATE_INL_H_
#undef ROTARY_KERNELS_CPU_ROTATE_INL_H_
#else
#define ROTARY_KERNELS_CPU_ROTATE_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "kernels/rotate_args.hpp"

// Without a fused multiply-add there is no kernel: the bits would differ.
#if HWY_NATIVE_FMA

// Each uses those before it.
// clang-format off
#include "kernels/cpu/convert-inl.h"
#include "kernels/cpu/regroup-inl.h"
#include "kernels/cpu/halves-inl.h"
#include "kernels/cpu/adjacent-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Turns one head that is wider than a Row can be.
template <class Row>
struct TurnInParts {
  template <class Element>
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    for (std::int64_t first = 0; first < args.pairs; first += Row::max_row_pairs) {
      const auto count = std::min(Row::max_row_pairs, args.pairs - first);
      Row(args, cos + first, sin + first, count)(in + Row::offset_of(first), out + Row::offset_of(first));
    }
  }
  static constexpr int elements = 0;
  const RotateArgs& args;
  const typename Row::Number *cos, *sin;
};

/// How far ahead of a head memory is fetched: so many tokens and heads, within the call. None: tokens is too
/// large.
struct Ahead {
  std::int64_t tokens, heads;
};

HWY_INLINE Ahead fetch_ahead(const RotateArgs& args, std::int64_t heads, std::int64_t element_bytes) {
  // Bytes. A pass over 16-bit elements moves fewer of them in the same time, and gains by looking farther.
  const std::int64_t distance = element_bytes == 2 ? 8192 : 4096;
  constexpr std::int64_t worthwhile = 65536;
  const std::int64_t head_bytes = 2 * args.pairs * element_bytes;
  if (args.tokens * heads * head_bytes < worthwhile) return {args.tokens, 0};
  const std::int64_t count = (distance + head_bytes - 1) / head_bytes;
  return {count / heads, count % heads};
}

/// Fetches a head: of as many elements as Turn knows, or as it is told.
template <class Turn, class Element>
HWY_INLINE void fetch_head(const Element* head, std::int64_t pairs) {
  const auto* bytes = reinterpret_cast<const char*>(head);
  if constexpr (Turn::elements != 0) {
    for (std::size_t at = 0; at < Turn::elements * sizeof(Element); at += 64) hwy::Prefetch(bytes + at);
  } else {
    const auto end = 2 * pairs * static_cast<std::int64_t>(sizeof(Element));
    for (std::int64_t at = 0; at < end; at += 64) hwy::Prefetch(bytes + at);
  }
}

/// The heads of one token, `fetched` elements ahead of which memory is fetched; 0: nowhere.
template <class Element, class Turn>
HWY_INLINE void turn_run(const Element* in, Element* out, std::int64_t heads, std::int64_t in_stride,
                         std::int64_t out_stride, std::int64_t pairs, std::int64_t fetched,
                         const Turn& turn) {
  if (in == out && in_stride == out_stride) {  // one pointer less
    if (fetched == 0) {
      for (; heads > 0; --heads, out += out_stride) turn(out, out);
      return;
    }
    for (; heads > 0; --heads, out += out_stride) {
      fetch_head<Turn>(out + fetched, pairs);
      turn(out, out);
    }
    return;
  }
  for (; heads > 0; --heads, in += in_stride, out += out_stride) {
    if (fetched != 0) fetch_head<Turn>(in + fetched, pairs);
    turn(in, out);
  }
}

/// All heads of one token, q's and then k's.
template <class Element, class Turn>
HWY_INLINE void turn_heads(const RotateArgs& args, std::int64_t token, const Ahead* ahead, const Turn& turn) {
  for (std::int32_t n = 0; n < args.operands; ++n) {
    const auto& operand = args.operand[n];
    const Element* in = static_cast<const Element*>(operand.in) + token * operand.in_token_stride;
    Element* out = static_cast<Element*>(operand.out) + token * operand.out_token_stride;
    const std::int64_t left =
        args.tokens - token - ahead[n].tokens;  // tokens that may be fetched, from this on
    if (left <= 0) {
      turn_run(in, out, operand.heads, operand.in_head_stride, operand.out_head_stride, args.pairs, 0, turn);
      continue;
    }
    // Up to the head whose fetched one is the last of its token, and from there on.
    const std::int64_t near = operand.heads - ahead[n].heads;
    const std::int64_t fetched =
        ahead[n].tokens * operand.in_token_stride + ahead[n].heads * operand.in_head_stride;
    turn_run(in, out, near, operand.in_head_stride, operand.out_head_stride, args.pairs, fetched, turn);
    const std::int64_t next = fetched + operand.in_token_stride - operand.heads * operand.in_head_stride;
    turn_run(in + near * operand.in_head_stride, out + near * operand.out_head_stride, ahead[n].heads,
             operand.in_head_stride, operand.out_head_stride, args.pairs, left > 1 ? next : 0, turn);
  }
}

template <class Row>
HWY_INLINE std::int64_t group_count(const Row& row) {
#if HWY_HAVE_SCALABLE
  (void)row;
  return 0;
#else
  return row.groups();
#endif
}

/// Calls use.template operator()<n>() with the number of groups that a row fills, where n groups fit the
/// registers; 0: any row.
template <class Row, class Use>
HWY_INLINE void with_groups(std::int64_t groups, const Use& use) {
#if !HWY_HAVE_SCALABLE
  if (groups == 1) return use.template operator()<1>();
  if constexpr (Row::most_held >= 2) {
    if (groups == 2) return use.template operator()<2>();
  }
  if constexpr (Row::most_held >= 3) {
    if (groups == 3) return use.template operator()<3>();
  }
  if constexpr (Row::most_held >= 4) {
    if (groups == 4) return use.template operator()<4>();
  }
  if constexpr (Row::most_held >= 6) {
    if (groups == 6) return use.template operator()<6>();
  }
  if constexpr (Row::most_held >= 8) {
    if (groups == 8) return use.template operator()<8>();
  }
#endif
  use.template operator()<0>();
}

/// The row stays in registers over all heads where it fits.
template <class Element, class Row>
struct TurnHeads {
  template <int n>
  HWY_INLINE void operator()() const {
    if constexpr (n == 0) {
      turn_heads<Element>(args, token, ahead, row);
    } else {
      turn_heads<Element>(args, token, ahead, typename Row::template Held<n>(row));
    }
  }
  const Row& row;
  const RotateArgs& args;
  std::int64_t token;
  const Ahead* ahead;
};

/// Some tokens, head after head instead of token after token: what lies together in memory is turned together,
/// and the rows of the tokens stay in the first-level cache.
template <class Element, class Row>
struct TurnHeadRuns {
  template <int n>
  HWY_INLINE void operator()() const {
    for (std::int32_t i = 0; i < args.operands; ++i) {
      const auto& operand = args.operand[i];
      const std::int64_t head_bytes = 2 * args.pairs * static_cast<std::int64_t>(sizeof(Element));
      const std::int64_t ahead = std::clamp<std::int64_t>(4096 / head_bytes, 1, tokens);
      for (std::int64_t head = 0; head < operand.heads; ++head) {
        const Element* in = static_cast<const Element*>(operand.in) + first * operand.in_token_stride +
                            head * operand.in_head_stride;
        Element* out = static_cast<Element*>(operand.out) + first * operand.out_token_stride +
                       head * operand.out_head_stride;
        const std::int64_t here = ahead * operand.in_token_stride;
        const std::int64_t next = here + operand.in_head_stride - tokens * operand.in_token_stride;
        turn_tokens<n>(rows, in, out, tokens - ahead, operand, here);
        const std::int64_t done = tokens - ahead;
        turn_tokens<n>(rows + done, in + done * operand.in_token_stride,
                       out + done * operand.out_token_stride, ahead, operand,
                       head + 1 < operand.heads ? next : 0);
      }
    }
  }

  template <int n>
  HWY_INLINE void turn_tokens(const Row* row, const Element* in, Element* out, std::int64_t count,
                              const RotateArgs::Operand& operand, std::int64_t fetched) const {
    for (; count > 0; --count, ++row, in += operand.in_token_stride, out += operand.out_token_stride) {
      if constexpr (n == 0) {
        if (fetched != 0) fetch_head<Row>(in + fetched, args.pairs);
        (*row)(in, out);
      } else {
        using Held = typename Row::template Held<n>;
        if (fetched != 0) fetch_head<Held>(in + fetched, args.pairs);
        const Held held(*row);
        held(in, out);
      }
    }
  }

  const RotateArgs& args;
  const Row* rows;
  std::int64_t first, tokens;
};

template <class Element, class Row>
HWY_NOINLINE void rotate_head_runs(const RotateArgs& args) {
  using Number = typename Row::Number;
  constexpr std::int64_t most = Row::holds_numbers ? 16 : 32;  // tokens
  alignas(Row) unsigned char memory[most * sizeof(Row)];
  auto* rows = reinterpret_cast<Row*>(memory);
  for (std::int64_t first = 0; first < args.tokens; first += most) {
    const std::int64_t tokens = std::min(most, args.tokens - first);
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto* cos = static_cast<const Number*>(args.rows) + (first + t) * 2 * args.pairs;
      new (rows + t) Row(args, cos, cos + args.pairs, args.pairs);
    }
    with_groups<Row>(group_count(*rows), TurnHeadRuns<Element, Row>{args, rows, first, tokens});
  }
}

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
  for (std::int64_t token = 0; token < args.tokens; ++token) {
    const auto* cos = static_cast<const typename Row::Number*>(args.rows) + token * 2 * args.pairs;
    const auto* sin = cos + args.pairs;
    if (args.pairs <= Row::max_row_pairs) {
      const Row row(args, cos, sin, args.pairs);
      with_groups<Row>(group_count(row), TurnHeads<Element, Row>{row, args, token, ahead});
    } else {
      turn_heads<Element>(args, token, ahead, TurnInParts<Row>{args, cos, sin});
    }
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

template <class Element>
HWY_INLINE void rotate(const RotateArgs& args) {
  args.in_lanes == args.out_lanes ? rotate_in_order<Element>(args) : rotate_regrouped<Element>(args);
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
#endif
