// SPDX-License-Identifier: Apache-2.0
// What is asked of a tensor of PyTorch beside its description by DLPack. PyTorch is never imported from here.
#pragma once

#include <nanobind/ndarray.h>

#include "common.hpp"

namespace rotary::python {

/// False until somebody has imported torch.
bool is_torch(nb::handle object);
/// torch.empty_like, of what is_torch.
nb::object torch_empty_like(nb::handle tensor);
/// False of what has no such attribute.
bool requires_gradient(nb::handle tensor);
/// Whether a forward-mode gradient goes with it.
bool has_tangent(nb::handle tensor);

/// Tensors that stand for others (fake, functional, wrapped) say so by a __torch_dispatch__ of their own.
bool dispatches_in_python(nb::handle tensor);
/// A storage that has been let go lies at null, and views of it at their offset from there.
bool is_nowhere(nb::handle tensor, const nb::dlpack::dltensor& described);
/// PyTorch keeps the imaginary part of a conjugate as a view whose elements are to be negated, which DLPack does not
/// say.
bool is_negated(nb::handle tensor, const nb::dlpack::dltensor& described);

}  // namespace rotary::python
