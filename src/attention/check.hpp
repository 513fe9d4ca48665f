// SPDX-License-Identifier: Apache-2.0
// Whether the operands of attend() fit together; nothing is computed before they do.
#pragma once

#include <rotary/attention.hpp>

namespace rotary::impl {

bool empty(const HeadsShape& shape) noexcept;

/// Everything but the positions.
Status check_attention(const Rope& rope, const ConstHeads& q, const ConstHeads& k, const ConstHeads& v,
                       const Heads& out, const AttentionOptions& options);

}  // namespace rotary::impl
