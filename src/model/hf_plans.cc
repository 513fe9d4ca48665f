// SPDX-License-Identifier: Apache-2.0
#include "model/hf_plans.hpp"

#include <algorithm>

#include "base/in_quotes.hpp"

namespace rotary::impl {
namespace {

constexpr std::size_t most_ropes = 64;

std::string rope_name(std::string_view layer_type) {
  if (layer_type == full_attention) return "global";
  return std::string(layer_type == sliding_attention ? "local" : layer_type);
}

bool is_dictionary(const Json& value) { return value.get<Json::Object>() != nullptr; }

/// rope_parameters is one dictionary a layer type if any of its keys is one.
bool is_nested(const Keys& parameters) {
  return std::ranges::any_of(parameters.object(), [](const Json::Member& entry) {
    return entry.key.ends_with("_attention") || is_dictionary(entry.value);
  });
}

/// A number beside the dictionaries of layer types: nobody reads it, which is harmless where each states its own.
void check_outer(const Keys& parameters, const std::string& key, ModelBuilder& builder) {
  bool same = true;
  for (const auto& [type, value] : parameters.object()) {
    const auto* inner = value.get<Json::Object>();
    if (inner == nullptr) continue;
    const Json* own = find(*inner, key);
    if (own == nullptr) {
      return builder.malformed(parameters.path_of(key),
                               ": stands beside the dictionaries of layer types, and ",
                               parameters.path_of(type), " has none of its own; must stand in each of them");
    }
    same = same && *own == *parameters.find(key);
  }
  if (!same) {
    builder.warn(parameters.path_of(key), ": not read, since each layer type states its own");
  }
}

/// One plan for each layer type that has a rope.
void plan_nested(const HfConfig& config, const LayerPlan& layers, const Keys& now, const Keys& before,
                 std::vector<RopePlan>& plans) {
  const Keys nothing(nullptr, "", config.builder);
  if (now.object().size() > most_ropes) {
    return config.builder.malformed(now.path(), ": ", now.object().size(), " layer types, at most ",
                                    most_ropes);
  }
  for (const auto& [type, value] : now.object()) {
    if (value.is_null()) continue;
    if (!is_word(type)) return config.builder.malformed(now.path_of(type), ": not a layer type");
    if (!is_dictionary(value) && !type.ends_with("_attention")) {
      check_outer(now, type, config.builder);
      continue;
    }
    const bool common = type == full_attention || type == sliding_attention;
    if (!common && !layers.types.empty() && !std::ranges::count(layers.types, type)) {
      config.builder.warn(now.path_of(type), ": no layer is of that type");
    }
    const bool old_applies = type == full_attention || config.family.local_scaling;
    plans.push_back({rope_name(type), type, now.child(type), old_applies ? before : nothing});
    plans.back().nested = true;
  }
}

/// DeepSeek-V4: whatever scaling there is belongs to the compressed branch.
void plan_main_and_compress(const Keys& now, const Keys& before, std::vector<RopePlan>& plans,
                            ModelBuilder& builder) {
  const Keys nothing(nullptr, "", builder);
  const bool nested = is_nested(now);
  for (const auto& [key, value] : now.object()) {
    if (value.is_null()) continue;
    const bool is_entry = key == main_rope || key == compress_rope;
    if (nested && !is_entry) {
      check_outer(now, key, builder);
    } else if (!nested && (key == "rope_theta" || key == "partial_rotary_factor")) {
      builder.malformed(now.path_of(key), ": for which of the two ropes? must stand in ", now.path(), ".",
                        main_rope, " and ", now.path(), ".", compress_rope, ", or beside ", now.path());
    }
  }
  for (const auto entry : {main_rope, compress_rope}) {
    if (nested && now.find(entry) == nullptr)
      builder.malformed(now.path_of(entry), ": missing, where the other rope has an entry");
  }
  plans.push_back(
      {std::string(main_rope), std::string(main_rope), nested ? now.child(main_rope) : nothing, nothing});
  plans.push_back({std::string(compress_rope), std::string(compress_rope),
                   nested ? now.child(compress_rope) : now, before});
  for (RopePlan& plan : plans) plan.nested = nested;
}

/// Text of yarn_only_types, if there: the layer types that a scaling is for.
bool is_scaled(const HfConfig& config, std::string_view type) {
  const auto* types = config.top.list("yarn_only_types");
  if (types == nullptr)
    return !config.family.local_base || type == full_attention || config.family.local_scaling;
  return std::ranges::any_of(*types, [&](const Json& entry) {
    const auto* word = entry.get<std::string>();
    return word != nullptr && *word == type;
  });
}

/// A type that no layer has would leave a scaling out without a word.
void check_scaled_types(const HfConfig& config, const LayerPlan& layers) {
  const auto* types = config.top.list("yarn_only_types");
  if (types == nullptr) return;
  for (const Json& entry : *types) {
    const auto* word = entry.get<std::string>();
    if (word != nullptr && std::ranges::count(layers.types, *word) != 0) continue;
    config.builder.malformed(config.top.path_of("yarn_only_types"), ": expected types of layers, got ",
                             word != nullptr ? in_quotes(*word) : std::string(kind(entry)));
  }
}

/// One number a layer, and perhaps some more for layers that predict further tokens.
std::optional<Sourced<std::vector<double>>> layer_numbers(const HfConfig& config, const LayerPlan& layers,
                                                          std::string_view key) {
  auto numbers = config.top.numbers(key);
  if (!numbers) return std::nullopt;
  const auto extra = config.top.integer("num_nextn_predict_layers");
  const std::size_t count = layers.types.size(), size = numbers->value.size();
  if (size != count &&
      !(extra && extra->value > 0 && size == count + static_cast<std::size_t>(extra->value))) {
    config.builder.malformed(numbers->from, ": ", size, " entries, must be one a layer, ", count);
    return std::nullopt;
  }
  numbers->value.resize(count);
  return numbers;
}

/// Step 3.5: a base and a part of the head for each layer. Layers of the same type and numbers share a rope.
bool plan_by_lists(const HfConfig& config, const LayerPlan& layers, const Keys& now, const Keys& before,
                   std::vector<RopePlan>& plans) {
  const Json* theta = config.top.find("rope_theta");
  const bool listed = theta != nullptr && theta->get<Json::Array>() != nullptr;
  const auto bases = listed ? layer_numbers(config, layers, "rope_theta") : std::nullopt;
  const auto parts = layer_numbers(config, layers, "partial_rotary_factors");
  if ((!bases && !parts) || config.builder.failed()) return config.builder.failed();
  const Keys nothing(nullptr, "", config.builder);
  const auto entry = [](const auto& list, std::size_t i) {
    return list ? std::optional(Sourced<double>{list->value[i], message(list->from, "[", i, "]")})
                : std::nullopt;
  };
  const auto same = [](const auto& a, const auto& b) { return !a || a->value == b->value; };
  for (std::size_t i = 0; i < layers.types.size(); ++i) {
    const std::string& type = layers.types[i];
    const auto base = entry(bases, i), part = entry(parts, i);
    auto plan = std::ranges::find_if(plans, [&](const RopePlan& p) {
      return p.layer_type == type && same(p.base, base) && same(p.part, part);
    });
    if (plan == plans.end()) {
      if (plans.size() == most_ropes) {
        config.builder.malformed(bases ? bases->from : parts->from, ": more than ", most_ropes, " ropes");
        return true;
      }
      const auto others = std::ranges::count(plans, type, &RopePlan::layer_type);
      const std::string name = type.empty() ? "default" : rope_name(type);
      plans.push_back({others == 0 ? name : message(name, "-", others + 1), type, now,
                       is_scaled(config, type) ? before : nothing, base, part,
                       std::vector<bool>(layers.types.size(), false)});
      plan = plans.end() - 1;
    }
    plan->layers[i] = true;
  }
  return true;
}

bool is_for(const RopePlan& plan, std::string_view type, std::size_t layer) {
  if (!plan.layers.empty()) return plan.layers[layer];
  if (plan.layer_type == main_rope) return type == sliding_attention;
  if (plan.layer_type == compress_rope) return type != sliding_attention;
  return plan.layer_type.empty() || plan.layer_type == type;
}

}  // namespace

std::vector<RopePlan> plan_ropes(const HfConfig& config, const LayerPlan& layers) {
  const Keys nothing(nullptr, "", config.builder);
  const Keys older = config.top.child("rope_scaling");
  const Keys before = older.object().empty() ? nothing : older;
  Keys now = config.top.child("rope_parameters");
  if (!config.states_dictionary() && config.assumed_scaling != nullptr) {
    now = Keys(config.assumed_scaling->get<Json::Object>(), config.family_default(), config.builder);
    config.builder.warn(config.top.path_of("rope_parameters"),
                        ": missing, so the scaling is the one that Transformers' class assumes; a file that "
                        "means none states rope_type default");
    const auto own = now.number("rope_theta"), stated = config.top.number("rope_theta");
    if (own && stated && own->value != stated->value) {
      config.builder.malformed(
          stated->from, " ", stated->value, ": Transformers' class of ", config.model_type,
          " passes over it where a file has no rope_parameters, and takes its own, of base ", own->value,
          "; must stand in rope_parameters");
    }
  }
  check_scaled_types(config, layers);
  std::vector<RopePlan> plans;
  if (config.family.compress_base) {
    plan_main_and_compress(now, before, plans, config.builder);
  } else if (plan_by_lists(config, layers, is_nested(now) ? nothing : now, before, plans)) {
  } else if (is_nested(now)) {
    plan_nested(config, layers, now, before, plans);
  } else if (config.family.local_base) {
    const Keys& local = config.family.local_scaling ? before : nothing;
    plans.push_back({"local", std::string(sliding_attention), nothing, local});
    if (config.family.common_base) plans.back().base = now.number("rope_theta");
    plans.push_back({"global", std::string(full_attention), now, before});
  } else {
    plans.push_back({"default", "", now, before});
  }
  const auto first_layer = [&](const RopePlan& plan) {
    std::size_t layer = 0;
    while (layer < layers.types.size() && !is_for(plan, layers.types[layer], layer)) ++layer;
    return layer;
  };
  std::ranges::stable_sort(plans, {}, first_layer);
  return plans;
}

void assign_layers(const HfConfig& config, const LayerPlan& layers, const std::vector<RopePlan>& plans) {
  const auto nulls = config.top.child("rope_parameters");
  std::vector<std::optional<std::size_t>> assigned;
  for (std::size_t i = 0; i < layers.types.size(); ++i) {
    const std::string& type = layers.types[i];
    const auto plan = std::ranges::find_if(plans, [&](const auto& p) { return is_for(p, type, i); });
    const Json* stated = find(nulls.object(), type);
    const bool none = layers.without_rope[i] || is_without_positions(type) || (stated && stated->is_null());
    if (!none && plan == plans.end()) {
      const std::string path = config.top.path_of("layer_types");
      if (type.empty()) {
        return config.builder.malformed(path, ": missing, so which layers have which rope of ",
                                        config.top.path_of("rope_parameters"), " is not known");
      }
      return config.builder.malformed(path, ": no rope is described for ", in_quotes(type));
    }
    assigned.push_back(none ? std::nullopt : std::optional(static_cast<std::size_t>(plan - plans.begin())));
  }
  config.builder.set_layers(std::move(assigned));
}

}  // namespace rotary::impl
