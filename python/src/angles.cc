// SPDX-License-Identifier: Apache-2.0
// The Python Angles: rows of cos and sin, and tables made of them or given in their place.
#include <algorithm>

#include "positions.hpp"
#include "rope.hpp"

namespace rotary::python {
namespace {

/// A rope whose position b * tokens + t is row (b, t) of the tables, and its angles at all of them: for functions
/// that are handed cos and sin.
nb::tuple rows_as_rope(nb::handle cos, nb::handle sin, bool lanes, const std::string& pairing,
                       const std::string& direction, std::int64_t head_dim) {
  const Tensor c(cos, "cos"), s(sin, "sin");
  const auto shape = c.shape();
  if (shape.size() < 2 || shape.size() > 3 || !std::ranges::equal(shape, s.shape()))
    raise_value("cos " + c.shape_text() + " and sin " + s.shape_text() +
                ": expected the same [tokens, width] or [batch, tokens, width]");
  const std::int64_t batch = shape.size() == 3 ? shape[0] : 1, tokens = shape[shape.size() - 2];
  const std::vector<float> cos_rows = c.floats(), sin_rows = s.floats();
  AngleTable table;
  table.cos = cos_rows;
  table.sin = sin_rows;
  table.rows = batch * tokens;
  table.width = shape.back();
  table.rotary_dim = lanes ? table.width : 0;
  RopeOptions options;
  options.pairing = pairing_of(pairing);
  options.direction = direction_of(direction);
  options.head_dim = head_dim;
  const Rope rope = take(Rope::from_table(table, options));
  std::vector<std::int64_t> first_row(static_cast<std::size_t>(batch));
  for (std::size_t b = 0; b < first_row.size(); ++b) first_row[b] = static_cast<std::int64_t>(b) * tokens;
  const Positions at = take(Positions::offsets(first_row, tokens));
  return nb::make_tuple(PyRope{rope}, PyAngles{std::make_shared<Angles>(take(rope.angles(at)))});
}

template <class T>
nb::object table(const Angles& angles, bool cos, const char* dtype) {
  const std::int64_t shape[] = {angles.batch(), angles.tokens(), angles.pairs()};
  const auto pairs = static_cast<std::size_t>(angles.pairs());
  nb::object array = numpy_empty(shape, dtype);
  const Tensor to(array, "table", Tensor::Access::write);
  T* out = static_cast<T*>(to.data());
  std::vector<T> other(pairs);
  for (std::int64_t b = 0; b < angles.batch(); ++b) {
    for (std::int64_t t = 0; t < angles.tokens(); ++t, out += pairs) {
      const std::span<T> row(out, pairs), unused(other);
      check(cos ? angles.row(b, t, row, unused) : angles.row(b, t, unused, row));
    }
  }
  return array;
}

nb::object numbers(const PyAngles& self, bool cos, const std::string& dtype) {
  if (dtype == "float32") return table<float>(*self.angles, cos, "float32");
  if (dtype == "float64") return table<double>(*self.angles, cos, "float64");
  raise_value("dtype \"" + dtype + "\": expected float32 or float64");
}

/// How a row of `pairs` numbers fills one of the table: once, as two halves, or each number twice.
enum class Repeat { none, halves, neighbours };

template <class T, class Row>
void fill_rows(const Angles& angles, const Tensor& cos, const Tensor& sin, Repeat repeat, T (*round)(Row)) {
  const auto pairs = static_cast<std::size_t>(angles.pairs());
  const std::size_t width = repeat == Repeat::none ? pairs : 2 * pairs;
  std::vector<Row> cos_row(pairs), sin_row(pairs);
  T* to[] = {static_cast<T*>(cos.data()), static_cast<T*>(sin.data())};
  for (std::int64_t b = 0; b < angles.batch(); ++b) {
    for (std::int64_t t = 0; t < angles.tokens(); ++t) {
      check(angles.row(b, t, cos_row, sin_row));
      for (int which = 0; which < 2; ++which, to[which - 1] += width) {
        const Row* row = which == 0 ? cos_row.data() : sin_row.data();
        T* out = to[which];
        for (std::size_t i = 0; i < pairs; ++i) {
          const T value = round(row[i]);
          out[repeat == Repeat::neighbours ? 2 * i : i] = value;
          if (repeat == Repeat::halves) out[pairs + i] = value;
          if (repeat == Repeat::neighbours) out[2 * i + 1] = value;
        }
      }
    }
  }
}

/// Fills tables of [batch, tokens, width] in their own element type, each number rounded once.
void fill(const PyAngles& self, nb::handle cos, nb::handle sin, const std::string& form) {
  const Angles& angles = *self.angles;
  const Repeat repeat = form == "halves"       ? Repeat::halves
                        : form == "neighbours" ? Repeat::neighbours
                        : form == "pairs"
                            ? Repeat::none
                            : throw nb::value_error("form: expected halves, neighbours or pairs");
  const Tensor c(cos, "cos", Tensor::Access::write), s(sin, "sin", Tensor::Access::write);
  const std::int64_t width = angles.pairs() * (repeat == Repeat::none ? 1 : 2);
  const std::int64_t shape[] = {angles.batch(), angles.tokens(), width};
  const std::int64_t strides[] = {angles.tokens() * width, width, 1};
  for (const Tensor* table : {&c, &s}) {
    if (!std::ranges::equal(table->shape(), shape) || table->dtype() != c.dtype())
      raise_value("tables " + c.shape_text() + " and " + s.shape_text() + ": expected [" +
                  std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + ", " + std::to_string(width) +
                  "] of one element type");
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (shape[axis] > 1 && table->strides()[axis] != strides[axis])
        raise_value("tables: expected contiguous ones");
  }
  switch (c.dtype()) {
    case DType::f64:
      return fill_rows<double, double>(angles, c, s, repeat, [](double x) { return x; });
    case DType::f32:
      return fill_rows<float, float>(angles, c, s, repeat, [](float x) { return x; });
    case DType::f16:
      return fill_rows<f16, float>(angles, c, s, repeat, &to_f16);
    case DType::bf16:
      return fill_rows<bf16, float>(angles, c, s, repeat, &to_bf16);
    default:
      raise_type("tables: dtype " + std::string(name(c.dtype())) + ", expected f64, f32, f16 or bf16");
  }
}

}  // namespace

void bind_angles(nb::module_& m) {
  m.def("_rows_as_rope", &rows_as_rope, "cos"_a, "sin"_a, "lanes"_a, "pairing"_a, "direction"_a, "head_dim"_a,
        nb::sig(
            "def _rows_as_rope(cos: typing.Any, sin: typing.Any, lanes: bool, pairing: str, direction: str, "
            "head_dim: int) -> tuple[Rope, Angles]"),
        "A rope that turns by rows of cos and sin, one a token, and its angles. lanes: a row has a number a "
        "lane, "
        "else a number a pair.");
  nb::class_<PyAngles>(
      m, "Angles",
      "One row of cos and sin a token, for one rope: made once a forward pass, used by every layer.")
      .def_prop_ro(
          "batch", [](const PyAngles& a) { return a.angles->batch(); },
          "Rows; 1 serves every row of a batch.")
      .def_prop_ro("tokens", [](const PyAngles& a) { return a.angles->tokens(); })
      .def_prop_ro("pairs", [](const PyAngles& a) { return a.angles->pairs(); })
      .def_prop_ro(
          "policy", [](const PyAngles& a) { return std::string(name(a.angles->policy())); },
          "exact, fp32, ggml or table.")
      .def_prop_ro("positions", [](const PyAngles& a) { return Positions(a.angles->positions()); })
      .def(
          "cos", [](const PyAngles& a, const std::string& dtype) { return numbers(a, true, dtype); },
          "dtype"_a = "float32",
          nb::sig("def cos(self, dtype: str = 'float32') -> numpy.typing.NDArray[typing.Any]"),
          "A copy as [batch, tokens, pairs], A included; dtype float32 or float64.")
      .def(
          "sin", [](const PyAngles& a, const std::string& dtype) { return numbers(a, false, dtype); },
          "dtype"_a = "float32",
          nb::sig("def sin(self, dtype: str = 'float32') -> numpy.typing.NDArray[typing.Any]"), "As cos().")
      .def("_fill", &fill, "cos"_a, "sin"_a, "form"_a,
           nb::sig("def _fill(self, cos: typing.Any, sin: typing.Any, form: str) -> None"),
           "Writes tables [batch, tokens, width] in their element type; form: halves, neighbours or pairs.")
      .def(
          "refill",
          [](PyAngles& a, nb::handle positions, std::int64_t tokens) {
            std::int64_t axes = a.angles->positions().axes();
            const Positions at = to_positions(positions, tokens, axes);
            if (a.angles.use_count() > 1) a.angles = std::make_shared<Angles>(*a.angles);
            check(a.angles->refill(at));
          },
          nb::arg("positions").none(), "tokens"_a = 1,
          nb::sig("def refill(self, positions: PositionsLike, tokens: int = 1) -> None"),
          "New positions, same rope; allocates only where there are more tokens than ever before. A call "
          "that is\n"
          "using these angles in another thread goes on with the old ones.")
      .def(
          "__copy__", [](const PyAngles& a) { return a; }, nb::sig("def __copy__(self) -> Angles"))
      .def(
          "__deepcopy__", [](const PyAngles& a, nb::handle) { return a; }, "memo"_a,
          nb::sig("def __deepcopy__(self, memo: typing.Any) -> Angles"))
      .def(
          "__len__", [](const PyAngles& a) { return a.angles->tokens(); }, "Tokens.")
      .def("__repr__", [](const PyAngles& a) {
        return "Angles(batch=" + std::to_string(a.angles->batch()) +
               ", tokens=" + std::to_string(a.angles->tokens()) +
               ", pairs=" + std::to_string(a.angles->pairs()) + ", policy='" +
               std::string(name(a.angles->policy())) + "')";
      });
}

}  // namespace rotary::python
