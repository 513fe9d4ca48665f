// SPDX-License-Identifier: Apache-2.0
// The Python Model, and explain.
#pragma once

#include "rope.hpp"

namespace rotary::python {

PyRope py_rope(const ModelRope& entry);
/// "local, global", for messages.
std::string rope_names(const Model& model);
Peer peer_of(std::string_view text);

void bind_peers(nb::module_& m, nb::class_<Model>& model);
void bind_model(nb::module_& m);

}  // namespace rotary::python
