// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "base/in_quotes.hpp"
#include "model/hf_config.hpp"

namespace rotary::impl {
namespace {

constexpr std::string_view count_keys[] = {"num_hidden_layers", "n_layer", "num_layers",
                                           "n_layers",          "depth",   "decoder_num_hidden_layers"};
/// One word a layer.
constexpr std::string_view word_keys[] = {"layer_types", "layers_block_type"};
/// The indices of the layers that have attention, where the others have linear attention or a recurrence.
constexpr std::string_view index_keys[] = {"attn_layer_indices", "full_attn_idxs"};
constexpr std::string_view pattern_keys[] = {
    "sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers",
    "no_rope_layer_interval", "nope_layer_interval",     "full_attention_interval",
    "layer_group_size"};
/// Layers behind the others, which predict further tokens.
constexpr std::string_view extra_keys[] = {"num_nextn_predict_layers", "n_mtp_layers"};

std::optional<std::size_t> layer_count(const HfConfig& config) {
  Agreed<std::int64_t> count(config.builder);
  for (const auto key : count_keys) count.add(config.top.integer(key));
  if (!count.value() || !config.builder.accept_layers(count.value()->from, count.value()->value))
    return std::nullopt;
  return static_cast<std::size_t>(count.value()->value);
}

/// The list of one entry a layer under `key`, without those for layers that predict further tokens; an empty one
/// states nothing.
std::span<const Json> list_of_layers(const HfConfig& config, std::string_view key,
                                     std::optional<std::size_t> layers) {
  const auto* list = config.top.list(key);
  if (list == nullptr || list->empty()) return {};
  const std::size_t count = layers.value_or(list->size());
  const bool fits =
      list->size() == count || std::ranges::any_of(extra_keys, [&](auto extra_key) {
        const auto extra = config.top.integer(extra_key);
        return extra && extra->value > 0 && list->size() == count + static_cast<std::size_t>(extra->value);
      });
  if (!fits) {
    config.builder.malformed(config.top.path_of(key), ": ", list->size(), " entries, must be one a layer, ",
                             count);
    return {};
  }
  if (list->size() > static_cast<std::size_t>(most_layers)) {
    config.builder.malformed(config.top.path_of(key), ": ", list->size(), " entries, at most ", most_layers);
    return {};
  }
  return std::span(*list).first(count);
}

/// A list of one whole number a layer, each as the word that `word` makes of it.
bool read_codes(const HfConfig& config, std::string_view key, std::optional<std::size_t> layers,
                LayerPlan& plan, std::string_view (*word)(std::int64_t)) {
  const auto list = list_of_layers(config, key, layers);
  for (const Json& entry : list) {
    const auto* code = entry.get<std::int64_t>();
    if (code == nullptr) {
      config.builder.malformed(config.top.path_of(key), ": expected whole numbers, got ", kind(entry));
      return false;
    }
    plan.types.emplace_back(word(*code));
  }
  if (!list.empty())
    config.builder.add_value({0, "layer_types", message(list.size(), " entries"), config.top.path_of(key)});
  return !list.empty();
}

/// The words of all layers; they must be those of the key that was read before, `first_key`, if one was.
void take_types(const HfConfig& config, std::string_view first_key, std::string_view key,
                std::vector<std::string> types, LayerPlan& plan) {
  if (!plan.types.empty() && plan.types != types)
    config.builder.malformed(config.top.path_of(first_key), " and ", config.top.path_of(key), ": must agree");
  plan.types = std::move(types);
}

/// The lists of codes: what a window's size, a ratio of compression or a kind of attention says of a layer.
bool read_any_codes(const HfConfig& config, std::optional<std::size_t> layers, LayerPlan& plan) {
  const auto by_ratio = [](std::int64_t ratio) {
    return ratio == 0 ? sliding_attention : std::string_view("compressed_attention");
  };
  const auto by_window = [](std::int64_t window) { return window == 0 ? full_attention : sliding_attention; };
  const auto by_attention = [](std::int64_t code) {
    return code == 0 ? std::string_view("linear_attention") : full_attention;
  };
  return read_codes(config, "compress_ratios", layers, plan, by_ratio) ||
         read_codes(config, "hybrid_layer_pattern", layers, plan, by_window) ||
         read_codes(config, "attn_type_list", layers, plan, by_attention);
}

bool read_words(const HfConfig& config, std::optional<std::size_t> layers, LayerPlan& plan) {
  for (const auto key : word_keys) {
    const auto list = list_of_layers(config, key, layers);
    if (list.empty()) continue;
    std::vector<std::string> types;
    for (const Json& entry : list) {
      const auto* word = entry.get<std::string>();
      if (word == nullptr) {
        config.builder.malformed(config.top.path_of(key), ": expected texts, got ", kind(entry));
        return true;
      }
      types.push_back(*word);
    }
    take_types(config, word_keys[0], key, std::move(types), plan);
  }
  return !plan.types.empty();
}

bool read_indices(const HfConfig& config, std::size_t layers, LayerPlan& plan) {
  for (const auto key : index_keys) {
    const auto* list = config.top.list(key);
    if (list == nullptr) continue;
    std::vector<std::string> types(layers, "linear_attention");
    for (const Json& entry : *list) {
      const auto* index = entry.get<std::int64_t>();
      if (index == nullptr || *index < 0 || *index >= static_cast<std::int64_t>(layers)) {
        config.builder.malformed(config.top.path_of(key), ": expected indices of layers, 0 to ",
                                 static_cast<std::int64_t>(layers) - 1, ", got ",
                                 index == nullptr ? std::string(kind(entry)) : message(*index));
        return true;
      }
      types[static_cast<std::size_t>(*index)] = full_attention;
    }
    take_types(config, index_keys[0], key, std::move(types), plan);
    config.builder.add_value({0, "layer_types", message(list->size(), " indices"), config.top.path_of(key)});
  }
  return !plan.types.empty();
}

/// block_types: words that come again and again.
bool read_repeated_words(const HfConfig& config, std::size_t layers, LayerPlan& plan) {
  const auto* words = config.family.no_rope == NoRope::others ? config.top.list("block_types") : nullptr;
  if (words == nullptr || words->empty()) return false;
  for (std::size_t i = 0; i < layers; ++i) {
    const Json& entry = (*words)[i % words->size()];
    const auto* word = entry.get<std::string>();
    if (word == nullptr) {
      config.builder.malformed(config.top.path_of("block_types"), ": expected texts, got ", kind(entry));
      return true;
    }
    plan.types.push_back(*word);
  }
  config.builder.add_value(
      {0, "layer_pattern", static_cast<std::int64_t>(words->size()), config.top.path_of("block_types")});
  return true;
}

/// sliding_window_pattern as letters, "LLLG": L has a window, G is of full attention.
bool read_letters(const HfConfig& config, std::size_t layers, LayerPlan& plan) {
  const Json* found = config.top.find("sliding_window_pattern");
  const auto* letters = found == nullptr ? nullptr : found->get<std::string>();
  if (letters == nullptr || letters->empty()) return false;
  if (letters->find_first_not_of("LG") != letters->npos) {
    config.builder.malformed(config.top.path_of("sliding_window_pattern"), " ", in_quotes(*letters),
                             ": must be a number, or letters L (sliding window) and G (full attention)");
    return true;
  }
  for (std::size_t i = 0; i < layers; ++i) {
    plan.types.emplace_back((*letters)[i % letters->size()] == 'G' ? full_attention : sliding_attention);
  }
  config.builder.add_value({0, "layer_pattern", *letters, config.top.path_of("sliding_window_pattern")});
  return true;
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
  if (config.family.full_too && layer == 0) return true;
  return (config.family.full_first ? index : index + 1) % pattern == 0;
}

/// Of Cohere 2 with experts: the dense layers in front, which have a rope where their pattern is 1, window or not.
struct DensePrefix {
  std::size_t layers = 0;
  std::int64_t pattern = 1;
};
DensePrefix dense_prefix_of(const HfConfig& config) {
  DensePrefix prefix;
  if (!config.family.dense_prefix) return prefix;
  const auto count = config.top.integer("first_k_dense_replace");
  const auto pattern = config.top.integer("prefix_dense_sliding_window_pattern");
  if (count && count->value < 0) {
    config.builder.malformed(count->from, " ", count->value, ": must be at least 0");
    return prefix;
  }
  if (pattern && pattern->value < 1) {
    config.builder.malformed(pattern->from, " ", pattern->value, ": must be at least 1");
    return prefix;
  }
  if (count) prefix.layers = static_cast<std::size_t>(count->value);
  if (pattern) prefix.pattern = pattern->value;
  return prefix;
}

void give_dense_layers_a_rope(const HfConfig& config, const DensePrefix& prefix, LayerPlan& plan) {
  if (!config.family.dense_prefix || prefix.pattern != 1) return;
  const auto kinds = list_of_layers(config, "mlp_layer_types", plan.types.size());
  for (std::size_t i = 0; i < plan.types.size(); ++i) {
    const auto* word = kinds.empty() ? nullptr : kinds[i].get<std::string>();
    if (kinds.empty() ? i < prefix.layers : word != nullptr && *word == "dense") plan.without_rope[i] = false;
  }
}

/// no_rope_layers: one truth value a layer, 1 where it *has* a rope.
void read_no_rope_layers(const HfConfig& config, LayerPlan& plan) {
  const auto list = list_of_layers(config, "no_rope_layers", plan.types.size());
  if (!list.empty()) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto* number = list[i].get<std::int64_t>();
      const auto* truth = list[i].get<bool>();
      if (number == nullptr && truth == nullptr) {
        return config.builder.malformed(config.top.path_of("no_rope_layers"), "[", i,
                                        "]: expected 0 or 1, got ", kind(list[i]));
      }
      plan.without_rope[i] = number != nullptr ? *number == 0 : !*truth;
    }
    return;
  }
  if (config.family.no_rope != NoRope::every_nth || plan.types.empty()) return;
  const std::int64_t pattern = pattern_of(config);
  for (std::size_t i = 0; i < plan.types.size(); ++i) plan.without_rope[i] = is_exception(config, i, pattern);
}

/// Layers of a window and layers of full attention, in turns.
bool has_two_kinds(const Family& family) {
  return family.local_base || family.no_rope == NoRope::full_layers;
}

/// False where the file says nothing of its layers one by one.
bool read_stated_types(const HfConfig& config, std::optional<std::size_t> layers, LayerPlan& plan) {
  if (read_words(config, layers, plan) || read_any_codes(config, layers, plan)) return true;
  if (!layers) return false;
  return read_indices(config, *layers, plan) || read_repeated_words(config, *layers, plan) ||
         (has_two_kinds(config.family) && read_letters(config, *layers, plan));
}

/// Every entry the next of the words, which spaces separate, and the first again after the last.
void repeat_words(std::string_view words, std::vector<std::string>& types) {
  std::string_view rest = words;
  for (std::string& type : types) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    type = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (rest.empty()) rest = words;
  }
}

void take_family_types(const HfConfig& config, std::size_t layers, const DensePrefix& prefix,
                       LayerPlan& plan) {
  const bool none = config.family.none_unlisted;
  plan.types.assign(layers, none ? "linear_attention" : "");
  if (const auto key = config.family.layer_list; !key.empty()) {
    config.builder.warn(config.top.path_of(key), none ? ": missing, so no layer has a rope"
                                                      : ": missing, so every layer is taken to have a rope");
  }
  if (!config.family.layer_words.empty()) return repeat_words(config.family.layer_words, plan.types);
  const bool two_kinds = has_two_kinds(config.family);
  if (layers == 0 || (!two_kinds && config.family.no_rope != NoRope::others)) return;
  const std::int64_t pattern = pattern_of(config);
  for (std::size_t i = 0; i < layers; ++i) {
    const bool exception = i < prefix.layers ? is_exception(config, i, prefix.pattern)
                                             : is_exception(config, i - prefix.layers, pattern);
    if (two_kinds) {
      plan.types[i] = exception ? full_attention : sliding_attention;
    } else if (!exception) {
      plan.types[i] = "linear_attention";
    }
  }
  if (config.family.one_at_least && static_cast<std::int64_t>(layers) < pattern) plan.types.back() = "";
}

}  // namespace

bool is_without_positions(std::string_view layer_type) noexcept {
  constexpr std::string_view words[] = {"linear_attention", "conv", "mamba", "mamba2", "recurrent", "ssm"};
  return std::ranges::find(words, layer_type) != std::end(words);
}

LayerPlan read_layers(const HfConfig& config) {
  LayerPlan plan;
  const auto layers = layer_count(config);
  const auto prefix = dense_prefix_of(config);
  if (!read_stated_types(config, layers, plan)) {
    if (layers) {
      take_family_types(config, *layers, prefix, plan);
    } else if (!config.builder.failed()) {
      config.builder.warn("num_hidden_layers: missing, so nothing is known about the layers");
    }
  }
  if (config.family.full_last && !plan.types.empty() && plan.types.back() != full_attention) {
    config.builder.add_value({0, "last_layer", std::string(full_attention), config.family_default()});
    plan.types.back() = full_attention;
  }
  plan.without_rope.assign(plan.types.size(), false);
  if (const auto type = config.top.text("position_embedding_type"); type && config.family.stated_positions) {
    plan.without_rope.assign(plan.types.size(), type->value != "rope");
  }
  read_no_rope_layers(config, plan);
  if (config.family.no_rope == NoRope::full_layers) {
    const Json* window = find(config.top.object(), "sliding_window");
    const bool null = window != nullptr && window->is_null();
    for (std::size_t i = 0; i < plan.types.size(); ++i) {
      if (null && config.family.no_window != NoWindow::same) {
        plan.without_rope[i] = config.family.no_window == NoWindow::none;
      } else if (plan.types[i] == full_attention) {
        plan.without_rope[i] = true;
      }
    }
    give_dense_layers_a_rope(config, prefix, plan);
  }
  return plan;
}

}  // namespace rotary::impl
