// SPDX-License-Identifier: Apache-2.0
// The query's temperature. Sources: Llama 4, Ministral 3 and Mistral 4 in Transformers; llama.cpp's loaders of llama4,
// mistral3 and deepseek2, which know Llama 4's two numbers by heart.
#include "model/gguf_values.hpp"
#include "model/hf_config.hpp"

namespace rotary::impl {
namespace {

constexpr double llama4_scale = 0.1, llama4_length = 8192;

/// A switch that is a truth value in some files and a number in others: Llama 4's first ones have 4. Transformers' class
/// now takes true and false alone, and its code asked for no more than the truth of a number.
bool is_on(const Keys& top, std::string_view key, ModelBuilder& builder) {
  const Json* value = top.find(key);
  if (value == nullptr) return true;
  if (const auto* on = value->get<bool>()) return *on;
  const auto* number = value->get<std::int64_t>();
  if (number != nullptr && (*number == 0 || *number == 1 || *number == 4)) return *number != 0;
  builder.malformed(top.path_of(key), ": expected true or false (or 0, 1, or the 4 of published files), got ",
                    number != nullptr ? message(*number) : std::string(kind(*value)));
  return false;
}

}  // namespace

void read_temperature(const HfConfig& config, const Keys& now, const Keys& before) {
  const auto otherwise = [&](double value) { return Sourced<double>{value, config.family_default()}; };
  if (config.family.tunes_no_rope && is_on(config.top, "attn_temperature_tuning", config.builder)) {
    return config.builder.set_temperature(config.top.number("attn_scale").value_or(otherwise(llama4_scale)),
                                          config.top.number("floor_scale").value_or(otherwise(llama4_length)),
                                          true);
  }
  for (const Keys* dict : {&now, &before}) {
    const auto scale = dict->number("llama_4_scaling_beta");
    if (!scale) continue;
    auto length = dict->number("original_max_position_embeddings");
    if (!length) length = config.top.number("original_max_position_embeddings");
    if (!length)
      return config.builder.malformed(dict->path_of("original_max_position_embeddings"), ": missing, and ",
                                      scale->from, " needs it");
    return config.builder.set_temperature(*scale, *length, false);
  }
}

void read_temperature(const GgufValues& values, bool tunes_no_rope, ModelBuilder& builder) {
  const auto by_heart = [&](double value) {
    return Sourced<double>{value, message("default of ", values.architecture())};
  };
  auto scale = values.number("attention.temperature_scale"),
       length = values.number("attention.temperature_length");
  if (!length) length = values.number("rope.scaling.original_context_length");
  if (tunes_no_rope) {
    return builder.set_temperature(
        scale.value_or(by_heart(llama4_scale)),
        values.number("attention.temperature_length").value_or(by_heart(llama4_length)), true);
  }
  if (!scale || scale->value == 0) return;
  if (!length)
    return builder.malformed(values.key("attention.temperature_length"), ": missing, and ", scale->from,
                             " needs it");
  builder.set_temperature(*scale, *length, false);
}

}  // namespace rotary::impl
