// SPDX-License-Identifier: Apache-2.0
#include "pytorch.hpp"

#include <algorithm>
#include <cstdlib>

namespace rotary::python {
namespace {

/// torch.Tensor and what else is asked of PyTorch, once that module is loaded; null before.
struct Torch {
  PyObject* tensor = nullptr;
  PyObject* empty_like = nullptr;
  PyObject* forward_ad = nullptr;  ///< what its module names; null where this PyTorch has none
} torch;

}  // namespace

bool is_torch(nb::handle object) {
  if (torch.tensor == nullptr) {
    const nb::dict modules = nb::cast<nb::dict>(nb::module_::import_("sys").attr("modules"));
    if (!modules.contains("torch")) return false;
    const nb::object module = modules["torch"];
    if (!nb::hasattr(module, "Tensor") || !nb::hasattr(module, "empty_like")) return false;  // another torch
    const nb::str forward_ad("torch.autograd.forward_ad");
    if (modules.contains(forward_ad))
      torch.forward_ad = PyModule_GetDict(nb::object(modules[forward_ad]).release().ptr());
    torch.empty_like = nb::object(module.attr("empty_like")).release().ptr();
    torch.tensor = nb::object(module.attr("Tensor")).release().ptr();
  }
  return object.type().ptr() == torch.tensor || nb::isinstance(object, nb::handle(torch.tensor));
}

bool requires_gradient(nb::handle tensor) {
  static PyObject* const attribute = PyUnicode_InternFromString("requires_grad");
  const nb::object answer = nb::steal(PyObject_GetAttr(tensor.ptr(), attribute));
  if (!answer.is_valid()) PyErr_Clear();
  return answer.ptr() == Py_True;
}

bool has_tangent(nb::handle tensor) {
  if (torch.forward_ad == nullptr && (!is_torch(tensor) || torch.forward_ad == nullptr)) return false;
  static PyObject* const attribute = PyUnicode_InternFromString("_current_level");
  static PyObject* const none = PyLong_FromLong(-1);  // no dual_level(): the way of nearly every call
  PyObject* const level = PyDict_GetItemWithError(torch.forward_ad, attribute);
  if (level == none || level == nullptr || PyLong_AsLong(level) < 0) return false;
  return is_torch(tensor) && !nb::handle(torch.forward_ad)["unpack_dual"](tensor).attr("tangent").is_none();
}

nb::object torch_empty_like(nb::handle tensor) { return nb::handle(torch.empty_like)(tensor); }

bool is_negated(nb::handle tensor, const nb::dlpack::dltensor& described) {
  if (described.strides == nullptr) return false;
  for (int i = 0; i < described.ndim; ++i)
    if (described.shape[i] > 1 && std::abs(described.strides[i]) == 1) return false;
  return nb::hasattr(tensor, "is_neg") && nb::cast<bool>(tensor.attr("is_neg")());
}

/// A storage that has been let go lies at null, and views of it at their offset from there. No other memory lies that
/// low but a small program's, so what this asks costs a call in rare cases alone.
bool is_nowhere(nb::handle tensor, const nb::dlpack::dltensor& described) {
  constexpr std::uint64_t low = std::uint64_t{1} << 40;
  const auto address = reinterpret_cast<std::uintptr_t>(described.data) + described.byte_offset;
  if (address >= low ||
      std::find(described.shape, described.shape + described.ndim, 0) != described.shape + described.ndim)
    return false;
  if (!nb::hasattr(tensor, "storage_offset")) return address == 0;
  return address == nb::cast<std::uint64_t>(tensor.attr("storage_offset")()) * (described.dtype.bits / 8);
}

bool dispatches_in_python(nb::handle tensor) {
  static PyObject* const attribute = PyUnicode_InternFromString("__torch_dispatch__");
  if (tensor.type().ptr() == torch.tensor || !is_torch(tensor)) return false;
  return !tensor.type().attr(attribute).is(nb::handle(torch.tensor).attr(attribute));
}

}  // namespace rotary::python
