// SPDX-License-Identifier: Apache-2.0
// rotate and rotate_, and the Angles they take.
#include <algorithm>

#include "positions.hpp"
#include "rope.hpp"
#include "tensor.hpp"

namespace rotary::python {
namespace {

/// Below this much data other threads would wait longer for the lock than the work takes.
constexpr std::int64_t most_bytes_under_the_lock = 64 * 1024;

Layout layout_of(const nb::str& text) {
  return word("layout", text.c_str(), &layout_from_name, "bhtd, bthd or thd");
}

Status run(const Rope& rope, const Angles& angles, const Operand& q, const Operand* k, std::int64_t bytes) {
  const auto work = [&] { return k != nullptr ? rope.rotate(angles, q, *k) : rope.rotate(angles, q); };
  if (bytes < most_bytes_under_the_lock) return work();
  nb::gil_scoped_release released;
  return work();
}

/// With kept angles, or with rows made on the way.
void rotate(const Rope& rope, nb::handle positions, nb::handle angles, const Operand& q, const Operand* k,
            std::int64_t bytes) {
  if (positions.is_none() == angles.is_none()) raise_value("give positions or angles, one of the two");
  if (!angles.is_none()) {
    const PyAngles* kept = nullptr;
    if (!nb::try_cast(angles, kept) || kept == nullptr)
      raise_type("angles: " + kind_of(angles) + ", expected a rotary.Angles, made by rope.angles(positions)");
    const std::shared_ptr<const Angles> held = kept->angles;
    return check(run(rope, *held, q, k, bytes));
  }
  const Positions at = to_positions(positions, q.in.shape.tokens, rope.spectrum().axes());
  check(run(rope, take(rope.angles(at, Rows::on_the_way)), q, k, bytes));
}

void rotate_in_place(const PyRope& self, nb::handle q, nb::handle k, nb::handle positions, nb::handle angles,
                     const nb::str& layout) {
  const Layout order = layout_of(layout);
  const Tensor q_tensor(q, "q", Tensor::Access::write);
  const Operand q_operand(q_tensor.heads(order));
  if (k.is_none()) return rotate(self.rope, positions, angles, q_operand, nullptr, q_tensor.bytes());
  const Tensor k_tensor(k, "k", Tensor::Access::write);
  const Operand k_operand(k_tensor.heads(order));
  rotate(self.rope, positions, angles, q_operand, &k_operand, q_tensor.bytes());
}

nb::object rotate_one(const PyRope& self, nb::handle q, nb::handle positions, nb::handle angles,
                      const nb::str& layout) {
  const Layout order = layout_of(layout);
  const Tensor from(q, "q");
  const Heads read = from.heads(order);
  nb::object out = from.empty_like();
  const Tensor to(out, "q", Tensor::Access::write);
  rotate(self.rope, positions, angles, Operand(read, to.heads(order)), nullptr, from.bytes());
  return out;
}

nb::object rotate_two(const PyRope& self, nb::handle q, nb::handle k, nb::handle positions, nb::handle angles,
                      const nb::str& layout) {
  if (k.is_none()) return rotate_one(self, q, positions, angles, layout);
  const Layout order = layout_of(layout);
  const Tensor q_from(q, "q"), k_from(k, "k");
  const Heads q_read = q_from.heads(order), k_read = k_from.heads(order);
  nb::object q_out = q_from.empty_like(), k_out = k_from.empty_like();
  const Tensor q_to(q_out, "q", Tensor::Access::write), k_to(k_out, "k", Tensor::Access::write);
  const Operand k_operand(k_read, k_to.heads(order));
  rotate(self.rope, positions, angles, Operand(q_read, q_to.heads(order)), &k_operand, q_from.bytes());
  return nb::make_tuple(q_out, k_out);
}

/// The numbers of a table in the order of its axes, as float.
std::vector<float> floats(const Tensor& from) {
  const auto shape = from.shape(), strides = from.strides();
  const std::int64_t rows = shape[shape.size() - 2], width = shape.back(),
                     batch = shape.size() == 3 ? shape[0] : 1;
  const std::int64_t batch_stride = shape.size() == 3 ? strides[0] : 0,
                     row_stride = strides[shape.size() - 2];
  std::vector<float> out(static_cast<std::size_t>(batch * rows * width));
  auto to = out.begin();
  const auto copy = [&](const auto* data, auto&& widen) {
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t i = 0; i < width; ++i)
          *to++ = widen(data[b * batch_stride + r * row_stride + i * strides.back()]);
  };
  switch (from.dtype()) {
    case DType::f64:
      copy(static_cast<const double*>(from.data()), [](double x) { return static_cast<float>(x); });
      break;
    case DType::f32:
      copy(static_cast<const float*>(from.data()), [](float x) { return x; });
      break;
    case DType::f16:
      copy(static_cast<const f16*>(from.data()), [](f16 x) { return to_float(x); });
      break;
    case DType::bf16:
      copy(static_cast<const bf16*>(from.data()), [](bf16 x) { return to_float(x); });
      break;
    default:
      raise_type("cos: dtype " + std::string(name(from.dtype())) + ", expected f64, f32, f16 or bf16");
  }
  return out;
}

/// Row (b, t) of the tables turns token t of row b: how functions are called that are handed cos and sin.
nb::object rotate_by_rows(nb::handle q, nb::handle k, nb::handle cos, nb::handle sin, bool lanes,
                          const std::string& pairing, const std::string& direction, const nb::str& layout) {
  const Tensor c(cos, "cos"), s(sin, "sin");
  const auto shape = c.shape();
  if (shape.size() < 2 || shape.size() > 3 || !std::ranges::equal(shape, s.shape()))
    raise_value("cos " + c.shape_text() + " and sin " + s.shape_text() +
                ": expected the same [tokens, width] or [batch, tokens, width]");
  const std::int64_t batch = shape.size() == 3 ? shape[0] : 1, tokens = shape[shape.size() - 2];
  const std::vector<float> cos_rows = floats(c), sin_rows = floats(s);
  AngleTable table;
  table.cos = cos_rows;
  table.sin = sin_rows;
  table.rows = batch * tokens;
  table.width = shape.back();
  table.rotary_dim = lanes ? table.width : 0;
  RopeOptions options;
  options.pairing = pairing_of(pairing);
  options.direction = direction_of(direction);
  const auto heads = Tensor(q, "q").heads(layout_of(layout));
  options.head_dim = heads.shape.head_dim;
  const PyRope rope{take(Rope::from_table(table, options))};
  std::vector<std::int64_t> first_row(static_cast<std::size_t>(batch));
  for (std::size_t b = 0; b < first_row.size(); ++b) first_row[b] = static_cast<std::int64_t>(b) * tokens;
  const nb::object at = nb::cast(take(Positions::offsets(first_row, tokens)));
  return rotate_two(rope, q, k, at, nb::none(), layout);
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

constexpr const char* shared_doc =
    "q, k: arrays or CPU tensors of f64, f32, f16 or bf16 with the axes that `layout` names, any strides: "
    "bhtd\n"
    "[batch, heads, tokens, head_dim], bthd, or thd [tokens, heads, head_dim]. They share batch, tokens and "
    "element\n"
    "type. positions (see angles()) or angles, one of the two. Lanes outside the rotary window stay as they "
    "are.\n"
    "ValueError: shapes that do not fit, angles of another rope. TypeError: other types.";

}  // namespace

void bind_rotate(nb::class_<PyRope>& rope) {
  static const std::string in_place =
      std::string("Turns q and k in place; the form for every layer, with kept angles.\n\n") + shared_doc +
      "\nValueError too: read-only memory. The other threads of Python run meanwhile.";
  static const std::string out_of_place =
      std::string("Turned copies of q and k, of the same kind and element type.\n\n") + shared_doc;
  rope.def(
      "rotate_", &rotate_in_place, nb::arg("q").none(), "k"_a = nb::none(), nb::kw_only(),
      "positions"_a = nb::none(), "angles"_a = nb::none(), "layout"_a = "bhtd",
      nb::sig("def rotate_(self, q: typing.Any, k: typing.Any = None, *, positions: PositionsLike | None = "
              "None, angles: Angles | None = None, layout: str = 'bhtd') -> None"),
      in_place.c_str());
  rope.def(
      "rotate", &rotate_one, nb::arg("q").none(), nb::kw_only(), "positions"_a = nb::none(),
      "angles"_a = nb::none(), "layout"_a = "bhtd",
      nb::sig("def rotate(self, q: ArrayT, *, positions: PositionsLike | None = None, angles: Angles | None "
              "= None, layout: str = 'bhtd') -> ArrayT"),
      out_of_place.c_str());
  rope.def(
      "rotate", &rotate_two, nb::arg("q").none(), nb::arg("k").none(), nb::kw_only(),
      "positions"_a = nb::none(), "angles"_a = nb::none(), "layout"_a = "bhtd",
      nb::sig("def rotate(self, q: ArrayT, k: ArrayT, *, positions: PositionsLike | None = None, angles: "
              "Angles | None = None, layout: str = 'bhtd') -> tuple[ArrayT, ArrayT]"));
}

void bind_angles(nb::module_& m) {
  m.def("_rotate_by_rows", &rotate_by_rows, "q"_a, "k"_a.none(), "cos"_a, "sin"_a, "lanes"_a, "pairing"_a,
        "direction"_a, "layout"_a,
        nb::sig(
            "def _rotate_by_rows(q: ArrayT, k: ArrayT | None, cos: typing.Any, sin: typing.Any, lanes: bool, "
            "pairing: str, direction: str, layout: str) -> typing.Any"),
        "Turns by rows of cos and sin, one a token. lanes: a row has a number a lane, else a number a pair.");
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
          "__len__", [](const PyAngles& a) { return a.angles->tokens(); }, "Tokens.")
      .def("__repr__", [](const PyAngles& a) {
        return "Angles(batch=" + std::to_string(a.angles->batch()) +
               ", tokens=" + std::to_string(a.angles->tokens()) +
               ", pairs=" + std::to_string(a.angles->pairs()) + ", policy='" +
               std::string(name(a.angles->policy())) + "')";
      });
}

}  // namespace rotary::python
