// SPDX-License-Identifier: Apache-2.0
// What other systems make of a model, its queries' temperature, and ropes of learned tables (FoPE).
#include "model.hpp"
#include "rope.hpp"
#include "scaling.hpp"
#include "tensor.hpp"

namespace rotary::python {
namespace {

std::size_t index_of(const Model& model, const std::optional<std::string>& name) {
  if (!name && model.ropes().size() == 1) return 0;
  for (std::size_t i = 0; name && i < model.ropes().size(); ++i)
    if (model.ropes()[i].name == *name) return i;
  raise_value(model.origin() + ": rope " + (name ? "\"" + *name + "\"" : "is missing") +
              ": the model's ropes are " + rope_names(model));
}

nb::object rope_as(const Model& self, const std::string& peer, const std::optional<std::string>& name,
                   std::optional<std::int64_t> length) {
  const std::size_t index = index_of(self, name);
  PeerRope theirs = self.rope_as(peer_of(peer), index, length);
  const auto rule = theirs.length_rule;
  return plain_data("PeerRope")(
      text(rotary::name(theirs.peer)),
      theirs.rope.ok() ? nb::cast(py_rope(self.ropes()[index]).turned(theirs.rope.value())) : nb::none(),
      theirs.rope.ok() ? nb::none() : nb::cast(theirs.rope.status().message()), theirs.reasons,
      rule ? nb::object(text(rotary::name(*rule))) : nb::none(), theirs.length_words);
}

nb::object apart(const PyRope& ours, const PyRope& theirs, double position) {
  if (ours.rope.pairs() != theirs.rope.pairs())
    raise_value("theirs: " + std::to_string(theirs.rope.pairs()) + " pairs, expected ours' " +
                std::to_string(ours.rope.pairs()));
  const PeerDifference d = difference(ours.rope, theirs.rope, position);
  return plain_data("PeerDifference")(d.attention_factor, d.softmax_factor, d.pairs, d.worst_pair, d.angle);
}

/// [heads, kept, kept], as float, whatever it is.
nb::object dense(nb::handle matrices) {
  const nb::object numpy = nb::module_::import_("numpy");
  return numpy.attr("ascontiguousarray")(matrices, "float32");
}

std::vector<PyRope> fope_ropes(std::int64_t rotary_dim, nb::handle cos, nb::handle sin, std::int64_t context,
                               std::int64_t rows, double base, nb::handle scaling,
                               std::optional<std::int64_t> num_inv_freq, const std::string& pairing) {
  const nb::object cos_array = dense(cos), sin_array = dense(sin);
  const Tensor c(cos_array, "cos"), s(sin_array, "sin");
  if (c.shape().size() != 3 || !std::ranges::equal(c.shape(), s.shape()))
    raise_value("cos " + c.shape_text() + " and sin " + s.shape_text() +
                ": expected the same [heads, kept, kept]");
  SpectrumOptions options;
  options.rotary_dim = rotary_dim;
  options.base = base;
  options.scaling = to_scaling(scaling);
  const Spectrum kept = take(fope_spectrum(options, context, num_inv_freq));
  const auto size = static_cast<std::size_t>(c.bytes()) / sizeof(float);
  const FopeCoefficients coefficients{.cos = {static_cast<const float*>(c.data()), size},
                                      .sin = {static_cast<const float*>(s.data()), size},
                                      .heads = c.shape()[0]};
  std::vector<PyRope> out;
  RopeOptions rope;
  rope.pairing = pairing_of(pairing);
  for (const FopeTable& table : take(fope_tables(kept, coefficients, rows, rotary_dim / 2)))
    out.push_back({take(Rope::from_table(table.view(), rope))});
  return out;
}

}  // namespace

void bind_peers(nb::module_& m, nb::class_<Model>& model) {
  nb::class_<QueryTemperature>(
      m, "QueryTemperature",
      "1 + scale * ln(1 + floor((position + first) / length)): what queries are multiplied by "
      "beside their\nrotation (Llama 4, Ministral 3).")
      .def(
          "__init__",
          [](QueryTemperature* self, double scale, double length, double first) {
            if (!(length > 0)) raise_value("length: expected more than 0 tokens");
            new (self) QueryTemperature{scale, length, first};
          },
          "scale"_a, "length"_a, "first"_a = 0.0)
      .def_ro("scale", &QueryTemperature::scale)
      .def_ro("length", &QueryTemperature::length, "Tokens.")
      .def_ro("first", &QueryTemperature::first, "What the first position counts as.")
      .def("at", &QueryTemperature::at, "position"_a,
           "The factor for the query at that position; 1 at negative ones.")
      .def("__repr__", [](const QueryTemperature& t) {
        const auto number = [](double x) { return nb::cast<std::string>(nb::repr(nb::float_(x))); };
        return "QueryTemperature(scale=" + number(t.scale) + ", length=" + number(t.length) +
               ", first=" + number(t.first) + ")";
      });
  model
      .def(
          "as_peer", [](const Model& self, const std::string& peer) { return take(self.as(peer_of(peer))); },
          "peer"_a,
          "The same description with the numbers that another system computes from it: transformers, "
          "llama.cpp,\n"
          "vllm, sglang or mlx. NotImplementedError where it cannot run one of the ropes.")
      .def("rope_as", &rope_as, "peer"_a, "name"_a = nb::none(), nb::kw_only(), "length"_a = nb::none(),
           nb::sig("def rope_as(self, peer: str, name: str | None = None, *, length: int | None = None) -> "
                   "PeerRope"),
           "One rope as another system computes it, for sequences of `length` tokens, and why it differs. "
           "ValueError:\nno rope of that name.")
      .def(
          "rope_at",
          [](const Model& self, std::int64_t length, const std::optional<std::string>& name) {
            const std::size_t index = index_of(self, name);
            return py_rope(self.ropes()[index]).turned(take(self.rope_at(index, length)));
          },
          "length"_a, "name"_a = nb::none(),
          "One rope for sequences of so many tokens, where its frequencies depend on that (dynamic, "
          "longrope).")
      .def(
          "temperature_for_layer",
          [](const Model& self, std::int64_t layer) { return take(self.temperature_for_layer(layer)); },
          "layer"_a, "What the queries of a layer are multiplied by, or None. ValueError: no such layer.");
  m.def("difference", &apart, "ours"_a, "theirs"_a, "position"_a,
        nb::sig("def difference(ours: Rope, theirs: Rope, position: float) -> PeerDifference"),
        "How far two ropes of the same width are apart at a position, the same on every axis. ValueError: "
        "ropes of\ndifferent pairs.");
  m.def(
      "fope_ropes", &fope_ropes, "rotary_dim"_a, "cos"_a, "sin"_a, nb::kw_only(), "context"_a, "rows"_a,
      "base"_a = 10000.0, "scaling"_a = nb::none(), "num_inv_freq"_a = nb::none(), "pairing"_a = "half_split",
      nb::sig("def fope_ropes(rotary_dim: int, cos: numpy.typing.ArrayLike, sin: numpy.typing.ArrayLike, *, "
              "context: "
              "int, rows: int, base: float = 10000.0, scaling: collections.abc.Mapping[str, typing.Any] | "
              "str | None "
              "= None, num_inv_freq: int | None = None, pairing: str = 'half_split') -> list[Rope]"),
      "FoPE: a rope for each key head and its queries, by tables of `rows` positions. cos, sin: the learned\n"
      "matrices, [heads, kept, kept]; kept: the pairs that turn at least once within `context` tokens, or\n"
      "num_inv_freq. ValueError: matrices of another size. Source: arXiv:2412.17739.");
}

}  // namespace rotary::python
