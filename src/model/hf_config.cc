// SPDX-License-Identifier: Apache-2.0
#include "model/hf_config.hpp"

#include "base/in_quotes.hpp"
#include "model/hf_plans.hpp"
#include "model/readers.hpp"
#include "model/vision.hpp"

namespace rotary::impl {
namespace {

constexpr std::string_view text_model_keys[] = {"text_config", "llm_config", "language_config"};

/// Documents of several parts, one of which has the encoder of images that turns.
struct Enclosing {
  std::string_view model_types, part;
};
constexpr Enclosing enclosing[] = {{"sam3_video", "detector_config"},
                                   {"sam3 sam3_lite_text sam3_tracker", "vision_config"},
                                   {"sam3_vision_model", "backbone_config"}};

/// The innermost part. What else there is that turns is left to a warning.
Keys without_enclosing(Keys document, ModelBuilder& builder) {
  for (const Enclosing& outer : enclosing) {
    const auto type = document.text("model_type");
    if (!type || !lists(outer.model_types, type->value)) continue;
    if (document.find(outer.part) == nullptr) {
      builder.malformed(document.path_of(outer.part), ": missing, which model_type ", type->value,
                        " has its encoder in");
      return document;
    }
    if (document.find("tracker_config") != nullptr) {
      builder.warn(
          document.path_of("tracker_config"),
          ": not read; its memory attention has a rope of its own, which it describes as a file alone");
    }
    document = document.child(outer.part);
  }
  return document;
}

/// The document itself, or the part of it that describes the text model. Two such parts must be the same.
Keys text_model(const Keys& document, ModelBuilder& builder) {
  std::optional<Keys> part;
  const Json* first = nullptr;
  for (const auto key : text_model_keys) {
    const Json* found = document.find(key);
    if (found == nullptr) continue;
    if (first != nullptr && !(*found == *first)) {
      builder.malformed(part->path(), " and ", document.path_of(key), ": must agree, where both are there");
    }
    if (first == nullptr) part = document.child(key);
    first = found;
  }
  return part && part->present() ? *part : document;
}

std::string architecture_of(const Keys& document) {
  const auto* list = document.list("architectures");
  const auto* first = list == nullptr || list->empty() ? nullptr : list->front().get<std::string>();
  return first == nullptr ? "" : *first;
}

}  // namespace

void read_hf_config(const Json& json, ModelBuilder& builder) {
  const auto* object = json.get<Json::Object>();
  if (object == nullptr) return builder.malformed("expected an object, got ", kind(json));
  const Keys whole(object, "", builder);
  // Qwen's omni models: what thinks, beside what talks.
  const Keys thinking = whole.find("thinker_config") == nullptr ? whole : whole.child("thinker_config");
  const Keys document = without_enclosing(thinking, builder);
  const Keys top = text_model(document, builder);
  auto model_type = top.text("model_type");
  if (!model_type) model_type = document.text("model_type");
  const std::string type = model_type ? model_type->value : "";
  builder.set_names(architecture_of(whole), type);
  if (builder.failed()) return;

  const Family* family = family_of_model_type(type);
  if (family == nullptr && is_vision_model(type)) return add_encoder(top, type, builder);
  std::optional<Json> scaling;
  if (family != nullptr && !family->scaling.empty()) scaling = parse_json(family->scaling).value();
  const HfConfig config{top,
                        type,
                        family == nullptr ? Family() : *family,
                        family != nullptr,
                        builder,
                        scaling ? &*scaling : nullptr};
  if (!config.family.unsupported.empty()) {
    return builder.fail(StatusCode::unsupported, "model_type ", type,
                        ": not supported: ", config.family.unsupported);
  }
  if (!config.known_family && !builder.options().pairing) {
    builder.warn(
        type.empty() ? "model_type: missing" : message("model_type ", in_quotes(type), ": not known"),
        ", so the pairing half_split is assumed");
  }
  refuse_other_positions(config);
  warn_about_unread(config, document);
  if (builder.failed()) return;
  const LayerPlan layers = read_layers(config);
  if (builder.failed()) return;
  const auto plans = plan_ropes(config, layers);
  if (plans.empty())
    return builder.malformed("rope_parameters: null for every layer type, so there is no rope");
  std::vector<RopeDescription> descriptions;
  for (const RopePlan& plan : plans) builder.add_rope(descriptions.emplace_back(read_rope(config, plan)));
  for (const RopeDescription& rope : descriptions) builder.add_other_factors(rope);
  read_temperature(config, plans.front().now, plans.front().before);
  assign_layers(config, layers, plans);
  if (config.family.compress_base) {
    builder.add_value({0, "attention_output", std::string("turned back by the inverse of the layer's rope"),
                       config.family_default()});
  }
  if (has_time_rope(document)) add_time_rope(document, builder);
  if (const Keys encoder = document.child("vision_config"); encoder.present()) {
    const auto outer = document.text("model_type");
    const auto own = encoder.text("model_type");
    add_vision(encoder, own ? own->value : outer ? outer->value : "", {}, builder);
  }
}

}  // namespace rotary::impl
