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
  const RotateArgs& args;
  const typename Row::Number *cos, *sin;
};

/// How far ahead of a head memory is fetched: so many tokens and heads, within the call. None: tokens is too
/// large.
struct Ahead {
  std::int64_t tokens, heads;
};

HWY_INLINE Ahead fetch_ahead(const RotateArgs& args, std::int64_t heads, std::int64_t element_bytes) {
  constexpr std::int64_t distance = 4096, worthwhile = 65536;  // bytes
  const std::int64_t head_bytes = 2 * args.pairs * element_bytes;
  if (args.tokens * heads * head_bytes < worthwhile) return {args.tokens, 0};
  const std::int64_t count = (distance + head_bytes - 1) / head_bytes;
  return {count / heads, count % heads};
}

/// All heads of one token, q's and then k's.
template <class Element, class Turn>
HWY_INLINE void turn_heads(const RotateArgs& args, std::int64_t token, const Ahead* ahead, const Turn& turn) {
  for (std::int32_t n = 0; n < args.operands; ++n) {
    const auto& operand = args.operand[n];
    const Element* in = static_cast<const Element*>(operand.in) + token * operand.in_token_stride;
    Element* out = static_cast<Element*>(operand.out) + token * operand.out_token_stride;
    std::int64_t offset = ahead[n].tokens * operand.in_token_stride + ahead[n].heads * operand.in_head_stride;
    std::int64_t left = args.tokens - token - ahead[n].tokens;
    for (std::int64_t head = 0; head < operand.heads; ++head) {
      if (head + ahead[n].heads == operand.heads) {
        offset += operand.in_token_stride - operand.heads * operand.in_head_stride;
        --left;
      }
      if (left > 0) {
        const auto* fetched = reinterpret_cast<const char*>(in + offset);
        for (std::int64_t byte = 0; byte < 2 * args.pairs * static_cast<std::int64_t>(sizeof(Element));
             byte += 64) {
          hwy::Prefetch(fetched + byte);
        }
      }
      turn(in, out);
      in += operand.in_head_stride;
      out += operand.out_head_stride;
    }
  }
}

/// 32, not the 16 of x86 before AVX-512.
constexpr bool many_registers = !HWY_ARCH_X86 || HWY_MAX_BYTES >= 64;

/// The row stays in registers over all heads where it fits.
template <class Element, class Row>
HWY_INLINE void turn_heads_by(const Row& row, const RotateArgs& args, std::int64_t token,
                              const Ahead* ahead) {
#if !HWY_HAVE_SCALABLE
  const auto groups = row.groups();
  if (groups == 1) return turn_heads<Element>(args, token, ahead, typename Row::template Held<1>(row));
  if (groups == 2) return turn_heads<Element>(args, token, ahead, typename Row::template Held<2>(row));
  if (groups == 4) return turn_heads<Element>(args, token, ahead, typename Row::template Held<4>(row));
  if constexpr (many_registers) {
    if (groups == 8) return turn_heads<Element>(args, token, ahead, typename Row::template Held<8>(row));
  }
#endif
  turn_heads<Element>(args, token, ahead, row);
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
      turn_heads_by<Element>(Row(args, cos, sin, args.pairs), args, token, ahead);
    } else {
      turn_heads<Element>(args, token, ahead, TurnInParts<Row>{args, cos, sin});
    }
  }
}

/// For lanes that keep their places.
template <class Element>
HWY_INLINE void rotate_in_order(const RotateArgs& args) {
  if (args.out_lanes == Lanes::halves) {
    rotate_tokens<Element, HalvesRow<Element>>(args);
  } else {
    rotate_tokens<Element, AdjacentRow<Element>>(args);
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
