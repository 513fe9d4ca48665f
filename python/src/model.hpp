// SPDX-License-Identifier: Apache-2.0
// The Python Model, and explain.
#pragma once

#include "common.hpp"

namespace rotary::python {

void bind_model(nb::module_& m);

}  // namespace rotary::python
