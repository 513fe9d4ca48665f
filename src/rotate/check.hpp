// SPDX-License-Identifier: Apache-2.0
// What an operand must be, each refusal a sentence that names it.
#pragma once

#include <rotary/operand.hpp>
#include <rotary/status.hpp>
#include <string_view>

namespace rotary::impl {

/// Before there are pointers.
Status check_shape(std::string_view operand, const OperandShape& shape, std::int64_t head_dim);
/// True of what nearly every call brings: in place, strides that nest in the order of a layout, sizes far from
/// any overflow. Whatever it accepts check_shape() accepts; the rest is left to that.
bool plainly_good(const OperandShape& shape, std::int64_t head_dim) noexcept;

/// With them; the shapes are checked and not empty.
Status check_pointers(std::string_view operand, const Operand& x);
/// Norm and scale.
Status check_options(std::string_view operand, const Operand& x);
/// Nor may `out`, which is the writer's, lie over what x is normed or scaled by; the options are checked.
Status check_overwritten(std::string_view operand, const Operand& x, std::string_view writer,
                         const Heads& out);

}  // namespace rotary::impl
