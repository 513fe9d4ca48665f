// SPDX-License-Identifier: Apache-2.0
// Heads that are normed, scaled or cast: a block of them at a time is loaded into a stage in the first-level
// cache, turned there by the kernel of their width, and stored from it.
#pragma once

#include <rotary/operand.hpp>

#include "kernels/kernel_list.hpp"

namespace rotary::impl {

/// Lanes of the stage.
inline constexpr std::int64_t stage_lanes = OperandOptions::max_head_dim;

/// Some tokens of one batch row, from a token on.
struct StagedTokens {
  const Operand& x;
  std::int64_t row, token;
};

/// `args`: the tokens, their rows, and how pairs lie; its operands are not looked at. No pairs: nothing turns.
void rotate_staged(const Kernel& kernel, const RotateArgs& args, std::int64_t rotary_offset,
                   const StagedTokens& tokens) noexcept;

}  // namespace rotary::impl
