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
#include <type_traits>

#include "kernels/cpu/fetching.hpp"
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
    HWY_ALIGN typename Row::Number numbers[Row::needs_memory ? 4 * Row::max_row_pairs : 1];
    auto* const memory = Row::needs_memory ? numbers : nullptr;
    for (std::int64_t first = 0; first < args.pairs; first += Row::max_row_pairs) {
      const auto count = std::min(Row::max_row_pairs, args.pairs - first);
      Row(args, cos + first, sin + first, count, memory)(in + Row::offset_of(first),
                                                         out + Row::offset_of(first));
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
  if (args.tokens * heads * head_bytes < worthwhile || !fetching_pays()) return {args.tokens, 0};
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

/// All heads of one token, q's and then k's. Turn stands here once, in one loop: it is long, and there are many of it.
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
      for (; heads > 0; --heads, in += in_stride, out += out_stride) {
        if (fetched != 0) fetch_head<Turn>(in + fetched, args.pairs);
        turn(in, out);
      }
      if (later == 0) break;
      heads = later;
      fetched = next;
      later = 0;
    }
  }
}

#if !HWY_HAVE_SCALABLE
/// A row of n groups, more than registers hold: they take it from memory, some at a time.
template <class Row, int n>
class Parts {
 public:
  static constexpr int elements = 2 * n * Row::group_pairs;  // of a head

  HWY_INLINE explicit Parts(const Row& row) : row_(row) {}
  template <class Element>
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    constexpr int part = n % 4 == 0 && Row::most_held >= 4   ? 4
                         : n % 3 == 0 && Row::most_held >= 3 ? 3
                         : n % 2 == 0                        ? 2
                                                             : 1;
    for (int i = 0; i < n; i += part) {
      const std::int64_t pair = i * Row::group_pairs, offset = Row::offset_of(pair);
      typename Row::template Held<part>(row_, pair)(in + offset, out + offset);
    }
  }

 private:
  const Row& row_;
};

/// A row of n groups and a part of one, a half or a quarter.
template <class Row, int n, int part>
class HeldAndPart {
 public:
  static constexpr int elements = 2 * (n * Row::group_pairs + Row::group_pairs / part);  // of a head

  HWY_INLINE explicit HeldAndPart(const Row& row) : groups_(row), rest_(row, n * Row::group_pairs) {}
  template <class Element>
  HWY_INLINE void operator()(const Element* in, Element* out) const {
    const std::int64_t offset = Row::offset_of(n * Row::group_pairs);
    groups_(in, out);
    rest_(in + offset, out + offset);
  }

 private:
  using Rest = hn::CappedTag<typename Row::Number, hn::MaxLanes(typename Row::D()) / part>;
  typename Row::template Held<n> groups_;
  typename Row::template Held<1, Rest> rest_;
};

/// How a row of n groups, and of a part of one where part is not 0, turns a head; of none: of any number.
template <class Row, int n, int part>
struct Turns {
  using Type = std::conditional_t<(n <= Row::most_held), typename Row::template Held<n>, Parts<Row, n>>;
};
template <class Row, int n, int part>
requires(part != 0) struct Turns<Row, n, part> {
  using Type = HeldAndPart<Row, n, part>;
};
#endif
template <class Row>
struct Turns<Row, 0, 0> {
  using Type = const Row&;
};

/// Calls use.template operator()<n, part>() for what a row fills (see Turns).
template <class Row, class Use>
HWY_INLINE void with_groups(std::int64_t pairs, const Use& use) {
#if !HWY_HAVE_SCALABLE
  // Heads of 64, 80, 96, 128, 192 and 256 lanes, in quarters of a group.
  constexpr std::int64_t group = Row::group_pairs;
  switch (4 * pairs % group == 0 ? 4 * pairs / group : 0) {
    case 4 * 1:
      return use.template operator()<1, 0>();
    case 4 * 2:
      return use.template operator()<2, 0>();
    case 4 * 3:
      return use.template operator()<3, 0>();
    case 4 * 4:
      return use.template operator()<4, 0>();
    case 4 * 5:
      return use.template operator()<5, 0>();
    case 4 * 6:
      return use.template operator()<6, 0>();
    case 4 * 8:
      return use.template operator()<8, 0>();
    case 4 * 12:
      return use.template operator()<12, 0>();
    case 4 * 16:
      return use.template operator()<16, 0>();
    case 4 * 1 + 1:
      if constexpr (Row::least_lanes * 4 <= hn::MaxLanes(typename Row::D())) {
        return use.template operator()<1, 4>();
      }
      break;
    case 4 * 1 + 2:
      if constexpr (Row::least_lanes * 2 <= hn::MaxLanes(typename Row::D())) {
        return use.template operator()<1, 2>();
      }
      break;
    case 4 * 2 + 2:
      if constexpr (Row::least_lanes * 2 <= hn::MaxLanes(typename Row::D())) {
        return use.template operator()<2, 2>();
      }
      break;
    default:
      break;
  }
#endif
  use.template operator()<0, 0>();
}

/// The row stays in registers over all heads where it fits. A function of its own, whose loop has all registers.
template <class Element, class Row>
struct TurnHeads {
  template <int n, int part>
  HWY_NOINLINE void operator()() const {
    using Turn = typename Turns<Row, n, part>::Type;
    turn_heads<Element>(args, token, ahead, Turn(row));
  }
  const Row& row;
  const RotateArgs& args;
  std::int64_t token;
  const Ahead* ahead;
};

/// Some tokens of a few heads at a time instead of all heads of a token: what lies together in memory is turned together,
/// and a row serves the few heads while it is in registers.
template <class Element, class Row>
struct TurnHeadRuns {
  template <int n, int part>
  HWY_NOINLINE void operator()() const {
    using Turn = typename Turns<Row, n, part>::Type;
    const std::int64_t head_bytes = 2 * args.pairs * static_cast<std::int64_t>(sizeof(Element));
    const std::int64_t ahead = std::clamp<std::int64_t>(4096 / head_bytes, 1, tokens);
    const bool fetches = fetching_pays();
    for (std::int32_t i = 0; i < args.operands; ++i) {
      const auto& operand = args.operand[i];
      const std::int64_t in_step = operand.in_token_stride, out_step = operand.out_token_stride;
      // The last tokens of some heads look into the next ones.
      const std::int64_t here = ahead * in_step,
                         next = here + at_once * operand.in_head_stride - tokens * in_step;
      const Element* in = static_cast<const Element*>(operand.in) + first * in_step;
      Element* out = static_cast<Element*>(operand.out) + first * out_step;
      for (std::int64_t left = operand.heads; left > 0; left -= at_once) {
        const std::int64_t last = left >= 2 * at_once ? next : 0;
        for (std::int64_t t = 0; t < tokens; ++t) {
          const Turn turn(rows[t]);
          const std::int64_t fetched = !fetches ? 0 : t < tokens - ahead ? here : last;
          const Element* from = in + t * in_step;
          Element* to = out + t * out_step;
          for (std::int64_t heads = std::min(at_once, left); heads > 0; --heads) {
            if (fetched != 0) fetch_head<std::remove_cvref_t<Turn>>(from + fetched, args.pairs);
            turn(from, to);
            from += operand.in_head_stride;
            to += operand.out_head_stride;
          }
        }
        in += at_once * operand.in_head_stride;
        out += at_once * operand.out_head_stride;
      }
    }
  }

  static constexpr std::int64_t at_once = 4;  // heads
  const RotateArgs& args;
  const Row* rows;
  std::int64_t first, tokens;
};

template <class Element, class Row>
HWY_NOINLINE void rotate_head_runs(const RotateArgs& args) {
  using Number = typename Row::Number;
  constexpr std::int64_t space = 2 * max_pairs, most = 32;  // numbers, tokens
  HWY_ALIGN Number numbers[space];  // together, so that they share no place in the cache
  const std::int64_t each = Row::numbers(args.pairs), at_once = std::min(most, space / each);
  alignas(Row) unsigned char memory[most * sizeof(Row)];
  auto* rows = reinterpret_cast<Row*>(memory);
  for (std::int64_t first = 0; first < args.tokens; first += at_once) {
    const std::int64_t tokens = std::min(at_once, args.tokens - first);
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto* cos = static_cast<const Number*>(args.rows) + (first + t) * 2 * args.pairs;
      new (rows + t) Row(args, cos, cos + args.pairs, args.pairs, numbers + t * each);
    }
    with_groups<Row>(args.pairs, TurnHeadRuns<Element, Row>{args, rows, first, tokens});
  }
}

/// The tokens of a head lie nearer together than the heads of a token, and there is more than one.
HWY_INLINE bool is_head_major(const RotateArgs& args) {
  const auto& first = args.operand[0];
  return args.tokens > 1 && std::abs(first.out_head_stride) > std::abs(first.out_token_stride);
}

template <class Element, class Row>
HWY_NOINLINE void rotate_tokens(const RotateArgs& args) {
  HWY_ALIGN typename Row::Number numbers[Row::needs_memory ? 4 * Row::max_row_pairs : 1];
  Ahead ahead[2];
  for (std::int32_t n = 0; n < args.operands; ++n) {
    ahead[n] = fetch_ahead(args, args.operand[n].heads, sizeof(Element));
  }
  for (std::int64_t token = 0; token < args.tokens; ++token) {
    const auto* cos = static_cast<const typename Row::Number*>(args.rows) + token * 2 * args.pairs;
    const auto* sin = cos + args.pairs;
    if (args.pairs <= Row::max_row_pairs) {
      const Row row(args, cos, sin, args.pairs, Row::needs_memory ? numbers : nullptr);
      with_groups<Row>(args.pairs, TurnHeads<Element, Row>{row, args, token, ahead});
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
