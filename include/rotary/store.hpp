// SPDX-License-Identifier: Apache-2.0
/// @file
/// Heads that do not turn, on the same way as those that do: values into their cache.
///
///     rope.rotate(angles, q, {k, k_cache}).value();   // keys turn and are cast
///     rotary::store({v, v_cache}).value();            // values are only cast
#pragma once

#include <rotary/export.hpp>
#include <rotary/operand.hpp>
#include <rotary/rotate.hpp>
#include <rotary/status.hpp>

namespace rotary {

/// Copies, casts, scales, norms: all that `rotate` does but turn, with the same rules and errors, which call the
/// operand x. Allocates nothing unless it fails; writes nothing if it does.
ROTARY_API Status store(const Operand& x, const RotateOptions& options = {}) noexcept;

}  // namespace rotary
