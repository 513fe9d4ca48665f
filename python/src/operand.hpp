// SPDX-License-Identifier: Apache-2.0
// The Python RmsNorm and Operand: what happens to heads around their rotation, and where they go.
#pragma once

#include "tensor.hpp"

namespace rotary::python {

struct PyNorm {
  nb::object weight;  ///< None: without
  double epsilon;
  bool one_plus_weight;
};

struct PyOperand {
  nb::object in, out;  ///< out None: in place
  nb::object norm;     ///< a PyNorm, or None
  nb::object scale;    ///< a number, or one a head
  std::string beyond;  ///< saturate or special
  Overflow overflow;

  PyOperand(nb::object x, nb::object to, nb::object around, nb::object factor, std::string word);
};

/// What a call is handed for q, k or x, an array that is turned in place or an Operand, for the length of the call.
class Written {
 public:
  Written(nb::handle given, const char* name, Layout layout, Tensor::Graph graph);

  const Operand& operand() const noexcept { return operand_; }
  std::int64_t bytes() const noexcept { return in_->bytes(); }

 private:
  void add(const PyOperand& around, const char* name, Layout layout, Tensor::Graph graph);
  void read_scale(const nb::object& scale, const char* name, Tensor::Graph graph);
  RmsNorm norm_of(const PyNorm& norm, const char* name, Tensor::Graph graph);

  std::optional<Tensor> in_, out_, weight_;
  std::vector<float> scales_;
  Operand operand_;
};

void bind_operand(nb::module_& m);

}  // namespace rotary::python
