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

template <class Compute, class Row>
using Turn = void (*)(const Row* cos, const Row* sin, bool conjugate, std::int64_t pairs, Compute* x,
                      Compute* y) noexcept;

template <class Compute, class Row>
void turn(const Row* cos, const Row* sin, bool conjugate, std::int64_t pairs, Compute* x,
          Compute* y) noexcept {
  for (std::int64_t i = 0; i < pairs; ++i) {
    const Compute c = cos[i], s = conjugate ? -sin[i] : sin[i], before = x[i];
    x[i] = std::fma(before, c, -(y[i] * s));
    y[i] = std::fma(y[i], c, before * s);
  }
}

template <class Element, class Compute, class Row>
void rotate_operand(const RotateArgs& args, const RotateArgs::Operand& operand,
                    Turn<Compute, Row> turn_pairs) noexcept {
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
      turn_pairs(cos, sin, args.conjugate, args.pairs, x, y);
      for (std::int64_t i = 0; i < args.pairs; ++i) {
        store(out[i * to.next], x[i]);
        store(out[i * to.next + to.y], y[i]);
      }
    }
  }
}

/// `Compute` is float or double; f64 is computed in double anyway.
template <class Compute>
void rotate_any(const RotateArgs& args, Turn<Compute, float> turn_pairs) noexcept {
  for (std::int32_t i = 0; i < args.operands; ++i) {
    switch (args.dtype) {
      case DType::f64:
        rotate_operand<double>(args, args.operand[i], turn<double, double>);
        break;
      case DType::f32:
        rotate_operand<float>(args, args.operand[i], turn_pairs);
        break;
      case DType::f16:
        rotate_operand<f16>(args, args.operand[i], turn_pairs);
        break;
      case DType::bf16:
        rotate_operand<bf16>(args, args.operand[i], turn_pairs);
        break;
      default:
        break;
    }
  }
}

}  // namespace

void rotate_scalar(const RotateArgs& args) noexcept { rotate_any<float>(args, turn); }
void rotate_reference(const RotateArgs& args) noexcept { rotate_any<double>(args, turn); }
void rotate_scalar_by(TurnFloats turn, const RotateArgs& args) noexcept { rotate_any<float>(args, turn); }

}  // namespace rotary::impl
