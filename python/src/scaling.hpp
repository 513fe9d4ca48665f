// SPDX-License-Identifier: Apache-2.0
// Scaling types and dictionaries with the words of config.json.
#pragma once

#include "common.hpp"

namespace rotary::python {

/// None, "linear" for one without required numbers, or {"rope_type": "yarn", "factor": 4.0, ...}. ValueError:
/// an unknown type or key, a required key that is missing.
Scaling to_scaling(nb::handle object);

/// The reverse; numbers that are not set are left out.
nb::dict to_dict(const Scaling& scaling);

}  // namespace rotary::python
