// SPDX-License-Identifier: Apache-2.0
#include "positions.hpp"

#include <cstring>

#include "places.hpp"

namespace rotary::python {
namespace {

std::int64_t whole(nb::handle object, const char* name) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow != 0) raise_value(std::string(name) + ": beyond 64 bits");
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return value;
}

/// The elements in the order of the axes, whatever the strides.
template <class From, class To>
void gather(const Tensor& from, std::size_t axis, const From* at, std::vector<To>& out) {
  const auto shape = from.shape(), strides = from.strides();
  if (axis == shape.size()) {
    From value;  // a view need not be aligned
    std::memcpy(&value, at, sizeof value);
    if constexpr (std::is_same_v<From, std::uint64_t>) {
      if (value > INT64_MAX) raise_value("positions: beyond 63 bits");
    }
    return out.push_back(static_cast<To>(value));
  }
  for (std::int64_t i = 0; i < shape[axis]; ++i) gather(from, axis + 1, at + i * strides[axis], out);
}

template <class From, class To>
std::vector<To> numbers(const Tensor& from) {
  std::int64_t count = 1;
  for (const std::int64_t extent : from.shape())
    if (__builtin_mul_overflow(count, extent, &count)) throw std::bad_alloc();
  std::vector<To> out;
  out.reserve(static_cast<std::size_t>(count));
  gather(from, 0, static_cast<const From*>(from.data()), out);
  return out;
}

template <class Use>
auto with_whole_numbers(const Tensor& from, const char* name, Use&& use) {
  switch (from.dtype()) {
    case DType::i64:
      return use(numbers<std::int64_t, std::int64_t>(from));
    case DType::i32:
      return use(numbers<std::int32_t, std::int64_t>(from));
    case DType::i16:
      return use(numbers<std::int16_t, std::int64_t>(from));
    case DType::i8:
      return use(numbers<std::int8_t, std::int64_t>(from));
    case DType::u64:
      return use(numbers<std::uint64_t, std::int64_t>(from));
    case DType::u32:
      return use(numbers<std::uint32_t, std::int64_t>(from));
    case DType::u16:
      return use(numbers<std::uint16_t, std::int64_t>(from));
    case DType::u8:
      return use(numbers<std::uint8_t, std::int64_t>(from));
    default:
      break;
  }
  raise_type(std::string(name) + ": dtype " + std::string(rotary::name(from.dtype())) +
             ", expected integers");
}

template <class Use>
auto with_numbers(const Tensor& from, const char* name, Use&& use) {
  switch (from.dtype()) {
    case DType::f64:
      return use(numbers<double, double>(from));
    case DType::f32:
      return use(numbers<float, double>(from));
    case DType::f16:
    case DType::bf16:
      raise_type(std::string(name) + ": dtype " + std::string(rotary::name(from.dtype())) +
                 " cannot hold every position: give integers, f32 or f64");
    case DType::boolean:
      raise_type(std::string(name) + ": booleans, expected numbers");
    default:
      return with_whole_numbers(from, name, use);
  }
}

nb::object as_array(nb::handle object) {
  if (!nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object)) return nb::borrow(object);
  const nb::object array = nb::module_::import_("numpy").attr("asarray")(object);
  return nb::cast<std::int64_t>(array.attr("size")) == 0 ? array.attr("astype")("int64") : array;
}

Positions ids(nb::handle object, std::int64_t tokens, std::int64_t axes, Tensor::Graph graph) {
  const nb::object array = as_array(object);
  const Tensor tensor(array, "positions", Tensor::Access::read, graph);
  const auto shape = tensor.shape();
  if (tensor.dtype() == DType::i64 && shape.size() == 2 && shape[0] == 1 &&
      shape[1] == 1) {  // a step of decode
    std::int64_t at = 0;
    std::memcpy(&at, tensor.data(), sizeof at);
    if (at != INT64_MAX) return Positions::range(at, at + 1);
  }
  return with_numbers(tensor, "positions", [&]<class T>(const std::vector<T>& values) {
    if (shape.empty()) {
      if constexpr (std::is_integral_v<T>)
        return to_positions(nb::int_(values.front()), tokens, axes);
      else
        raise_type("positions: a float, expected an int or an array");
    }
    if (shape.size() > 3)
      raise_value("positions: shape " + tensor.shape_text() +
                  ", expected [tokens], [batch, tokens] or [axes, batch, tokens]");
    const std::size_t rank = shape.size();
    return take(Positions::ids(std::span(values), rank < 3 ? 1 : shape[0], rank < 2 ? 1 : shape[rank - 2],
                               shape[rank - 1]));
  });
}

Positions on_every_axis(Positions one, std::int64_t axes) {
  if (axes <= 1) return one;
  return take(Positions::axes(std::vector<Positions>(static_cast<std::size_t>(axes), one)));
}

nb::object to_numpy(const Positions& p) {
  const std::int64_t shape[] = {p.axes(), p.batch(), p.tokens()};
  std::vector<Position> row(static_cast<std::size_t>(p.tokens()));
  std::vector<double> values;
  std::vector<std::int64_t> wholes;
  bool fractions = false;
  for (std::int64_t a = 0; a < p.axes(); ++a) {
    for (std::int64_t b = 0; b < p.batch(); ++b) {
      p.read(a, b, 0, row);
      for (const Position& each : row) {
        fractions = fractions || each.fraction != 0;
        values.push_back(to_double(each));
        wholes.push_back(each.whole);
      }
    }
  }
  return fractions ? numpy_copy<double>(values, shape, "float64")
                   : numpy_copy<std::int64_t>(wholes, shape, "int64");
}

}  // namespace

std::vector<std::int64_t> whole_numbers(nb::handle object, const char* name) {
  const nb::object array = as_array(object);
  const Tensor tensor(array, name);
  if (tensor.shape().size() != 1)
    raise_value(std::string(name) + ": shape " + tensor.shape_text() + ", expected one axis");
  return with_whole_numbers(tensor, name, [](std::vector<std::int64_t> values) { return values; });
}

Positions to_positions(nb::handle object, std::int64_t tokens, std::int64_t axes, Tensor::Graph graph) {
  if (nb::isinstance<Positions>(object)) return nb::cast<const Positions&>(object);
  if (PyBool_Check(object.ptr())) raise_type("positions: a bool, expected numbers");
  if (PyLong_Check(object.ptr())) {
    const std::int64_t first = whole(object, "positions");
    std::int64_t last = 0;
    if (__builtin_add_overflow(first, tokens, &last)) raise_value("positions: beyond 2^63 - 1");
    return on_every_axis(Positions::range(first, last), axes);
  }
  if (PyRange_Check(object.ptr())) {
    const std::int64_t first = whole(object.attr("start"), "positions");
    const std::int64_t step = whole(object.attr("step"), "positions");
    const auto count = nb::cast<std::int64_t>(object.attr("__len__")());
    if (step == 1) return on_every_axis(Positions::range(first, first + count), axes);
    return on_every_axis(
        take(Positions::spaced(static_cast<double>(first), static_cast<double>(step), count)), axes);
  }
  return ids(object, tokens, axes, graph);
}

void bind_positions(nb::module_& m) {
  nb::class_<Positions> positions(
      m, "Positions",
      "Where each token stands, on one axis or several: logically a table [axes, batch, "
      "tokens], in the model's\n"
      "steps; whole or fractional, positive or negative. Immutable. Wherever a Positions "
      "is taken, an int (the\n"
      "first position), a range, an array or a nested list is taken as well.");
  positions
      .def_static("range", &Positions::range, "first"_a, "last"_a,
                  "first, first + 1, ..., last - 1 for one row, shared by every row of a batch.")
      .def_static(
          "spaced",
          [](double first, double step, std::int64_t tokens) {
            return take(Positions::spaced(first, step, tokens));
          },
          "first"_a, "step"_a, "tokens"_a,
          "first, first + step, ... (`tokens` of them), each exact. ValueError beyond 2^53.")
      .def_static(
          "offsets",
          [](nb::object first_of_row, std::int64_t tokens) {
            return take(Positions::offsets(whole_numbers(first_of_row, "first_of_row"), tokens));
          },
          "first_of_row"_a, "tokens"_a = 1,
          "Row b holds first_of_row[b], first_of_row[b] + 1, ... (`tokens` of them): a batch whose rows "
          "have\n"
          "different lengths in the cache.")
      .def_static(
          "ids", [](nb::object ids) { return to_positions(ids, 1, 1); }, "ids"_a,
          "One position a token: [tokens], [batch, tokens] or [axes, batch, tokens]; integers, f32 or f64.")
      .def_static(
          "packed",
          [](nb::object cu_seqlens, nb::object starts) {
            std::vector<std::int64_t> begins;
            if (!starts.is_none()) begins = whole_numbers(starts, "starts");
            return take(Positions::packed(
                std::span<const std::int64_t>(whole_numbers(cu_seqlens, "cu_seqlens")), begins));
          },
          "cu_seqlens"_a, "starts"_a = nb::none(),
          "Sequences behind one another in one row: sequence s has the tokens cu_seqlens[s] ...\n"
          "cu_seqlens[s + 1] - 1 and begins at starts[s], or at 0.")
      .def_static(
          "axes",
          [](const std::vector<nb::object>& each) {
            std::vector<Positions> axes;
            for (const auto& one : each) axes.push_back(to_positions(one, 1, 1));
            return take(Positions::axes(axes));
          },
          "each"_a, "One Positions an axis, all of the same batch and tokens: (t, h, w) of M-RoPE, grids.")
      .def_prop_ro(
          "shape", [](const Positions& p) { return nb::make_tuple(p.axes(), p.batch(), p.tokens()); },
          nb::sig("def shape(self) -> tuple[int, int, int]"), "(axes, batch, tokens)")
      .def("to_numpy", &to_numpy, nb::sig("def to_numpy(self) -> numpy.typing.NDArray[typing.Any]"),
           "A copy as an array [axes, batch, tokens]: int64, or float64 where one is fractional.")
      .def("__len__", &Positions::tokens, "Tokens.")
      .def(
          "__eq__",
          [](const Positions& p, nb::handle other) {
            return nb::isinstance<Positions>(other) && p == nb::cast<const Positions&>(other);
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def(
          "__copy__", [](const Positions& p) { return p; }, nb::sig("def __copy__(self) -> Positions"))
      .def(
          "__deepcopy__", [](const Positions& p, nb::handle) { return p; }, "memo"_a,
          nb::sig("def __deepcopy__(self, memo: typing.Any) -> Positions"))
      .def("__repr__", [](const Positions& p) {
        return "Positions(axes=" + std::to_string(p.axes()) + ", batch=" + std::to_string(p.batch()) +
               ", tokens=" + std::to_string(p.tokens()) + ")";
      });
  bind_more_positions(positions);
}

}  // namespace rotary::python
