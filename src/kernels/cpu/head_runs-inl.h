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
    const std::int64_t pairs = args.pairs, count = tokens, row_numbers = each;
    const std::int64_t ahead =
        std::min(2048 / (pairs * static_cast<std::int64_t>(sizeof(Element))) + 1, count / 4);
    const bool fetches = fetching_pays();
    for (std::int32_t i = 0; i < args.operands; ++i) {
      const auto& operand = args.operand[i];
      const std::int64_t in_step = operand.in_token_stride, out_step = operand.out_token_stride;
      const std::int64_t in_head = operand.in_head_stride, out_head = operand.out_head_stride;
      const Element* in = static_cast<const Element*>(operand.in) + first * in_step;
      Element* out = static_cast<Element*>(operand.out) + first * out_step;
      for (std::int64_t left = operand.heads; left > 0; left -= at_once) {
        const std::int64_t heads = std::min(at_once, left);
        Row moved = row;
        std::int64_t fetched = fetches ? ahead * in_step : 0;
        // What the loops need is in registers: a load of anything else waits where it looks like one of the stores before it,
        // as far as the lower 12 bits of their addresses tell.
        for (std::int64_t t = count; t > 0; --t) {
          // The last tokens of some heads look into the next ones, which no processor foresees.
          if (t == ahead) fetched = left >= 2 * at_once ? (ahead - count) * in_step + at_once * in_head : 0;
          for (int pass = 0; pass < Turn::passes; ++pass) {
            const std::int64_t offset = Turn::offset(pass);
            turn_each<Turn::elements>(Turn::make(moved, pass), in + offset, out + offset, in_head, out_head,
                                      heads, pass == 0 ? fetched : 0, pairs);
          }
          in += in_step;
          out += out_step;
          moved = moved.further(row_numbers);
        }
        in += heads * in_head - count * in_step;
        out += heads * out_head - count * out_step;
      }
    }
  }

  static constexpr std::int64_t at_once = 4;  // heads
  const RotateArgs& args;
  const Row& row;     // of the first token
  std::int64_t each;  // numbers a row
  std::int64_t first, tokens;
};

template <class Element, class Row>
HWY_NOINLINE void rotate_head_runs(const RotateArgs& args) {
  using Number = typename Row::Number;
  // Heads of many tokens each are long runs of memory, worth more than rows in the first-level cache.
  constexpr std::int64_t space = 65536 / sizeof(Number);
  HWY_ALIGN Number numbers[space];  // together, so that they share no place in the cache
  const std::int64_t each = Row::numbers(args.pairs), at_once = space / each;
  for (std::int64_t first = 0; first < args.tokens; first += at_once) {
    const std::int64_t tokens = std::min(at_once, args.tokens - first);
    const auto row_of = [&](std::int64_t t) {
      const auto* cos = static_cast<const Number*>(args.rows) + (first + t) * 2 * args.pairs;
      return Row(args, cos, cos + args.pairs, args.pairs, numbers + t * each);
    };
    const Row row = row_of(0);
    for (std::int64_t t = 1; t < tokens; ++t) row_of(t);
    with_groups<Row>(args.pairs, TurnHeadRuns<Element, Row>{args, row, each, first, tokens});
  }
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
