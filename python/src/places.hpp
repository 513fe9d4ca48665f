// SPDX-License-Identifier: Apache-2.0
// Positions of images, shards and chunks, and the length that a batch is turned for.
#pragma once

#include <nanobind/stl/array.h>

#include "common.hpp"

namespace rotary::python {

void bind_more_positions(nb::class_<Positions>& positions);
void bind_places(nb::module_& m);

}  // namespace rotary::python
