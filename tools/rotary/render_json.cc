// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "render.hpp"

namespace rotary::tool {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(double value) { return value; }
Json json_of(bool value) { return value; }
Json json_of(const std::vector<double>& values) { return values; }
template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::string_view kind(Model::Source source) {
  switch (source) {
    case Model::Source::hf_config:
      return "hf_config";
    case Model::Source::params:
      return "params";
    case Model::Source::gguf:
      return "gguf";
    case Model::Source::preset:
      return "preset";
    case Model::Source::flags:
      break;
  }
  return "flags";
}

// Runs of pairs that take axis 0, 1, 2, ... in turn; empty for one axis, and for maps that are no sections.
Json axis_sections(const Spectrum& spectrum) {
  Json sections = Json::array();
  if (spectrum.axes() <= 1) return sections;
  const auto axis = spectrum.axis();
  if (!std::is_sorted(axis.begin(), axis.end())) return sections;
  for (int a = 0; a < spectrum.axes(); ++a) sections.push_back(std::count(axis.begin(), axis.end(), a));
  return sections;
}

Json scaling_json(const Scaling& scaling) {
  Json json{{"type", name(scaling)}};
  std::visit(
      [&](const auto& type) {
        type.fields(type, [&](std::string_view field, const auto& value) {
          json[std::string(field)] = json_of(value);
        });
      },
      scaling);
  return json;
}

/// Null for joined schedules that differ in it.
Json scaling_json(const Spectrum& spectrum) {
  const auto parts = spectrum.parts();
  if (std::ranges::any_of(parts, [&](const auto& part) { return part.scaling != parts[0].scaling; }))
    return {};
  Json json = scaling_json(spectrum.scaling());
  if (!spectrum.divisors().empty()) json["divisors"] = spectrum.divisors();
  return json;
}

Json parts_json(const Spectrum& spectrum) {
  Json parts = Json::array();
  for (const SpectrumPart& part : spectrum.parts())
    parts.push_back(
        {{"pairs", part.pairs}, {"base", json_of(part.base)}, {"scaling", scaling_json(part.scaling)}});
  return parts;
}

Json rope_json(const ModelRope& entry, std::optional<std::int64_t> length) {
  const Rope& rope = entry.rope;
  const Spectrum& spectrum = rope.spectrum();
  Json json{{"name", entry.name},
            {"head_dim", rope.head_dim()},
            {"rotary_dim", rope.rotary_dim()},
            {"rotary_offset", rope.rotary_offset()},
            {"base", json_of(spectrum.base())},
            {"scaling", scaling_json(spectrum)},
            {"pairing", name(rope.pairing())},
            {"direction", name(rope.direction())},
            {"axis_sections", axis_sections(spectrum)},
            {"attention_factor", spectrum.attention_factor()},
            {"softmax_factor", spectrum.softmax_factor()},
            {"original_context", json_of(entry.original_context)},
            {"context", json_of(entry.context)},
            {"length", json_of(length)},
            {"inv_freq", spectrum.inv_freq()},
            {"axis", spectrum.axis()},
            {"policy", name(rope.policy())}};
  if (!spectrum.parts().empty()) json["parts"] = parts_json(spectrum);
  return json;
}

Json temperature_json(const Model& model) {
  const auto& temperature = model.temperature();
  if (!temperature) return {};
  return {{"scale", temperature->query.scale},
          {"length", temperature->query.length},
          {"first", temperature->query.first},
          {"layers", temperature->without_rope ? "without_rope" : "all"}};
}

void append(std::string& out, const Json& json, std::size_t indent) {
  const bool flat = json.is_array() && std::none_of(json.begin(), json.end(), [](const Json& item) {
                      return item.is_structured() || item.is_string();
                    });
  if (!json.is_structured() || json.empty() || flat) {
    out += json.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  const std::string margin(indent + 2, ' ');
  out += json.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [key, item] : json.items()) {
    out += (first ? "\n" : ",\n") + margin;
    if (json.is_object()) out += Json(key).dump() + ": ";
    append(out, item, indent + 2);
    first = false;
  }
  out += '\n' + std::string(indent, ' ') + (json.is_object() ? "}" : "]");
}

}  // namespace

Json explain_json(const Model& model, std::optional<std::int64_t> length,
                  const std::vector<PeerReport>& reports, std::optional<Peer> as) {
  Json ropes = Json::array(), layers = Json::array(), values = Json::array();
  for (const auto& rope : model.ropes()) ropes.push_back(rope_json(rope, length));
  for (const auto& layer : model.layers()) layers.push_back(json_of(layer));
  for (const auto& value : model.values()) {
    const Json held = std::visit([](const auto& v) { return Json(v); }, value.value);
    values.push_back({{"rope", value.rope},
                      {"key", value.key},
                      {"value", held},
                      {"from", value.from},
                      {"assumed", value.assumed}});
  }
  return {{"schema", "rotary.explain/1"},
          {"source", {{"path", model.origin()}, {"kind", kind(model.source())}}},
          {"architecture", model.architecture()},
          {"model_type", model.model_type()},
          {"ropes", ropes},
          {"layers", layers},
          {"values", values},
          {"warnings", model.warnings()},
          {"temperature", temperature_json(model)},
          {"as", as ? Json(name(*as)) : Json()},
          {"peers", peers_json(reports)}};
}

std::string pretty(const Json& json) {
  std::string out;
  append(out, json, 0);
  return out + '\n';
}

}  // namespace rotary::tool
