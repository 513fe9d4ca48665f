// SPDX-License-Identifier: Apache-2.0
// Positions from whatever a caller has.
#pragma once

#include "tensor.hpp"

namespace rotary::python {

/// A Positions as it is; an int p: p, p + 1, ... (`tokens` of them); a range; an array, tensor or nested list of
/// [tokens], [batch, tokens] or [axes, batch, tokens]. An int or a range counts the same on each of `axes` axes.
Positions to_positions(nb::handle object, std::int64_t tokens, std::int64_t axes,
                       Tensor::Graph graph = Tensor::Graph::refused);

/// Integers of one axis.
std::vector<std::int64_t> whole_numbers(nb::handle object, const char* name);

void bind_positions(nb::module_& m);

}  // namespace rotary::python
