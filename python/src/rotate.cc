// SPDX-License-Identifier: Apache-2.0
// rotate and rotate_, and the forms that rotary.torch calls.
#include "operand.hpp"
#include "positions.hpp"
#include "pytorch.hpp"
#include "rope.hpp"
#include "threads.hpp"

namespace rotary::python {
namespace {

/// Below this much data other threads would wait longer for the lock than the work takes.
constexpr std::int64_t most_bytes_under_the_lock = 64 * 1024;

Layout layout_of(nb::handle text) {
  if (!PyUnicode_Check(text.ptr())) raise_type("layout: " + kind_of(text) + ", expected a str");
  return word("layout", nb::borrow<nb::str>(text).c_str(), &layout_from_name, "bhtd, bthd or thd");
}

template <class Work>
Status unlocked(const Work& work) {
  nb::gil_scoped_release released;
  return work();
}

/// A call's rope, where its tokens stand, and who works.
struct Turn {
  const PyRope& rope;
  nb::handle positions, angles;  // one of them is None
  Layout layout;
  Executor* threads = nullptr;
  Tensor::Graph graph = Tensor::Graph::refused;

  Status by(const Angles& at, const Operand& q, const Operand* k, std::int64_t bytes) const {
    const RotateOptions options{.executor = threads};
    const auto work = [&] {
      return k != nullptr ? rope.rope.rotate(at, q, *k, options) : rope.rope.rotate(at, q, options);
    };
    return bytes < most_bytes_under_the_lock ? work() : unlocked(work);
  }

  /// With kept angles, or with rows made on the way.
  void run(const Operand& q, const Operand* k, std::int64_t bytes) const {
    if (positions.is_none() == angles.is_none()) raise_value("give positions or angles, one of the two");
    if (!angles.is_none()) {
      const PyAngles* kept = nullptr;
      if (!nb::try_cast(angles, kept) || kept == nullptr)
        raise_type("angles: " + kind_of(angles) +
                   ", expected a rotary.Angles, made by rope.angles(positions)");
      const std::shared_ptr<const Angles> held = kept->angles;
      return check(by(*held, q, k, bytes));
    }
    const Positions at = to_positions(positions, q.in.shape.tokens, rope.rope.spectrum().axes(), graph);
    check(by(take(rope.rope.angles(at, Rows::on_the_way)), q, k, bytes));
  }

  void in_place(nb::handle q, nb::handle k) const {
    const Written q_written(q, "q", layout, graph);
    if (k.is_none()) return run(q_written.operand(), nullptr, q_written.bytes());
    const Written k_written(k, "k", layout, graph);
    run(q_written.operand(), &k_written.operand(), q_written.bytes());
  }

  nb::object out_of_place(nb::handle q, nb::handle k) const {
    const Tensor q_from(q, "q", Tensor::Access::read, graph);
    const Heads q_read = q_from.heads(layout);
    if (k.is_none()) {
      nb::object out = q_from.empty_like();
      const Tensor to(out, "q", Tensor::Access::write, graph);
      run(Operand(q_read, to.heads(layout)), nullptr, q_from.bytes());
      return out;
    }
    const Tensor k_from(k, "k", Tensor::Access::read, graph);
    const Heads k_read = k_from.heads(layout);
    nb::object q_out = q_from.empty_like(), k_out = k_from.empty_like();
    const Tensor q_to(q_out, "q", Tensor::Access::write, graph),
        k_to(k_out, "k", Tensor::Access::write, graph);
    const Operand k_operand(k_read, k_to.heads(layout));
    run(Operand(q_read, q_to.heads(layout)), &k_operand, q_from.bytes());
    return nb::make_tuple(q_out, k_out);
  }
};

void rotate_in_place(const PyRope& self, nb::handle q, nb::handle k, nb::handle positions, nb::handle angles,
                     nb::handle layout, nb::handle threads) {
  Turn{self, positions, angles, layout_of(layout), threads_of(whole_of(threads, "threads"))}.in_place(q, k);
}

void store_heads(nb::handle x, nb::handle out, nb::handle norm, nb::handle scale, nb::handle overflow,
                 nb::handle layout, nb::handle threads) {
  const nb::object whole = nb::cast(PyOperand(nb::borrow(x), nb::borrow(out), nb::borrow(norm),
                                              nb::borrow(scale), text_of(overflow, "overflow")));
  const Written written(whole, "x", layout_of(layout), Tensor::Graph::refused);
  const RotateOptions options{.executor = threads_of(whole_of(threads, "threads"))};
  const auto work = [&] { return store(written.operand(), options); };
  check(written.bytes() < most_bytes_under_the_lock ? work() : unlocked(work));
}

nb::object rotate_one(const PyRope& self, nb::handle q, nb::handle positions, nb::handle angles,
                      nb::handle layout, nb::handle threads) {
  return Turn{self, positions, angles, layout_of(layout), threads_of(whole_of(threads, "threads"))}
      .out_of_place(q, nb::none());
}

nb::object rotate_two(const PyRope& self, nb::handle q, nb::handle k, nb::handle positions, nb::handle angles,
                      nb::handle layout, nb::handle threads) {
  return Turn{self, positions, angles, layout_of(layout), threads_of(whole_of(threads, "threads"))}
      .out_of_place(q, k);
}

/// For callers that see to gradients themselves, by PyTorch's threads: `at` is Angles or positions.
nb::object turned(const PyRope& self, nb::handle at, const nb::str& layout, nb::handle q, nb::handle k) {
  const bool kept = nb::isinstance<PyAngles>(at);
  const nb::handle none(Py_None);
  return Turn{self,          kept ? none : at,      kept ? at : none, layout_of(layout),
              threads_of(0), Tensor::Graph::seen_to}
      .out_of_place(q, k);
}

/// A call of a layer, as the first one was found to be: q, or q and k, by kept angles, as long as the tables that it
/// is handed are the same objects and nobody has written into them. One step from Python, so that a layer's call
/// touches little memory: in a model its caches hold weights.
class Kept {
 public:
  Kept(const PyRope& rope, const PyAngles& angles, const nb::str& layout, const nb::tuple& operands,
       const nb::tuple& tables)
      : rope_(rope),
        angles_(nb::cast(angles)),
        layout_(layout_of(layout)),
        operands_(operands.size()),
        type_(nb::handle(operands[0]).type()),
        dtype_(Tensor(operands[0], "q", Tensor::Access::read, Tensor::Graph::seen_to).dtype()) {
    for (const nb::handle table : tables) tables_.push_back({nb::weakref(table), version_of(table)});
  }

  /// None where this is another call.
  nb::object call(const nb::tuple& given) const {
    if (given.size() != operands_ + tables_.size()) return nb::none();
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      const nb::handle table = given[operands_ + i];
      if (PyWeakref_GetObject(tables_[i].of.ptr()) != table.ptr() || version_of(table) != tables_[i].version)
        return nb::none();
    }
    for (std::size_t i = 0; i < operands_; ++i)
      if (nb::handle(given[i]).type().ptr() != type_.ptr() || requires_gradient(given[i])) return nb::none();
    const nb::handle q = given[0], none(Py_None);
    const Tensor described(q, "q", Tensor::Access::read, Tensor::Graph::seen_to);
    const std::size_t axes = layout_ == Layout::thd ? 3 : 4;
    const std::size_t axis = layout_ == Layout::bhtd ? 2 : layout_ == Layout::bthd ? 1 : 0;
    if (described.dtype() != dtype_ || described.shape().size() != axes ||
        described.shape()[axis] != nb::cast<const PyAngles&>(angles_).angles->tokens())
      return nb::none();
    return Turn{rope_, none, angles_, layout_, threads_of(0), Tensor::Graph::seen_to}.out_of_place(
        q, operands_ == 2 ? nb::handle(given[1]) : none);
  }

 private:
  struct Table {
    nb::weakref of;
    std::int64_t version;
  };
  static std::int64_t version_of(nb::handle table) {
    static PyObject* const version = PyUnicode_InternFromString("_version");
    return nb::cast<std::int64_t>(nb::steal(PyObject_GetAttr(table.ptr(), version)));
  }

  PyRope rope_;
  nb::object angles_;
  Layout layout_;
  std::size_t operands_;
  nb::handle type_;
  DType dtype_;
  std::vector<Table> tables_;
};

constexpr const char* shared_doc =
    "q, k: arrays or CPU tensors of f64, f32, f16 or bf16 with the axes that `layout` names, any strides: "
    "bhtd\n"
    "[batch, heads, tokens, head_dim], bthd, or thd [tokens, heads, head_dim]. They share batch, tokens and "
    "element\n"
    "type. positions (see angles()) or angles, one of the two. Lanes outside the rotary window stay as they "
    "are.\n"
    "threads: for one call over 131072 lanes and more; 0: as many as PyTorch has. The bits are the same.\n"
    "ValueError: shapes that do not fit, angles of another rope. TypeError: other types.";

}  // namespace

void bind_rotate(nb::module_& m, nb::class_<PyRope>& rope) {
  nb::class_<Kept>(m, "_Kept",
                   "A layer's call by kept angles, while its tables are the same two and as they were.")
      .def(
          nb::init<const PyRope&, const PyAngles&, const nb::str&, const nb::tuple&, const nb::tuple&>(),
          "rope"_a, "angles"_a, "layout"_a, "operands"_a, "tables"_a,
          nb::sig(
              "def __init__(self, rope: Rope, angles: Angles, layout: str, operands: tuple[typing.Any, ...], "
              "tables: tuple[typing.Any, ...]) -> None"))
      .def("__call__", &Kept::call, nb::arg(),
           nb::sig("def __call__(self, given: tuple[typing.Any, ...], /) -> typing.Any"),
           "None where it is another call.");
  m.def("store", &store_heads, nb::arg("x").none(), nb::arg("out").none(), nb::kw_only(),
        "norm"_a = nb::none(), "scale"_a = 1.0, nb::arg("overflow").none() = "saturate",
        nb::arg("layout").none() = "bhtd", nb::arg("threads").none() = 1,
        nb::sig("def store(x: typing.Any, out: typing.Any, *, norm: RmsNorm | None = None, scale: float | "
                "collections.abc.Sequence[float] | typing.Any = 1.0, overflow: str = 'saturate', layout: str "
                "= 'bhtd', "
                "threads: int = 1) -> None"),
        "What rotate_ does with an Operand, but without the rotation: values into their cache. The arguments "
        "are those\n"
        "of Operand and rotate_.");
  static const std::string in_place =
      std::string(
          "Turns q and k in place, or as each rotary.Operand says; the form for every layer, with kept "
          "angles.\n\n") +
      shared_doc + "\nValueError too: read-only memory. The other threads of Python run meanwhile.";
  static const std::string out_of_place =
      std::string("Turned copies of q and k, of the same kind and element type.\n\n") + shared_doc;
  rope.def(
      "rotate_", &rotate_in_place, nb::arg("q").none(), "k"_a = nb::none(), nb::kw_only(),
      "positions"_a = nb::none(), "angles"_a = nb::none(), nb::arg("layout").none() = "bhtd",
      nb::arg("threads").none() = 1,
      nb::sig("def rotate_(self, q: typing.Any, k: typing.Any = None, *, positions: PositionsLike | None = "
              "None, angles: Angles | None = None, layout: str = 'bhtd', threads: int = 1) -> None"),
      in_place.c_str());
  rope.def(
      "rotate", &rotate_one, nb::arg("q").none(), nb::kw_only(), "positions"_a = nb::none(),
      "angles"_a = nb::none(), nb::arg("layout").none() = "bhtd", nb::arg("threads").none() = 1,
      nb::sig("def rotate(self, q: ArrayT, *, positions: PositionsLike | None = None, angles: Angles | None "
              "= None, layout: str = 'bhtd', threads: int = 1) -> ArrayT"),
      out_of_place.c_str());
  rope.def(
      "rotate", &rotate_two, nb::arg("q").none(), nb::arg("k").none(), nb::kw_only(),
      "positions"_a = nb::none(), "angles"_a = nb::none(), nb::arg("layout").none() = "bhtd",
      nb::arg("threads").none() = 1,
      nb::sig("def rotate(self, q: ArrayT, k: ArrayT, *, positions: PositionsLike | None = None, angles: "
              "Angles | None = None, layout: str = 'bhtd', threads: int = 1) -> tuple[ArrayT, ArrayT]"));
  rope.def(
      "_turned", &turned, nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg().none(),
      nb::sig(
          "def _turned(self, at: Angles | PositionsLike, layout: str, q: typing.Any, k: typing.Any, /) -> "
          "typing.Any"),
      "rotate() for callers that see to gradients, by PyTorch's threads; k may be None.");
}

}  // namespace rotary::python
