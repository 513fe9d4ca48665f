// SPDX-License-Identifier: Apache-2.0
// The two kernels that take any work on any machine, and what others share with them.
#pragma once

#include <cstdint>

#include "kernels/rotate_args.hpp"

namespace rotary::impl {

/// The definition of the bits: out_x = fma(x, c, -(y s)), out_y = fma(y, c, x s), the inner product rounded,
/// in float (double for f64), and one rounding to nearest even at a 16-bit store. Which NaN a NaN becomes is
/// defined in 16 bits (the positive quiet one without a payload) and left to the processor in f32 and f64.
void rotate_scalar(const RotateArgs& args) noexcept;

/// The oracle: the same in double, rounded once at the store.
void rotate_reference(const RotateArgs& args) noexcept;

/// Turns the pairs (x, y) by a row of cos and sin, backwards if `conjugate`.
using TurnFloats = void (*)(const float* cos, const float* sin, bool conjugate, std::int64_t pairs, float* x,
                            float* y) noexcept;

/// rotate_scalar() with another function for what is computed in float.
void rotate_scalar_by(TurnFloats turn, const RotateArgs& args) noexcept;

}  // namespace rotary::impl
