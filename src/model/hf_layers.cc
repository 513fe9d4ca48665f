// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/hf_config.hpp"

namespace rotary::impl {
namespace {

constexpr std::string_view count_keys[] = {"num_hidden_layers", "n_layer", "num_layers", "n_layers"};
constexpr std::string_view pattern_keys[] = {"sliding_window_pattern", "_sliding_window_pattern",
                                             "global_attn_every_n_layers", "no_rope_layer_interval",
                                             "nope_layer_interval"};
constexpr std::int64_t most_layers = 10000;

std::optional<std::size_t> layer_count(const HfConfig& config) {
  Agreed<std::int64_t> count(config.builder);
  for (const auto key : count_keys) count.add(config.top.integer(key));
  if (!count.value()) return std::nullopt;
  if (count.value()->value < 0 || count.value()->value > most_layers) {
    config.builder.malformed(count.value()->from, " ", count.value()->value, ": must be from 0 to ",
                             most_layers);
    return std::nullopt;
  }
  return static_cast<std::size_t>(count.value()->value);
}

/// The list of one entry a layer under `key`, or null; an empty one states nothing.
const Json::Array* list_of_layers(const HfConfig& config, std::string_view key,
                                  std::optional<std::size_t> layers) {
  const auto* list = config.top.list(key);
  if (list != nullptr && list->empty()) return nullptr;
  if (list != nullptr && list->size() != layers.value_or(list->size())) {
    config.builder.malformed(config.top.path_of(key), ": ", list->size(), " entries, must be one a layer, ",
                             *layers);
    return nullptr;
  }
  if (list != nullptr && list->size() > static_cast<std::size_t>(most_layers)) {
    config.builder.malformed(config.top.path_of(key), ": ", list->size(), " entries, at most ", most_layers);
    return nullptr;
  }
  return list;
}

/// Every how many layers the family's exception comes.
std::int64_t pattern_of(const HfConfig& config) {
  Agreed<std::int64_t> stated(config.builder);
  for (const auto key : pattern_keys) stated.add(config.top.integer(key));
  const auto pattern =
      stated.value().value_or(Sourced<std::int64_t>{config.family.pattern, config.family_default()});
  if (pattern.value < 1) {
    config.builder.malformed(pattern.from, " ", pattern.value, ": must be at least 1");
    return 1;
  }
  config.builder.add_value({0, "layer_pattern", pattern.value, pattern.from});
  return pattern.value;
}

bool is_exception(const HfConfig& config, std::size_t layer, std::int64_t pattern) {
  const auto index = static_cast<std::int64_t>(layer);
  return (config.family.full_first ? index : index + 1) % pattern == 0;
}

/// no_rope_layers: one truth value a layer, 1 where it *has* a rope.
void read_no_rope_layers(const HfConfig& config, LayerPlan& plan) {
  const auto* list = list_of_layers(config, "no_rope_layers", plan.types.size());
  if (list != nullptr) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      const auto* number = (*list)[i].get<std::int64_t>();
      const auto* truth = (*list)[i].get<bool>();
      if (number == nullptr && truth == nullptr) {
        return config.builder.malformed(config.top.path_of("no_rope_layers"), "[", i,
                                        "]: expected 0 or 1, got ", kind((*list)[i]));
      }
      plan.without_rope[i] = number != nullptr ? *number == 0 : !*truth;
    }
    return;
  }
  if (config.family.no_rope != NoRope::every_nth || plan.types.empty()) return;
  const std::int64_t pattern = pattern_of(config);
  for (std::size_t i = 0; i < plan.types.size(); ++i) plan.without_rope[i] = is_exception(config, i, pattern);
}

}  // namespace

bool is_without_positions(std::string_view layer_type) noexcept {
  constexpr std::string_view words[] = {"linear_attention", "conv", "mamba", "mamba2", "recurrent", "ssm"};
  return std::ranges::find(words, layer_type) != std::end(words);
}

LayerPlan read_layers(const HfConfig& config) {
  LayerPlan plan;
  auto layers = layer_count(config);
  if (const auto* list = list_of_layers(config, "layer_types", layers)) {
    for (const Json& entry : *list) {
      const auto* word = entry.get<std::string>();
      if (word == nullptr) {
        config.builder.malformed(config.top.path_of("layer_types"), ": expected texts, got ", kind(entry));
        return {};
      }
      plan.types.push_back(*word);
    }
  } else if (layers) {
    plan.types.assign(*layers, "");
    const bool two_kinds = config.family.local_base || config.family.no_rope == NoRope::full_layers;
    if (two_kinds && *layers > 0) {
      const std::int64_t pattern = pattern_of(config);
      for (std::size_t i = 0; i < *layers; ++i) {
        plan.types[i] = is_exception(config, i, pattern) ? full_attention : sliding_attention;
      }
    }
  } else if (!config.builder.failed()) {
    config.builder.warn("num_hidden_layers: missing, so nothing is known about the layers");
  }
  plan.without_rope.assign(plan.types.size(), false);
  read_no_rope_layers(config, plan);
  if (config.family.no_rope == NoRope::full_layers) {
    const Json* window = find(config.top.object(), "sliding_window");
    const bool all_alike = window != nullptr && window->is_null();
    for (std::size_t i = 0; i < plan.types.size(); ++i) {
      if (plan.types[i] == full_attention && !all_alike) plan.without_rope[i] = true;
    }
  }
  return plan;
}

}  // namespace rotary::impl
