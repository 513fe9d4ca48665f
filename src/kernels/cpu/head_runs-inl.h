// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// Head-major tensors: a few heads at a time, some tokens of each.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <type_traits>

#include "kernels/rotate_args.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

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

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
