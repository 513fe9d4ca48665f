// SPDX-License-Identifier: Apache-2.0
// The Python Rope: a rotary::Rope, and what its model calls it.
#pragma once

#include <nanobind/stl/shared_ptr.h>

#include <memory>

#include "common.hpp"

namespace rotary::python {

struct PyRope {
  Rope rope;
  std::string name = "default";
  std::optional<std::int64_t> original_context = {};
  std::optional<std::int64_t> context = {};
  bool of_layers = true;
  std::optional<std::string> key = {};  // under which rotary.torch knows it

  PyRope turned(Rope other) const {
    return {std::move(other), name, original_context, context, of_layers, {}};
  }
};

/// Angles that a call may use while another thread refills them: the call holds what it began with.
struct PyAngles {
  std::shared_ptr<Angles> angles;
};

/// What would make the rope again. ValueError for one from a table.
RopeOptions options_of(const Rope& rope);

/// The schedules that were joined, as the argument `parts`; empty where there is one.
nb::list parts_of(const Spectrum& spectrum);
std::string repr(const PyRope& self);

/// A rotary.Xpos, or None.
nb::object py_xpos(const std::optional<Xpos>& xpos);

void bind_rope(nb::module_& m);
void bind_rotate(nb::module_& m, nb::class_<PyRope>& rope);
void bind_from_config(nb::class_<PyRope>& rope);
void bind_angles(nb::module_& m);

}  // namespace rotary::python
