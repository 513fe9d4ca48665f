// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// Head-major tensors: a few heads at a time, some tokens of each.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/rotate_args.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Some tokens of a few heads at a time instead of all heads of a token: what lies together in memory is turned together,
/// and a row serves the few heads while it is in registers.
template <class Element, class Row>
struct TurnHeadRuns {
  template <int n, int fraction>
  HWY_NOINLINE void operator()() const {
    using Turn = Turns<Row, n, fraction>;
    const std::int64_t pairs = Turn::elements != 0 ? Turn::elements / 2 : args.pairs;
    const std::int64_t half = Row::half(pairs);
    const std::int64_t ahead =
        fetching_pays()
            ? std::min(2048 / (pairs * static_cast<std::int64_t>(sizeof(Element))) + 1, tokens / 4)
            : 0;
    for (std::int32_t i = 0; i < args.operands; ++i) {
      const auto& operand = args.operand[i];
      const std::int64_t in_step = operand.in_token_stride, out_step = operand.out_token_stride;
      const std::int64_t in_head = operand.in_head_stride, out_head = operand.out_head_stride;
      const Element* in = static_cast<const Element*>(operand.in) + first * in_step;
      Element* out = static_cast<Element*>(operand.out) + first * out_step;
      for (std::int64_t left = operand.heads, heads; left > 0; left -= heads) {
        const std::int64_t runs = (left - 1) / most_at_once + 1;
        heads = (left - 1) / runs + 1;
        // What the loops need is in registers: a load of anything else waits where it looks like one of the stores before it,
        // as far as the lower 12 bits of their addresses tell.
        Row moved = row;
        const auto* cos = row.cos();
        std::int64_t count = tokens - ahead, later = ahead, fetched = ahead * in_step;
        for (;;) {
          for (std::int64_t t = count; t > 0; --t) {
            moved.move_to(cos, half);
            for (int pass = 0; pass < Turn::passes; ++pass) {
              const std::int64_t offset = Turn::offset(pass);
              turn_each<Turn::elements>(Turn::make(moved, pass), in + offset, out + offset, in_head, out_head,
                                        heads, pass == 0 ? fetched : 0, pairs);
            }
            in += in_step;
            out += out_step;
            cos += 2 * half;
          }
          if (later == 0) break;
          // The last tokens of some heads look into the next ones, which no processor foresees.
          fetched = left >= 2 * heads ? (ahead - tokens) * in_step + heads * in_head : 0;
          count = later;
          later = 0;
        }
        in += heads * in_head - tokens * in_step;
        out += heads * out_head - tokens * out_step;
      }
    }
  }

  /// Heads. Their places are often the same but for a multiple of the size of a way of the first-level cache, of which
  /// there are 8 and more, and the row needs one.
  static constexpr std::int64_t most_at_once = 7;
  const RotateArgs& args;
  const Row& row;  // of the first token
  std::int64_t first, tokens;
};

/// So many tokens at a time that their rows, which come once for each few heads, stay in the second-level cache.
template <class Element, class Row>
HWY_NOINLINE void rotate_head_runs(const RotateArgs& args) {
  using Number = typename Row::Number;
  constexpr std::int64_t space = (Row::needs_memory ? 65536 : 262144) / sizeof(Number);
  HWY_ALIGN Number
      numbers[Row::needs_memory ? space : 1];  // together, so that they share no place in the cache
  const std::int64_t each = 2 * Row::half(args.pairs), at_once = std::max<std::int64_t>(space / each, 1);
  for (std::int64_t first = 0; first < args.tokens; first += at_once) {
    const std::int64_t tokens = std::min(at_once, args.tokens - first);
    const auto row_of = [&](std::int64_t t) {
      const auto* cos = static_cast<const Number*>(args.rows) + (first + t) * 2 * args.pairs;
      return Row(args, cos, cos + args.pairs, args.pairs, numbers + (Row::needs_memory ? t * each : 0));
    };
    const Row row = row_of(0);
    if constexpr (Row::needs_memory) {
      for (std::int64_t t = 1; t < tokens; ++t) row_of(t);
    }
    with_groups<Row>(args.pairs, TurnHeadRuns<Element, Row>{args, row, first, tokens});
  }
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
