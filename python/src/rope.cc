// SPDX-License-Identifier: Apache-2.0
#include "rope.hpp"

#include <algorithm>

#include "positions.hpp"
#include "scaling.hpp"

namespace rotary::python {
namespace {

std::vector<double> doubles(nb::handle object, const char* name) {
  std::vector<double> out;
  if (!nb::try_cast(nb::module_::import_("numpy").attr("asarray")(object, "float64").attr("tolist")(), out))
    raise_value(std::string(name) + ": expected numbers along one axis");
  return out;
}

double xpos_number(const nb::dict& dict, const char* key, double otherwise) {
  if (!dict.contains(key)) return otherwise;
  double number = 0;
  const nb::object value = dict[key];
  if (!nb::try_cast(value, number))
    raise_type("xpos: " + std::string(key) + ": " + kind_of(value) + ", expected a number");
  return number;
}

std::optional<Xpos> xpos_of(nb::object object) {
  if (object.is_none()) return std::nullopt;
  if (nb::isinstance(object, plain_data("Xpos"))) object = object.attr("_asdict")();
  if (!nb::isinstance<nb::dict>(object))
    raise_type("xpos: " + kind_of(object) + ", expected a rotary.Xpos, a dict or None");
  const auto dict = nb::borrow<nb::dict>(object);
  for (const auto& [key, value] : dict) {
    const auto word = nb::cast<std::string>(nb::str(key));
    if (word != "scale_base" && word != "centre" && word != "gamma" && word != "keys")
      raise_value("xpos: unknown key \"" + word + "\", it has scale_base, centre, gamma, keys");
  }
  Xpos xpos;
  xpos.scale_base = xpos_number(dict, "scale_base", xpos.scale_base);
  xpos.centre = xpos_number(dict, "centre", xpos.centre);
  xpos.gamma = xpos_number(dict, "gamma", xpos.gamma);
  if (dict.contains("keys")) {
    const nb::object keys = dict["keys"];
    if (!PyBool_Check(keys.ptr())) raise_type("xpos: keys: " + kind_of(keys) + ", expected a bool");
    xpos.keys = keys.ptr() == Py_True;
  }
  return xpos;
}

/// One schedule an axis, each as {"rotary_dim", "base", "scaling"}.
Spectrum joined(const std::vector<nb::dict>& parts, const std::string& axis_order,
                std::optional<std::int64_t> length) {
  std::vector<Spectrum> spectra;
  for (const nb::dict& part : parts) {
    for (const char* key : {"rotary_dim", "base", "scaling"})
      if (!part.contains(key))
        raise_value("parts: each has rotary_dim, base and scaling; \"" + std::string(key) + "\" is missing");
    if (part["base"].is_none())
      raise_value("parts: base None: frequencies of the caller's own are no schedule");
    spectra.push_back(take(Spectrum::make({.rotary_dim = nb::cast<std::int64_t>(part["rotary_dim"]),
                                           .base = nb::cast<double>(part["base"]),
                                           .scaling = to_scaling(part["scaling"]),
                                           .length = length})));
  }
  return take(Spectrum::join(spectra, axis_order_of(axis_order)));
}

struct Given {
  const char* name;
  nb::handle value;
};

/// ValueError for an argument that would not be read beside another.
void refuse_beside(const char* what, std::initializer_list<Given> unread) {
  for (const auto& [name, value] : unread) {
    const bool is_left_out = value.is_none() || (nb::isinstance<nb::sequence>(value) &&
                                                 !nb::isinstance<nb::str>(value) && nb::len(value) == 0);
    if (!is_left_out)
      raise_value(std::string(name) + ": " + nb::cast<std::string>(nb::repr(value)) + " beside " + what +
                  ", which says it already: give one of the two");
  }
}

/// Another head around the same frequencies.
PyRope replaced(const PyRope& self, std::optional<std::int64_t> head_dim,
                std::optional<std::int64_t> rotary_offset, const std::optional<std::string>& pairing,
                const std::optional<std::string>& direction) {
  const Rope& rope = self.rope;
  RopeOptions options = options_of(rope);
  options.head_dim = head_dim.value_or(rope.head_dim());
  options.rotary_offset = rotary_offset.value_or(rope.rotary_offset());
  if (pairing) options.pairing = pairing_of(*pairing);
  if (direction) options.direction = direction_of(*direction);
  return self.turned(take(Rope::make(options)));
}

void make(PyRope* self, nb::handle given_head_dim, nb::handle base, nb::object scaling,
          nb::handle given_rotary_dim, nb::handle given_offset, nb::handle pairing, nb::handle axis_sections,
          nb::handle axis_order, nb::handle axis, nb::handle given_length, nb::object inv_freq,
          nb::handle attention_factor, nb::handle angles, nb::handle direction, nb::object xpos,
          nb::handle given_parts) {
  const auto head_dim = whole_or_none(given_head_dim, "head_dim"),
             rotary_dim = whole_or_none(given_rotary_dim, "rotary_dim"),
             length = whole_or_none(given_length, "length");
  const auto rotary_offset = whole_of(given_offset, "rotary_offset");
  const auto parts = argument<std::vector<nb::dict>>(given_parts, "parts", "a list of dicts");
  RopeOptions options;
  if (!parts.empty()) {
    refuse_beside("parts", {{"base", base},
                            {"scaling", scaling},
                            {"axis_sections", axis_sections},
                            {"inv_freq", inv_freq},
                            {"attention_factor", attention_factor}});
    options.spectrum = joined(parts, text_of(axis_order, "axis_order"), length);
  } else if (inv_freq.is_none()) {
    if (!head_dim && !rotary_dim) raise_value("head_dim is missing: give head_dim, rotary_dim or inv_freq");
    SpectrumOptions spectrum;
    spectrum.rotary_dim = rotary_dim ? *rotary_dim : std::max<std::int64_t>(*head_dim - rotary_offset, 0);
    if (!base.is_none()) spectrum.base = number_of(base, "base");
    spectrum.scaling = to_scaling(scaling);
    spectrum.axis_sections =
        argument<std::vector<std::int64_t>>(axis_sections, "axis_sections", "ints, one an axis");
    spectrum.axis_order = axis_order_of(text_of(axis_order, "axis_order"));
    spectrum.length = length;
    if (!attention_factor.is_none())
      raise_value("attention_factor: without inv_freq it is the scaling's, expected None");
    if (!axis.is_none()) refuse_beside("axis", {{"axis_sections", axis_sections}});
    options.spectrum = take(Spectrum::make(spectrum));
  } else {
    refuse_beside(
        "inv_freq",
        {{"base", base}, {"scaling", scaling}, {"axis_sections", axis_sections}, {"length", given_length}});
    options.spectrum = take(Spectrum::from_inv_freq(
        doubles(inv_freq, "inv_freq"),
        attention_factor.is_none() ? 1 : number_of(attention_factor, "attention_factor")));
  }
  if (rotary_dim && *rotary_dim != 2 * options.spectrum.pairs())
    raise_value("rotary_dim " + std::to_string(*rotary_dim) + ": " + (parts.empty() ? "inv_freq" : "parts") +
                " has " + std::to_string(options.spectrum.pairs()) + " pairs, expected " +
                std::to_string(2 * options.spectrum.pairs()) + " or None");
  if (!axis.is_none()) {
    const auto of_pairs =
        argument<std::vector<std::uint8_t>>(axis, "axis", "ints from 0 to 255, one a pair, or None");
    options.spectrum = take(options.spectrum.with_axis(of_pairs));
  }
  options.pairing = pairing_of(text_of(pairing, "pairing"));
  options.head_dim = head_dim.value_or(0);
  options.rotary_offset = rotary_offset;
  options.policy = policy_of(text_of(angles, "angles"));
  options.direction = direction_of(text_of(direction, "direction"));
  options.xpos = xpos_of(xpos);
  new (self) PyRope{take(Rope::make(options))};
}

PyRope from_table(nb::object cos, nb::object sin, std::optional<std::int64_t> head_dim,
                  std::int64_t rotary_offset, std::int64_t rotary_dim, const std::string& pairing) {
  const nb::object numpy = nb::module_::import_("numpy");
  const auto dense = [&](const nb::object& table) {
    return numpy.attr("ascontiguousarray")(table, "float32");
  };
  const nb::object cos_array = dense(cos), sin_array = dense(sin);
  const Tensor c(cos_array, "cos"), s(sin_array, "sin");
  if (c.shape().size() != 2 || !std::ranges::equal(c.shape(), s.shape()))
    raise_value("cos " + c.shape_text() + " and sin " + s.shape_text() +
                ": expected the same [positions, pairs] or [positions, rotary_dim]");
  AngleTable table;
  const std::size_t size = static_cast<std::size_t>(c.shape()[0]) * static_cast<std::size_t>(c.shape()[1]);
  table.cos = {static_cast<const float*>(c.data()), size};
  table.sin = {static_cast<const float*>(s.data()), size};
  table.rows = c.shape()[0];
  table.width = c.shape()[1];
  table.rotary_dim = rotary_dim;
  RopeOptions options;
  options.pairing = pairing_of(pairing);
  options.head_dim = head_dim.value_or(0);
  options.rotary_offset = rotary_offset;
  return PyRope{take(Rope::from_table(table, options))};
}

PyAngles angles_of(const PyRope& self, nb::handle positions, nb::handle tokens, nb::handle held) {
  const Positions at = to_positions(positions, whole_of(tokens, "tokens"), self.rope.spectrum().axes());
  const Rows rows = truth_of(held, "held") ? Rows::held : Rows::on_the_way;
  nb::gil_scoped_release released;
  return {std::make_shared<Angles>(take(self.rope.angles(at, rows)))};
}

void bind_properties(nb::class_<PyRope>& rope) {
  const auto number = [&](const char* name, auto get, const char* doc) {
    rope.def_prop_ro(
        name, [get](const PyRope& self) { return get(self.rope); }, doc);
  };
  number(
      "head_dim", [](const Rope& r) { return r.head_dim(); }, "Lanes of a head.");
  number(
      "rotary_dim", [](const Rope& r) { return r.rotary_dim(); }, "Lanes that turn.");
  number(
      "rotary_offset", [](const Rope& r) { return r.rotary_offset(); }, "The first lane that turns.");
  number(
      "pairs", [](const Rope& r) { return r.pairs(); }, "rotary_dim / 2.");
  number(
      "pairing", [](const Rope& r) { return std::string(name(r.pairing())); },
      "half_split, interleaved or interleaved_to_half.");
  number(
      "direction", [](const Rope& r) { return std::string(name(r.direction())); },
      "forward, inverse, gradient or inverse_gradient.");
  number(
      "policy", [](const Rope& r) { return std::string(name(r.policy())); },
      "How cos and sin are computed: exact, fp32, ggml or table.");
  number(
      "base", [](const Rope& r) { return r.spectrum().base(); },
      "rope_theta; None for frequencies of the caller's own, and for parts with several.");
  number(
      "attention_factor", [](const Rope& r) { return r.spectrum().attention_factor(); },
      "A, which multiplies cos and sin.");
  number(
      "softmax_factor", [](const Rope& r) { return r.spectrum().softmax_factor(); },
      "Multiplies 1/sqrt(head_dim) on the attention side; never folded into A.");
  number(
      "axes", [](const Rope& r) { return r.spectrum().axes(); }, "Axes that positions must have.");
  rope.def_prop_ro(
      "scaling", [](const PyRope& self) { return to_dict(self.rope.spectrum().scaling()); },
      nb::sig("def scaling(self) -> dict[str, typing.Any]"),
      "The scaling type, with the words of config.json.");
  rope.def_prop_ro(
      "xpos", [](const PyRope& self) { return py_xpos(self.rope.xpos()); },
      nb::sig("def xpos(self) -> Xpos | None"), "How rows grow with the position, or None.");
  rope.def_prop_ro(
      "parts", [](const PyRope& self) { return parts_of(self.rope.spectrum()); },
      nb::sig("def parts(self) -> list[dict[str, typing.Any]]"),
      "The schedules that were joined, one an axis (Flux, image encoders); empty where there is one.");
  const auto list = [&]<class T>(const char* name, std::span<const T> (Spectrum::*get)() const noexcept,
                                 const char* dtype, const char* signature, const char* doc) {
    rope.def_prop_ro(
        name,
        [get, dtype](const PyRope& self) {
          const std::int64_t shape[] = {self.rope.spectrum().pairs()};
          return numpy_copy((self.rope.spectrum().*get)(), shape, dtype);
        },
        nb::sig(signature), doc);
  };
  list("inv_freq", &Spectrum::inv_freq, "float64",
       "def inv_freq(self) -> numpy.typing.NDArray[numpy.float64]",
       "Radians a position, one a pair, every scaling applied. A copy.");
  list("inv_freq_fp32", &Spectrum::inv_freq_fp32, "float32",
       "def inv_freq_fp32(self) -> numpy.typing.NDArray[numpy.float32]",
       "The same formula with each step rounded to fp32, as Transformers computes it. A copy.");
  list("axis", &Spectrum::axis, "uint8", "def axis(self) -> numpy.typing.NDArray[numpy.uint8]",
       "The position axis of each pair. A copy.");
  rope.def_ro("name", &PyRope::name, "What its model calls it: default, or local and global.");
  rope.def_rw("_key", &PyRope::key);
  rope.def_ro("of_layers", &PyRope::of_layers,
              "False for the rope of an image encoder, which Model.layers does not count.");
  rope.def_ro("original_context", &PyRope::original_context,
              "Tokens the model was trained on before it was stretched, if its description says so.");
  rope.def_ro("context", &PyRope::context, "max_position_embeddings, if the description says so.");
}

}  // namespace

nb::object py_xpos(const std::optional<Xpos>& xpos) {
  if (!xpos) return nb::none();
  return plain_data("Xpos")(xpos->scale_base, xpos->centre, xpos->gamma, xpos->keys);
}

RopeOptions options_of(const Rope& rope) {
  if (rope.policy() == AnglePolicy::table) raise_value("a rope from a table has no frequencies to take over");
  RopeOptions options;
  options.spectrum = rope.spectrum();
  options.pairing = rope.pairing();
  options.head_dim = rope.head_dim();
  options.rotary_offset = rope.rotary_offset();
  options.direction = rope.direction();
  options.policy = rope.policy();
  options.xpos = rope.xpos();
  return options;
}

void bind_rope(nb::module_& m) {
  nb::class_<PyRope> rope(
      m, "Rope",
      "A rotary embedding: how fast each pair of lanes turns, and which lanes form a pair. Immutable; may be "
      "used\n"
      "by any number of threads.\n\n"
      "    rope = rotary.Rope.from_config(\"config.json\")      # once: what the model says\n"
      "    angles = rope.angles(range(tokens))                # once a forward pass\n"
      "    rope.rotate_(q, k, angles=angles)                  # every layer, in place");
  rope.def(
      "__init__", &make, "head_dim"_a = nb::none(), nb::kw_only(), "base"_a = nb::none(),
      "scaling"_a = nb::none(), "rotary_dim"_a = nb::none(), nb::arg("rotary_offset").none() = 0,
      nb::arg("pairing").none() = "half_split", nb::arg("axis_sections").none() = nb::tuple(),
      nb::arg("axis_order").none() = "contiguous", "axis"_a = nb::none(), "length"_a = nb::none(),
      "inv_freq"_a = nb::none(), "attention_factor"_a = nb::none(), nb::arg("angles").none() = "exact",
      nb::arg("direction").none() = "forward", "xpos"_a = nb::none(), nb::arg("parts").none() = nb::tuple(),
      nb::sig(
          "def __init__(self, head_dim: int | None = None, *, base: float | None = None, scaling: "
          "collections.abc.Mapping[str, typing.Any] | str | None = None, rotary_dim: int | None = None, "
          "rotary_offset: int = 0, pairing: str = 'half_split', axis_sections: "
          "collections.abc.Sequence[int] = (), axis_order: str = 'contiguous', axis: "
          "collections.abc.Sequence[int] | None = None, "
          "length: int | None = None, inv_freq: numpy.typing.ArrayLike | None = None, "
          "attention_factor: float | None = None, angles: str = 'exact', direction: str = 'forward', xpos: "
          "Xpos | collections.abc.Mapping[str, typing.Any] | None = None, parts: "
          "collections.abc.Sequence[dict[str, typing.Any]] = ()) -> None"),
      "A rope by its numbers.\n\n"
      "head_dim: lanes of a head. rotary_dim: lanes that turn, even; default the head from rotary_offset "
      "on.\n"
      "base: rope_theta, default 10000. scaling: as rope_scaling in a config.json, {\"rope_type\": \"yarn\", "
      "\"factor\": "
      "4}.\n"
      "pairing: half_split (Hugging Face), interleaved (Meta, GPT-J), interleaved_to_half (DeepSeek-V3).\n"
      "axis_sections: pairs that follow each position axis, in axis_order (contiguous, as Qwen2-VL; "
      "interleaved, as\n"
      "Qwen3-VL; imrope, round_robin, spread, space_then_time); axis: the axis of each pair instead.\n"
      "length: tokens, for types whose frequencies depend on it (dynamic, longrope).\n"
      "inv_freq, attention_factor: frequencies of your own, radians a position, instead of base and "
      "scaling; A, default 1.\n"
      "angles: exact, fp32 (as Transformers and vLLM), ggml (as llama.cpp's CPU path).\n"
      "xpos: rows that grow with the position, an Xpos or its numbers as a dict; q and k have a rope "
      "each.\n"
      "parts: one schedule an axis, in axis_order, each {\"rotary_dim\": 32, \"base\": 100.0, \"scaling\": "
      "\"dinov3\"},\n"
      "instead of base and scaling.\n\n"
      "ValueError with what, expected and got.");
  rope.def_static(
      "from_table", &from_table, "cos"_a, "sin"_a, nb::kw_only(), "head_dim"_a = nb::none(),
      "rotary_offset"_a = 0, "rotary_dim"_a = 0, "pairing"_a = "half_split",
      nb::sig("def from_table(cos: numpy.typing.ArrayLike, sin: numpy.typing.ArrayLike, *, head_dim: "
              "int | None = None, rotary_offset: int = 0, rotary_dim: int = 0, pairing: str = "
              "'half_split') -> Rope"),
      "A rope with cos and sin of your own, [positions, pairs] or [positions, rotary_dim]; position p\n"
      "takes row p. The tables are copied, as float32.");
  rope.def(
      "angles", &angles_of, nb::arg("positions").none(), nb::arg("tokens").none() = 1, nb::kw_only(),
      nb::arg("held").none() = true,
      nb::sig("def angles(self, positions: PositionsLike, tokens: int = 1, *, held: bool = True) -> Angles"),
      "One row of cos and sin a token, made once a forward pass and used by every layer. positions: a\n"
      "Positions, a range, an array of [tokens], [batch, tokens] or [axes, batch, tokens], or an int: the\n"
      "first of `tokens` positions. held: keep the rows, rotary_dim * 4 bytes a token; else they are made\n"
      "while rotating, with the same bits.");
  rope.def("replace", &replaced, nb::kw_only(), "head_dim"_a = nb::none(), "rotary_offset"_a = nb::none(),
           "pairing"_a = nb::none(), "direction"_a = nb::none(),
           "The same frequencies in another head. It takes the same Angles.");
  rope.def_prop_ro(
      "inverse", [](const PyRope& self) { return self.turned(self.rope.inverse()); },
      "The rope that undoes this one (divides by A); it takes the same Angles.");
  rope.def_prop_ro(
      "gradient", [](const PyRope& self) { return self.turned(self.rope.gradient()); },
      "The transpose (turns back, times A): takes output gradients to input gradients.");
  rope.def(
      "__eq__",
      [](const PyRope& self, nb::handle other) {
        return nb::isinstance<PyRope>(other) && self.rope == nb::cast<const PyRope&>(other).rope;
      },
      nb::sig("def __eq__(self, other: object, /) -> bool"), "The same numbers on the same lanes.");
  rope.def("__hash__", [](const PyRope& self) {
    return nb::hash(nb::make_tuple(self.rope.head_dim(), self.rope.pairs(), self.rope.rotary_offset(),
                                   static_cast<int>(self.rope.pairing())));
  });
  rope.def(
      "__copy__", [](nb::object self) { return self; }, nb::sig("def __copy__(self) -> Rope"));
  rope.def(
      "__deepcopy__", [](nb::object self, nb::handle) { return self; }, "memo"_a,
      nb::sig("def __deepcopy__(self, memo: typing.Any) -> Rope"));
  rope.def(
      "__reduce__",
      [](nb::object self) { return nb::module_::import_("rotary._pickle").attr("reduce")(self); },
      nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  rope.def("__repr__", &repr);
  rope.def(
      "_repr_svg_",
      [](nb::object self) { return nb::module_::import_("rotary._svg").attr("wavelengths")(self); },
      nb::sig("def _repr_svg_(self) -> str"),
      "The wavelength of each pair against the context, for notebooks.");
  bind_properties(rope);
  bind_rotate(m, rope);
  bind_from_config(rope);
}

}  // namespace rotary::python
