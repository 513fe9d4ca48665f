// SPDX-License-Identifier: Apache-2.0
#include "operand.hpp"

namespace rotary::python {
namespace {

Overflow overflow_of(std::string_view text) {
  if (text == "saturate") return Overflow::saturate;
  if (text == "special") return Overflow::special;
  raise_value("overflow \"" + std::string(text) + "\": expected saturate or special");
}

bool is_operand(nb::handle object) {
  static const nb::handle type = nb::type<PyOperand>();
  return object.type().ptr() == type.ptr() || nb::isinstance<PyOperand>(object);
}

}  // namespace

PyOperand::PyOperand(nb::object x, nb::object to, nb::object around, nb::object factor, std::string word)
    : in(std::move(x)),
      out(std::move(to)),
      norm(std::move(around)),
      scale(std::move(factor)),
      beyond(std::move(word)),
      overflow(overflow_of(beyond)) {
  if (is_operand(in)) raise_type("x: an Operand already, expected an array");
  if (!norm.is_none() && !nb::isinstance<PyNorm>(norm))
    raise_type("norm: " + kind_of(norm) + ", expected a rotary.RmsNorm or None");
}

Written::Written(nb::handle given, const char* name, Layout layout, Tensor::Graph graph) {
  if (is_operand(given)) {
    add(nb::cast<const PyOperand&>(given), name, layout, graph);
    return;
  }
  in_.emplace(given, name, Tensor::Access::write, graph);
  operand_ = in_->heads(layout);
}

void Written::add(const PyOperand& around, const char* name, Layout layout, Tensor::Graph graph) {
  const bool in_place = around.out.is_none();
  in_.emplace(around.in, name, in_place ? Tensor::Access::write : Tensor::Access::read, graph);
  operand_ = in_->heads(layout);
  if (!in_place) {
    out_.emplace(around.out, name, Tensor::Access::write, graph);
    operand_.out = out_->heads(layout, Tensor::Use::stored);
  }
  OperandOptions& options = operand_.options;
  options.overflow = around.overflow;
  if (!around.norm.is_none()) options.norm = norm_of(nb::cast<const PyNorm&>(around.norm), name, graph);
  read_scale(around.scale, name, graph);
}

/// A number, or one a head: of a list, or of an array or tensor that no gradient is asked of.
void Written::read_scale(const nb::object& scale, const char* name, Tensor::Graph graph) {
  OperandOptions& options = operand_.options;
  const bool is_array = !PyFloat_Check(scale.ptr()) && nb::hasattr(scale, "__dlpack__");
  if (!is_array) {
    if (nb::try_cast(scale, options.scale)) return;
    if (!nb::try_cast(scale, scales_))
      raise_type(std::string(name) + ": scale: " + kind_of(scale) + ", expected a number, or one a head");
  } else {
    const std::string what = std::string(name) + ": scale";
    const Tensor numbers(scale, what.c_str(), Tensor::Access::read, graph);
    if (numbers.shape().size() > 1)
      raise_value(what + " " + numbers.shape_text() + ": expected a number, or [heads]");
    scales_ = numbers.floats();
    if (numbers.shape().empty()) {
      options.scale = scales_[0];
      return;
    }
  }
  if (scales_.empty()) raise_value(std::string(name) + ": scale: expected a number, or one a head");
  options.head_scales = scales_;
}

RmsNorm Written::norm_of(const PyNorm& norm, const char* name, Tensor::Graph graph) {
  const auto epsilon = static_cast<float>(norm.epsilon);
  if (norm.weight.is_none()) return RmsNorm::without_weight(epsilon);
  weight_.emplace(norm.weight, "norm: weight", Tensor::Access::read, graph);
  const auto shape = weight_->shape();
  const std::int64_t lanes = operand_.in.shape.head_dim;
  if (shape.size() != 1 || shape[0] != lanes || (lanes > 1 && weight_->strides()[0] != 1))
    raise_value(std::string(name) + ": norm: weight " + weight_->shape_text() + ", expected [" +
                std::to_string(lanes) + "], one number behind the other");
  return {weight_->data(), weight_->dtype(), epsilon,
          norm.one_plus_weight ? RmsNorm::one_plus_weight : RmsNorm::as_given};
}

void bind_operand(nb::module_& m) {
  nb::class_<PyNorm>(
      m, "RmsNorm",
      "Root mean square norm of each head before it turns, y = (x r) w with r = 1 / "
      "sqrt(mean(x^2) + epsilon),\n"
      "over the whole head; the weights are shared by all heads.\n\n"
      "    rotary.RmsNorm(weight, 1e-6)                         # Qwen 3\n"
      "    rotary.RmsNorm(weight, 1e-6, one_plus_weight=True)   # Gemma 3, whose files hold w - 1\n"
      "    rotary.RmsNorm(None, 1e-6)                           # Llama 4: without weights")
      .def(nb::init<nb::object, double, bool>(), nb::arg("weight").none(), "epsilon"_a, nb::kw_only(),
           "one_plus_weight"_a = false,
           nb::sig("def __init__(self, weight: typing.Any | None, epsilon: float, *, one_plus_weight: bool = "
                   "False) -> None"),
           "weight: [head_dim] of f32, f16 or bf16 (f64 with heads of f64), or None. It is read in each "
           "call.")
      .def_ro("weight", &PyNorm::weight, nb::sig("def weight(self) -> typing.Any"))
      .def_ro("epsilon", &PyNorm::epsilon)
      .def_ro("one_plus_weight", &PyNorm::one_plus_weight)
      .def(
          "__reduce__",
          [](nb::object self) { return nb::module_::import_("rotary._pickle").attr("reduce_norm")(self); },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def("__repr__", [](const PyNorm& n) {
        return "RmsNorm(" + (n.weight.is_none() ? "None" : kind_of(n.weight)) + ", " +
               nb::cast<std::string>(nb::repr(nb::float_(n.epsilon))) +
               (n.one_plus_weight ? ", one_plus_weight=True)" : ")");
      });
  nb::class_<PyOperand>(m, "Operand",
                        "What rotate_ takes for q or k where there is more to do than to turn it in place, "
                        "in one pass:\n\n"
                        "    x -> f32 -> norm -> rotation -> scale -> out\n\n"
                        "    rope.rotate_(rotary.Operand(q, norm=q_norm, scale=head_dim**-0.5),\n"
                        "                 rotary.Operand(k, k_cache, norm=k_norm), angles=angles)\n\n"
                        "In f32 (f64 from f64) throughout, rounded once: to the nearest, ties to even.")
      .def(
          nb::init<nb::object, nb::object, nb::object, nb::object, std::string>(), nb::arg("x").none(),
          "out"_a = nb::none(), nb::kw_only(), "norm"_a = nb::none(), "scale"_a = 1.0,
          "overflow"_a = "saturate",
          nb::sig(
              "def __init__(self, x: typing.Any, out: typing.Any | None = None, *, norm: RmsNorm | None = "
              "None, scale: float | collections.abc.Sequence[float] | typing.Any = 1.0, overflow: str = "
              "'saturate') -> None"),
          "x: as in rotate_. out: where the result goes, of x's shape, any strides, and f64, f32, f16, bf16, "
          "8-bit floats\n"
          "(float8_e4m3fn, float8_e5m2 of ml_dtypes or torch) or int8; None: in place. scale: multiplies the "
          "whole head\n"
          "after the rotation, one number or one a head. overflow: what an 8-bit float makes of too large a "
          "number,\n"
          "saturate (the largest) or special (NaN or infinity, as casts of ml_dtypes and torch do).")
      .def_ro("x", &PyOperand::in, nb::sig("def x(self) -> typing.Any"))
      .def_ro("out", &PyOperand::out, nb::sig("def out(self) -> typing.Any"))
      .def_ro("norm", &PyOperand::norm, nb::sig("def norm(self) -> RmsNorm | None"))
      .def_ro("scale", &PyOperand::scale, nb::sig("def scale(self) -> typing.Any"))
      .def_ro("overflow", &PyOperand::beyond)
      .def(
          "__reduce__",
          [](nb::object self) { return nb::module_::import_("rotary._pickle").attr("reduce_operand")(self); },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def("__repr__", [](const PyOperand& o) {
        return "Operand(" + kind_of(o.in) + (o.out.is_none() ? ")" : ", " + kind_of(o.out) + ")");
      });
}

}  // namespace rotary::python
