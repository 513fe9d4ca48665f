// SPDX-License-Identifier: Apache-2.0
// The module rotary._core.
#include <nanobind/typing.h>

#include "model.hpp"
#include "operand.hpp"
#include "places.hpp"
#include "positions.hpp"
#include "rope.hpp"

namespace rotary::python {

void raise(const Status& failure) {
  PyObject* type = PyExc_ValueError;
  if (failure.code() == StatusCode::unreadable) type = PyExc_OSError;
  if (failure.code() == StatusCode::unsupported) type = PyExc_NotImplementedError;
  if (failure.code() == StatusCode::internal) type = PyExc_RuntimeError;
  nb::gil_scoped_acquire held;
  PyErr_SetString(type, failure.message().c_str());
  throw nb::python_error();
}

void raise_value(const std::string& message) { raise(Status(StatusCode::invalid_argument, message)); }

void raise_type(const std::string& message) { throw nb::type_error(message.c_str()); }

std::string kind_of(nb::handle object) {
  const nb::object type = nb::borrow(object.type());
  const auto module = nb::cast<std::string>(nb::str(type.attr("__module__")));
  const auto name = nb::cast<std::string>(nb::str(type.attr("__qualname__")));
  return module == "builtins" ? name : module + "." + name;
}

namespace {

nb::list kernel_list() {
  nb::list out;
  const nb::object type = plain_data("Kernel");
  for (const auto& kernel : kernels())
    out.append(type(text(kernel.name), text(kernel.description), kernel.accepted, kernel.reason));
  return out;
}

}  // namespace
}  // namespace rotary::python

NB_MODULE(_core, m) {
  using namespace rotary::python;
  m.doc() = "The library rotary, as a Python module: use it as `rotary`.";
  nb::set_leak_warnings(false);  // torch keeps what it compiled until the process ends
  m.attr("version") = ROTARY_VERSION;
  bind_positions(m);
  bind_places(m);
  bind_angles(m);
  bind_operand(m);
  bind_rope(m);
  bind_model(m);
  m.def("kernels", &kernel_list, nb::sig("def kernels() -> list[Kernel]"),
        "The rotation kernels of this build, in order of preference, and why each would not be taken here.");
}
