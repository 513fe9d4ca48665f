// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reference.hpp"

#include <cmath>

#include "kernels/reference/elements.hpp"

namespace rotary::impl {
namespace {

/// Steps in elements from the x of a pair to the x of the next, and from x to y.
struct PairSteps {
  std::int64_t next, y;
};
PairSteps pair_steps(Lanes lanes, std::int64_t pairs, std::int64_t lane_stride) {
  return lanes == Lanes::halves ? PairSteps{lane_stride, pairs * lane_stride}
                                : PairSteps{2 * lane_stride, lane_stride};
}

template <class Compute, class Element, class Row>
void rotate_operand(const RotateArgs& args, const RotateArgs::Operand& operand) noexcept {
  const auto from = pair_steps(args.in_lanes, args.pairs, operand.in_lane_stride);
  const auto to = pair_steps(args.out_lanes, args.pairs, operand.out_lane_stride);
  for (std::int64_t token = 0; token < args.tokens; ++token) {
    const Row* cos = static_cast<const Row*>(args.rows) + token * 2 * args.pairs;
    const Row* sin = cos + args.pairs;
    for (std::int64_t head = 0; head < operand.heads; ++head) {
      const Element* in = static_cast<const Element*>(operand.in) + token * operand.in_token_stride +
                          head * operand.in_head_stride;
      Element* out = static_cast<Element*>(operand.out) + token * operand.out_token_stride +
                     head * operand.out_head_stride;
      // The whole head is read before any of it is written: lanes may change places, in place too.
      Compute x[max_pairs], y[max_pairs];
      for (std::int64_t i = 0; i < args.pairs; ++i) {
        x[i] = load(in[i * from.next]);
        y[i] = load(in[i * from.next + from.y]);
      }
      for (std::int64_t i = 0; i < args.pairs; ++i) {
        const Compute c = cos[i], s = args.conjugate ? -sin[i] : sin[i];
        store(out[i * to.next], std::fma(x[i], c, -(y[i] * s)));
        store(out[i * to.next + to.y], std::fma(y[i], c, x[i] * s));
      }
    }
  }
}

/// `Compute` is float or double; f64 is computed in double anyway.
template <class Compute>
void rotate_any(const RotateArgs& args) noexcept {
  for (std::int32_t i = 0; i < args.operands; ++i) {
    switch (args.dtype) {
      case DType::f64:
        rotate_operand<double, double, double>(args, args.operand[i]);
        break;
      case DType::f32:
        rotate_operand<Compute, float, float>(args, args.operand[i]);
        break;
      case DType::f16:
        rotate_operand<Compute, f16, float>(args, args.operand[i]);
        break;
      case DType::bf16:
        rotate_operand<Compute, bf16, float>(args, args.operand[i]);
        break;
      default:
        break;
    }
  }
}

}  // namespace

void rotate_scalar(const RotateArgs& args) noexcept { rotate_any<float>(args); }
void rotate_reference(const RotateArgs& args) noexcept { rotate_any<double>(args); }

}  // namespace rotary::impl
