// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <algorithm>
#include <filesystem>

#include "render.hpp"
#include "rope.hpp"
#include "text.hpp"

namespace rotary::python {

PyRope py_rope(const ModelRope& entry) {
  return {entry.rope, entry.name, entry.original_context, entry.context, entry.of_layers, {}};
}

std::string rope_names(const Model& model) {
  std::string names;
  for (const auto& entry : model.ropes()) names += (names.empty() ? "" : ", ") + entry.name;
  return names;
}

Peer peer_of(std::string_view text) {
  return word("peer", text, &peer_from_name, "transformers, llama.cpp, vllm, sglang or mlx");
}

namespace {

ModelOptions model_options(nb::handle length, nb::handle pairing, nb::handle angles, nb::handle strict) {
  ModelOptions options;
  options.length = whole_or_none(length, "length");
  if (const auto word = text_or_none(pairing, "pairing")) options.pairing = pairing_of(*word);
  options.policy = policy_of(text_of(angles, "angles"));
  options.strict = truth_of(strict, "strict");
  return options;
}

/// A name that is no file. Error: no preset either.
Model from_name(const std::string& name, const ModelOptions& options) {
  if (std::ranges::find(presets(), name, &Preset::name) != presets().end())
    return take(Model::from_preset(name, options));
  const std::string text = name + ": No such file, and " + Model::from_preset(name).status().message();
  PyErr_SetString(PyExc_FileNotFoundError, text.c_str());
  throw nb::python_error();
}

/// A config that has to_dict() or is a dict, as the text of a config.json.
Model from_object(nb::object config, const ModelOptions& options) {
  std::string origin = "config";
  if (nb::hasattr(config, "to_dict")) {
    origin = kind_of(config);
    config = config.attr("to_dict")();
  }
  if (!nb::isinstance<nb::dict>(config))
    raise_type("config: " + kind_of(config) +
               ", expected a path, a dict, or an object with to_dict() such as a PretrainedConfig");
  const nb::object json = nb::module_::import_("json");
  const nb::handle as_text(reinterpret_cast<PyObject*>(&PyUnicode_Type));
  const nb::object text = json.attr("dumps")(config, "default"_a = as_text);
  return take(Model::from_config(nb::cast<std::string>(text), origin, options));
}

Model from_config(nb::object config, nb::handle length, nb::handle pairing, nb::handle angles,
                  nb::handle strict) {
  const ModelOptions options = model_options(length, pairing, angles, strict);
  const bool is_path = nb::isinstance<nb::str>(config) || nb::hasattr(config, "__fspath__");
  if (!is_path) return from_object(config, options);
  const auto path = nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(config));
  std::error_code error;
  if (!std::filesystem::exists(path, error) && path.find('/') == std::string::npos)
    return from_name(path, options);
  nb::gil_scoped_release released;
  return take(Model::from_path(path, options));
}

PyRope choose(const Model& model, std::optional<std::int64_t> layer, const std::optional<std::string>& name) {
  if (layer && name) raise_value("give layer or name, one of the two");
  if (name) {
    if (const ModelRope* entry = model.find_rope(*name)) return py_rope(*entry);
    raise_value(model.origin() + ": rope \"" + *name + "\": the model's ropes are " + rope_names(model));
  }
  if (layer) {
    const Rope rope = take(model.rope_for_layer(*layer));
    const auto& layers = model.layers();
    return py_rope(model.ropes()[layers.empty() ? 0 : *layers[static_cast<std::size_t>(*layer)]]);
  }
  if (model.ropes().empty()) raise_value(model.origin() + ": this model has no rope");
  const auto of_layers = [](const ModelRope& entry) { return entry.of_layers; };
  if (model.ropes().size() == 1) return py_rope(model.ropes().front());
  if (std::ranges::count_if(model.ropes(), of_layers) == 1)
    return py_rope(*std::ranges::find_if(model.ropes(), of_layers));
  raise_value(model.origin() + ": the model's ropes are " + rope_names(model) +
              ": choose with layer= or name=");
}

/// A dict need not say how many layers there are, which its caller knows.
void warn(const Model& model, bool is_dict) {
  const nb::object category = nb::module_::import_("rotary").attr("ConfigWarning");
  for (const auto& warning : model.warnings())
    if (!is_dict || !warning.starts_with("num_hidden_layers: missing"))
      nb::module_::import_("warnings").attr("warn")(warning, category, "stacklevel"_a = 2);
}

nb::list layers(const Model& model) {
  nb::list out;
  for (const auto& layer : model.layers()) out.append(layer ? nb::cast(*layer) : nb::none());
  return out;
}

nb::list preset_list() {
  nb::list out;
  const nb::object type = plain_data("Preset");
  for (const auto& preset : presets())
    out.append(type(text(preset.name), text(preset.description), text(preset.source), text(preset.config)));
  return out;
}

/// The report of `rotary explain --as PEER`: as JSON, and in words.
nb::tuple explain(const Model& self, const std::optional<std::string>& peer) {
  const std::optional<Peer> as = peer ? std::optional(peer_of(*peer)) : std::nullopt;
  const Model shown = as ? take(self.as(*as)) : self;
  const auto reports = tool::peer_reports(self, self.length());
  return nb::make_tuple(tool::pretty(tool::explain_json(shown, self.length(), reports, as)),
                        tool::printable(tool::explain_text(shown, self.length(), reports, as)));
}

constexpr const char* config_doc =
    "config: the path of a config.json, of its folder, of a .gguf or of a .safetensors beside a config.json; "
    "the name\n"
    "of a preset; a dict; or an object with to_dict(), such as a PretrainedConfig of Transformers.\n"
    "length: tokens, for types whose frequencies depend on it. pairing: overrides what the architecture "
    "implies.\n"
    "angles: exact, fp32 or ggml. strict: warnings are errors.\n"
    "OSError: an unreadable file; ValueError: a description that does not hold together; "
    "NotImplementedError: a\n"
    "scaling type that nobody here computes.";

}  // namespace

void bind_from_config(nb::class_<PyRope>& rope) {
  static const std::string doc =
      std::string(
          "The rope of a model, from the model's own description; a model with several needs layer or name.\n"
          "What is doubtful is a ConfigWarning.\n\n") +
      config_doc;
  rope.def_static(
      "from_config",
      [](nb::object config, nb::handle layer, nb::handle name, nb::handle length, nb::handle pairing,
         nb::handle angles, nb::handle strict) {
        const Model read = from_config(config, length, pairing, angles, strict);
        warn(read, nb::isinstance<nb::dict>(config));
        return choose(read, whole_or_none(layer, "layer"), text_or_none(name, "name"));
      },
      nb::arg("config").none(), nb::kw_only(), "layer"_a = nb::none(), "name"_a = nb::none(),
      "length"_a = nb::none(), "pairing"_a = nb::none(), nb::arg("angles").none() = "exact",
      nb::arg("strict").none() = false,
      nb::sig(
          "def from_config(config: ConfigLike, *, layer: int | None = None, name: str | None = None, length: "
          "int | None = None, pairing: str | None = None, angles: str = 'exact', strict: bool = False) -> "
          "Rope"),
      doc.c_str());
}

void bind_model(nb::module_& m) {
  static const std::string doc = std::string("Reads a model's description.\n\n") + config_doc;
  nb::class_<Model> model(
      m, "Model",
      "What a model says about its rotary embedding, and where each number came from. Immutable.");
  bind_peers(m, model);
  model
      .def_static(
          "from_config", &from_config, nb::arg("config").none(), nb::kw_only(), "length"_a = nb::none(),
          "pairing"_a = nb::none(), nb::arg("angles").none() = "exact", nb::arg("strict").none() = false,
          nb::sig("def from_config(config: ConfigLike, *, length: int | None = None, pairing: str | None = "
                  "None, angles: str = 'exact', strict: bool = False) -> Model"),
          doc.c_str())
      .def_static(
          "from_rope",
          [](const PyRope& rope) { return take(Model::from_rope(options_of(rope.rope), {}, "Rope")); },
          "rope"_a, "One rope for every layer.")
      .def(
          "rope",
          [](const Model& self, std::optional<std::int64_t> layer, std::optional<std::string> name) {
            return choose(self, layer, name);
          },
          nb::kw_only(), "layer"_a = nb::none(), "name"_a = nb::none(),
          "The rope of a layer, or of a name; neither is needed where the layers have one rope. ValueError: "
          "no such "
          "rope,\n"
          "or a layer without one.")
      .def_prop_ro(
          "ropes",
          [](const Model& self) {
            std::vector<PyRope> out;
            for (const auto& entry : self.ropes()) out.push_back(py_rope(entry));
            return out;
          },
          "Every rope, in the order of the first layers that use them.")
      .def_prop_ro(
          "layers", [](const Model& self) { return layers(self); },
          nb::sig("def layers(self) -> list[int | None]"),
          "For each layer the index into ropes, or None; empty where nobody says how many there are.")
      .def_prop_ro(
          "values",
          [](const Model& self) {
            nb::list out;
            const nb::object type = plain_data("Value");
            for (const auto& value : self.values()) {
              const nb::object held =
                  std::visit([](const auto& v) { return nb::object(nb::cast(v)); }, value.value);
              out.append(
                  type(self.ropes().empty() ? nb::str("") : nb::str(self.ropes()[value.rope].name.c_str()),
                       value.key, held, value.from, value.assumed));
            }
            return out;
          },
          nb::sig("def values(self) -> list[Value]"), "Each number, and where it came from.")
      .def_prop_ro(
          "warnings",
          [](const Model& self) {
            return std::vector<std::string>(self.warnings().begin(), self.warnings().end());
          },
          "What is doubtful, in sentences.")
      .def_prop_ro(
          "origin", [](const Model& self) { return self.origin(); }, "The file or preset.")
      .def_prop_ro("architecture", [](const Model& self) { return self.architecture(); })
      .def_prop_ro("model_type", [](const Model& self) { return self.model_type(); })
      .def("_explain", &explain, "peer"_a = nb::none(),
           nb::sig("def _explain(self, peer: str | None = None) -> tuple[str, str]"))
      .def("__repr__", [](const Model& self) {
        return "Model(" + self.origin() + ", ropes: " + rope_names(self) +
               ", layers: " + std::to_string(self.layers().size()) + ")";
      });
  m.def("presets", &preset_list, nb::sig("def presets() -> list[Preset]"),
        "The models that the library knows by name, sorted.");
}

}  // namespace rotary::python
