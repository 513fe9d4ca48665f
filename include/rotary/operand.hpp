// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a call reads, what happens to each head before and after it turns, and where the result goes.
///
///     rope.rotate(angles, q, k);                                       // in place
///     rope.rotate(angles, {q, q_out}, {k, k_out});                     // out of place
///     rope.rotate(angles, {q, q, {.norm = q_norm, .scale = 0.125f}},   // RMS norm, rotation, query scale
///                 {k, cache, {.norm = k_norm}});                       // RMS norm, rotation, cast into a cache
///
///     in -> f32 -> norm -> rotation -> scale -> out        one pass over memory, one rounding at the end
///
/// Norm and scale take the whole head, lanes outside the rotary window too. In f32 each fused form has the bits
/// of its steps one after the other; in 16 bits those of the steps with f32 tensors between them, since a step
/// of its own would round to 16 bits each time. From f64 everything is computed in f64.
#pragma once

#include <cstdint>
#include <optional>
#include <rotary/dtype.hpp>
#include <rotary/tensor.hpp>
#include <span>

namespace rotary {

/// Root mean square norm of each head, weights shared by all: y = (x r) w, r = 1 / sqrt(mean(x^2) + epsilon).
///
///     Qwen 3    RmsNorm(weight, 1e-6f)
///     Gemma 3   RmsNorm(weight, 1e-6f, RmsNorm::one_plus_weight)      its files hold w - 1
///     Llama 4   RmsNorm::without_weight(1e-6f)
///
/// The sum of squares has one order of additions on every target: 16 sums, the j-th s = fma(x, x, s) over the
/// lanes j, j + 16, ..., then s_j + s_(j+8), s_j + s_(j+4), s_j + s_(j+2), s_0 + s_1. Transformers rounds x r to
/// the element type before it multiplies by w (Qwen 3), or does not (Gemma 3); here nothing is rounded between.
struct RmsNorm {
  enum Weight : std::uint8_t { as_given, one_plus_weight };

  /// head_dim numbers of f32, f16 or bf16 (f64 with f64 heads), one behind the other.
  template <class T>
  RmsNorm(const T* weight_of_lanes, float eps, Weight kind = as_given) noexcept
      : RmsNorm(weight_of_lanes, dtype_of<T>, eps, kind) {}
  RmsNorm(const void* weight_of_lanes, DType type, float eps, Weight kind = as_given) noexcept
      : weight(weight_of_lanes), epsilon(eps), dtype(type), plus(kind) {}
  static RmsNorm without_weight(float eps) noexcept {
    RmsNorm norm(nullptr, DType::f32, eps);
    norm.weighted = false;
    return norm;
  }

  const void* weight;
  float epsilon;  ///< finite, >= 0
  DType dtype;
  Weight plus;
  bool weighted = true;
};

/// Around the rotation of one operand. Heads that are stored as 8 bits, or as another type than they are read
/// in, and heads with a norm or a scale go through a small buffer: at most max_head_dim lanes each.
struct OperandOptions {
  static constexpr std::int64_t max_head_dim = 4096;

  std::optional<RmsNorm> norm = {};  ///< before the rotation
  float scale = 1;  ///< after it: 1 / sqrt(head_dim) of a query, 1 / k_scale of a quantised cache; finite
  std::span<const float> head_scales = {};  ///< instead of `scale`, one a head; finite
  Overflow overflow = Overflow::saturate;   ///< of f8_e4m3 and f8_e5m2; i8 always saturates

  /// Nothing is done before or after.
  bool empty() const noexcept { return !norm && scale == 1 && head_scales.data() == nullptr; }
};

/// What is read and where the result goes. From Heads alone: in place.
struct Operand {
  Operand() noexcept = default;
  Operand(Heads in_place) noexcept : in(in_place), out(in_place) {}  // NOLINT: implicit
  Operand(ConstHeads from, Heads to) noexcept : in(from), out(to) {}
  Operand(ConstHeads from, Heads to, const OperandOptions& around) noexcept
      : in(from), out(to), options(around) {}

  ConstHeads in;
  Heads out;  ///< of any element type that is_storable
  OperandOptions options;
};

/// The shapes of an Operand.
struct OperandShape {
  OperandShape() noexcept = default;
  OperandShape(const HeadsShape& in_place) noexcept : in(in_place), out(in_place) {}  // NOLINT: implicit
  OperandShape(const HeadsShape& from, const HeadsShape& to) noexcept : in(from), out(to) {}

  HeadsShape in, out;
};

}  // namespace rotary
