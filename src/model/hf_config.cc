// SPDX-License-Identifier: Apache-2.0
#include "model/hf_config.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/in_quotes.hpp"
#include "model/hf_plans.hpp"
#include "model/readers.hpp"
#include "model/scaling_keys.hpp"
#include "model/vision.hpp"

namespace rotary::impl {
namespace {

constexpr std::string_view rope_keys[] = {
    "rope_theta",          "rope_scaling",         "rope_parameters",  "partial_rotary_factor",
    "rotary_emb_base",     "rotary_base",          "rotary_pct",       "rope_pct",
    "rope_percent",        "rotary_dim",           "rope_dim",         "rotary_emb_dim",
    "rotary_emb_fraction", "rope_local_base_freq", "rope_local_theta", "rope_global_theta",
    "rope_ratio",          "rope_interleave",      "rope_interleaved", "rotary_emb_interleaved"};
constexpr std::string_view base_keys[] = {"rope_theta", "rotary_emb_base", "rotary_base", "global_rope_theta",
                                          "rope_global_theta"};
constexpr std::string_view local_base_keys[] = {"rope_local_base_freq", "local_rope_theta",
                                                "rope_local_theta", "swa_rope_theta"};
constexpr std::string_view context_keys[] = {"max_position_embeddings", "n_positions", "n_ctx",
                                             "max_sequence_length"};
constexpr std::string_view section_keys[] = {"mrope_section", "xdrope_section"};
constexpr std::string_view text_model_keys[] = {"text_config", "llm_config", "language_config"};

void read_base(const HfConfig& config, const RopePlan& plan, RopeDescription& rope) {
  if (plan.base) {
    rope.base = *plan.base;
    return;
  }
  if (plan.layer_type == compress_rope) {
    Agreed<double> stated(config.builder);
    stated.add(plan.now.number("rope_theta"));
    stated.add(config.top.number("compress_rope_theta"));
    rope.base =
        stated.value().value_or(Sourced<double>{*config.family.compress_base, config.family_default()});
    return;
  }
  Agreed<double> base(config.builder);
  base.add(plan.now.number("rope_theta"));
  base.add(plan.before.number("rope_theta"));
  const auto add_all = [&](std::span<const std::string_view> keys) {
    for (const auto key : keys) base.add(config.top.number(key));
  };
  if (plan.is_local()) add_all(local_base_keys);
  // A local rope that says nothing of its own shares the base, unless its family knows better.
  if (!plan.is_local() || (!base.value() && !config.family.local_base)) add_all(base_keys);
  if (const auto ratio = config.top.number("rope_ratio")) {
    base.add(Sourced<double>{10000 * ratio->value, "family rule: 10000 * rope_ratio"});
  }
  const auto& known =
      plan.is_local() && config.family.local_base ? config.family.local_base : config.family.base;
  if (base.value()) {
    rope.base = *base.value();
  } else if (known) {
    rope.base = {*known, config.family_default()};
  } else {
    rope.base = {10000, "default: the file states no base", true};
  }
}

/// Both dictionaries, where both are there, must say the same.
void read_scalings(const HfConfig& config, const RopePlan& plan, RopeDescription& rope) {
  const bool both = plan.now.present() && plan.before.present();
  const auto part = config.family.global_part;
  if (part && plan.is_global() && !plan.now.present() && !plan.before.present()) {
    rope.scaling = {scaling::Proportional{.partial_rotary_factor = *part}, config.family_default()};
    rope.scaling_values = {{0, "partial_rotary_factor", *part, config.family_default()}};
    return;
  }
  auto reading = read_scaling(plan.now.present() ? plan.now : plan.before, config.top, config.builder);
  if (both) {
    const auto old = read_scaling(plan.before, config.top, config.builder);
    if (old.scaling.value != reading.scaling.value) {
      config.builder.malformed(plan.now.path(), " (", name(reading.scaling.value), ") and ",
                               plan.before.path(), " (", name(old.scaling.value),
                               "): must describe the same scaling");
    }
  }
  rope.scaling = std::move(reading.scaling);
  rope.scaling_values = std::move(reading.values);
  rope.other_factors = std::move(reading.other_factors);
  if (auto* yarn = std::get_if<scaling::Yarn>(&rope.scaling.value);
      yarn != nullptr && plan.layer_type == compress_rope && !yarn->attention_factor) {
    yarn->attention_factor = 1;
    rope.scaling_values.push_back({0, "attention_factor", 1.0, config.family_default()});
  }
  if (reading.original_length) {
    const auto& length = *reading.original_length;
    rope.original_context =
        Sourced<std::int64_t>{std::llround(std::clamp(length.value, 0.0, 9e15)), length.from, length.assumed};
  }
}

/// Qwen: beyond seq_length, base * alpha^(d/(d-2)) with alpha = 2^ceil(log2(length / seq_length) + 1) - 1.
void read_dynamic_ntk(const HfConfig& config, RopeDescription& rope) {
  const auto stated = config.top.boolean("use_dynamic_ntk");
  const auto trained = config.top.integer("seq_length");
  if (!stated || !stated->value || !trained || trained->value < 1) return;
  if (!std::holds_alternative<scaling::None>(rope.scaling.value)) return;
  const auto length = static_cast<double>(config.builder.options().length.value_or(0));
  const double ratio = length / static_cast<double>(trained->value);
  const double alpha = ratio <= 1 ? 1 : std::exp2(std::ceil(std::log2(ratio) + 1)) - 1;
  rope.scaling = {scaling::NtkAlpha{alpha}, stated->from};
  rope.scaling_values.push_back(
      {0, "alpha", alpha,
       message("derived: ", stated->from, " beyond ", trained->from, " ", trained->value)});
}

/// Only DeepSeek-style attention multiplies mscale_all_dim into the softmax; elsewhere the key is inert
/// there.
void settle_softmax(const HfConfig& config, RopeDescription& rope) {
  auto* yarn = std::get_if<scaling::Yarn>(&rope.scaling.value);
  if (yarn == nullptr || yarn->mscale_all_dim.value_or(0) == 0 || yarn->softmax_factor) return;
  if (config.top.find("qk_rope_head_dim") != nullptr) return;
  yarn->softmax_factor = 1;
  rope.scaling_values.push_back(
      {0, "softmax_factor", 1.0,
       "derived: only latent attention (qk_rope_head_dim) reads mscale_all_dim there"});
}

void compare_lengths(const HfConfig& config, const RopeDescription& rope) {
  const auto* yarn = std::get_if<scaling::Yarn>(&rope.scaling.value);
  if (!rope.context || !rope.original_context || rope.original_context->value <= 0) return;
  const double context = static_cast<double>(rope.context->value);
  const double ratio = context / static_cast<double>(rope.original_context->value);
  if (ratio < 1) {
    config.builder.warn(rope.context->from, " ", context, " is less than ", rope.original_context->from, " ",
                        rope.original_context->value);
  } else if (yarn != nullptr && ratio != 1 && yarn->factor != ratio) {
    config.builder.warn("factor ", yarn->factor, " is used, though ", rope.context->from, " / ",
                        rope.original_context->from, " is ", ratio);
  }
}

/// What a family does is not for its file to change; the keys are read for those that have no way of their
/// own.
Sourced<AxisOrder> read_axis_order(const HfConfig& config, const Keys& dict) {
  for (const auto& type : {dict.text("rope_type"), dict.text("type")}) {
    if (type && type->value == "openpangu") return {AxisOrder::spread, type->from};
  }
  const auto in_turns = dict.boolean("mrope_interleaved"),
             round_robin = dict.boolean("mrope_interleaved_glm");
  if (config.family.axis_order != AxisOrder::contiguous) {
    if (in_turns && !in_turns->value) {
      config.builder.warn(in_turns->from, " false: not read for model_type ", config.model_type,
                          ", whose order is ", name(config.family.axis_order));
    }
    return {config.family.axis_order, config.family_default()};
  }
  if (round_robin && round_robin->value) return {AxisOrder::round_robin, round_robin->from};
  if (in_turns && in_turns->value) return {AxisOrder::interleaved, in_turns->from};
  return {AxisOrder::contiguous, in_turns ? in_turns->from : "default"};
}

/// The sections as the axes are numbered, and their order.
void settle_axes(const HfConfig& config, const Keys& dict, RopeDescription& rope) {
  if (auto& list = rope.axis_sections.value; config.family.time_section_last && !list.empty()) {
    std::rotate(list.begin(), list.end() - 1, list.end());
  }
  rope.axis_order = read_axis_order(config, dict);
}

/// A file that states none means those of its family, and is wrong if they do not fit.
void assume_sections(const HfConfig& config, const Keys& dict, RopeDescription& rope) {
  const auto& sections = config.family.sections;
  const std::int64_t sum = sections[0] + sections[1] + sections[2], pairs = rope.rotary_dim.value / 2;
  if (sum == 0) return;
  if (sum != pairs) {
    return config.builder.warn("mrope_section: missing, and that of ", config.model_type, ", ", sections[0],
                               ", ", sections[1], ", ", sections[2], ", does not fit ", pairs,
                               " pairs, so all of them follow one axis");
  }
  rope.axis_sections = {{sections.begin(), sections.end()}, config.family_default()};
  settle_axes(config, dict, rope);
}

void read_axes(const HfConfig& config, const RopePlan& plan, RopeDescription& rope) {
  const auto stated = [](const Keys& dict) {
    return std::ranges::find_if(section_keys, [&](auto key) { return dict.find(key) != nullptr; });
  };
  const Keys& dict = stated(plan.now) != std::end(section_keys) ? plan.now : plan.before;
  const auto found = stated(dict);
  if (found == std::end(section_keys)) return assume_sections(config, dict, rope);
  const std::string_view key = *found;
  const auto* sections = dict.list(key);
  if (sections == nullptr) return;
  rope.axis_sections.from = dict.path_of(key);
  for (const Json& section : *sections) {
    const auto* pairs = section.get<std::int64_t>();
    if (pairs == nullptr) {
      return config.builder.malformed(rope.axis_sections.from, ": expected whole numbers, got ",
                                      kind(section));
    }
    rope.axis_sections.value.push_back(*pairs);
  }
  settle_axes(config, dict, rope);
}

void read_pairing(const HfConfig& config, RopeDescription& rope) {
  const auto& family = config.family;
  rope.direction = {family.direction,
                    family.direction == Direction::forward ? "default" : config.family_default()};
  const auto regroup = config.top.boolean("rope_interleave");
  for (const auto key : {"rope_interleaved", "rotary_emb_interleaved"}) {
    const auto stated = config.top.boolean(key);
    const auto says = stated && stated->value ? Pairing::interleaved : Pairing::half_split;
    if (stated && !config.builder.options().pairing && !config.known_family) {
      rope.pairing = {says, stated->from};
      return;
    }
    if (stated && family.pairing && says != *family.pairing) {
      config.builder.warn(stated->from, stated->value ? " true" : " false", ": not read for model_type ",
                          config.model_type, ", which is ", name(*family.pairing));
    }
  }
  if (const auto& option = config.builder.options().pairing) {
    rope.pairing = {*option, "option pairing"};
  } else if (regroup && (!config.known_family || family.pairing == Pairing::interleaved_to_half)) {
    rope.pairing = {regroup->value ? Pairing::interleaved_to_half : Pairing::half_split, regroup->from};
  } else if (family.pairing) {
    if (regroup && regroup->value) {
      config.builder.warn(regroup->from, ": not read for model_type ", config.model_type, ", which is ",
                          name(*family.pairing));
    }
    rope.pairing = {*family.pairing, config.family_default()};
  } else {
    rope.pairing = {Pairing::half_split, "default of Hugging Face's models", true};
  }
}

RopeDescription read_rope(const HfConfig& config, const RopePlan& plan) {
  RopeDescription rope;
  rope.name = plan.name;
  read_base(config, plan, rope);
  Agreed<std::int64_t> context(config.builder);
  context.add(plan.now.integer("max_position_embeddings"));
  for (const auto key : context_keys) context.add(config.top.integer(key));
  // Qwen's seq_length is the length of training, which its max_position_embeddings may exceed.
  rope.context = context.value() ? context.value() : config.top.integer("seq_length");
  read_scalings(config, plan, rope);
  read_dynamic_ntk(config, rope);
  read_window(config, plan, rope);
  settle_softmax(config, rope);
  compare_lengths(config, rope);
  read_axes(config, plan, rope);
  read_pairing(config, rope);
  return rope;
}

/// The document itself, or the part of it that describes the text model.
Keys text_model(const Keys& document) {
  for (const auto key : text_model_keys) {
    const Json* part = document.find(key);
    if (part != nullptr && part->get<Json::Object>() != nullptr) return document.child(key);
  }
  return document;
}

std::string architecture_of(const Keys& document) {
  const auto* list = document.list("architectures");
  const auto* first = list == nullptr || list->empty() ? nullptr : list->front().get<std::string>();
  return first == nullptr ? "" : *first;
}

}  // namespace

void warn_about_similar_keys(const Keys& top, std::span<const std::string_view> known,
                             ModelBuilder& builder) {
  for (const auto& [key, value] : top.object()) {
    const bool looks_like_one = key.starts_with("rope") || key.starts_with("rotary_");
    if (!looks_like_one || value.is_null() || std::ranges::find(known, key) != known.end()) continue;
    const std::string_view close = key.find("scal") != key.npos && !std::ranges::count(known, "rope_scaling")
                                       ? std::string_view()
                                   : key.find("scal") != key.npos ? "rope_scaling"
                                                                  : similar(key, known);
    builder.warn(top.path_of(key), ": not a key that is read",
                 close.empty() ? "" : message("; did you mean ", close, "?"));
  }
}

/// Families that also come with positions of another kind.
void refuse_other_positions(const Keys& top, ModelBuilder& builder) {
  const auto alibi = top.boolean("alibi");
  const auto type = top.text("position_embedding_type");
  if (alibi && alibi->value) {
    builder.fail(StatusCode::unsupported, alibi->from, " true: it has no rotary embedding");
  } else if (type && type->value == "absolute") {
    builder.fail(StatusCode::unsupported, type->from, " absolute: it has no rotary embedding");
  }
}

void read_hf_config(const Json& json, ModelBuilder& builder) {
  const auto* object = json.get<Json::Object>();
  if (object == nullptr) return builder.malformed("expected an object, got ", kind(json));
  const Keys document(object, "", builder);
  const Keys top = text_model(document);
  auto model_type = top.text("model_type");
  if (!model_type) model_type = document.text("model_type");
  const std::string type = model_type ? model_type->value : "";
  builder.set_names(architecture_of(document), type);

  const Family* family = family_of_model_type(type);
  if (family == nullptr && is_vision_model(type)) return add_encoder(top, type, builder);
  const HfConfig config{top, type, family == nullptr ? Family() : *family, family != nullptr, builder};
  if (!config.family.unsupported.empty()) {
    return builder.fail(StatusCode::unsupported, "model_type ", type,
                        ": not supported: ", config.family.unsupported);
  }
  if (!config.known_family && !builder.options().pairing) {
    builder.warn(
        type.empty() ? "model_type: missing" : message("model_type ", in_quotes(type), ": not known"),
        ", so the pairing half_split is assumed");
  }
  warn_about_similar_keys(top, rope_keys, builder);
  if (const auto original = top.boolean("original_rope"); original && !original->value) {
    builder.warn(original->from, " false: only ChatGLM's original rope is described");
  }
  refuse_other_positions(top, builder);
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
  if (const Json* vision = document.find("vision_config"); vision && vision->get<Json::Object>()) {
    const Keys encoder = document.child("vision_config");
    const auto outer = document.text("model_type");
    const auto own = encoder.text("model_type");
    add_vision(encoder, own ? own->value : outer ? outer->value : "", {}, builder);
  }
}

}  // namespace rotary::impl
