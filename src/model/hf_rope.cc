// SPDX-License-Identifier: Apache-2.0
// One rope of a config.json: its base, its scaling, its lengths.
#include <algorithm>
#include <cmath>

#include "model/hf_plans.hpp"
#include "model/scaling_keys.hpp"

namespace rotary::impl {
namespace {

constexpr std::string_view base_keys[] = {"rope_theta",  "rotary_emb_base",   "rotary_embedding_base",
                                          "rotary_base", "global_rope_theta", "rope_global_theta"};
constexpr std::string_view local_base_keys[] = {"rope_local_base_freq", "local_rope_theta",
                                                "rope_local_theta", "swa_rope_theta"};
constexpr std::string_view context_keys[] = {"max_position_embeddings", "n_positions", "max_sequence_length"};

/// Who states the base, in the order of how many systems look there.
void word_base(const HfConfig& config, const RopePlan& plan, RopeWording& wording) {
  constexpr std::string_view key = base_keys[0];
  const bool own = plan.is_local() && config.family.local_base.has_value() && !config.family.common_base,
             compress = plan.layer_type == compress_rope;
  const auto say = [&](RopePlace place, const Keys& keys, std::string_view word) {
    if (keys.find(word) != nullptr) wording.bases.push_back({place, std::string(word)});
  };
  if (const Json* outer = config.top.find(key); outer != nullptr && outer->get<Json::Array>() == nullptr) {
    if (const auto base = config.top.number(key)) wording.outer_base = base->value;
  }
  const Keys& dict = plan.now.present() ? plan.now : plan.before;
  const auto is_null = [](const Json* value) { return value != nullptr && value->is_null(); };
  const Json* inner = find(dict.object(), key);
  wording.null_base = is_null(inner != nullptr ? inner : find(config.top.object(), key));
  if (plan.nested) say(RopePlace::layer_type, plan.now, key);
  if (!own && !compress) say(RopePlace::top, config.top, key);
  say(RopePlace::rope_scaling, plan.before, key);
  if (config.states_dictionary() && !plan.nested) say(RopePlace::rope_parameters, plan.now, key);
  if (plan.base) say(RopePlace::rope_parameters, config.top.child("rope_parameters"), key);
  if (compress) return say(RopePlace::top, config.top, "compress_rope_theta");
  const auto shared = wording.bases.size();
  if (plan.is_local()) {
    for (const auto word : local_base_keys) say(RopePlace::top, config.top, word);
  }
  if (own || (shared == 0 && !wording.bases.empty())) return;
  for (const auto word : std::span(base_keys).subspan(1)) say(RopePlace::top, config.top, word);
  say(RopePlace::top, config.top, "rope_ratio");
}

/// Which dictionary describes the scaling, and what of it stands elsewhere.
void word_scaling(const HfConfig& config, const RopePlan& plan, RopeWording& wording) {
  constexpr std::string_view length = "original_max_position_embeddings";
  // Where both describe one rope, systems that look at one take the older.
  const bool newer = plan.now.present() && (plan.nested || plan.before.object().empty());
  const Keys& dict = newer ? plan.now : plan.before;
  if (dict.present() && config.states_dictionary())
    wording.scaling = newer ? plan.place_now() : RopePlace::rope_scaling;
  wording.has_both = !plan.nested && !plan.now.object().empty() && !plan.before.object().empty();
  const auto is_null = [](const Keys& keys, std::string_view key) {
    const Json* value = find(keys.object(), key);
    return value != nullptr && value->is_null();
  };
  wording.null_magnitude = is_null(dict, "attention_factor");
  wording.null_scaling = is_null(config.top, "rope_scaling");
  if (is_null(config.top, length)) {
    wording.null_original_length = RopePlace::top;
  } else if (is_null(dict, length)) {
    wording.null_original_length = wording.scaling;
  }
  const Json* word = dict.find("rope_type");
  if (word == nullptr) word = dict.find("type");
  if (word != nullptr && word->get<std::string>() != nullptr) wording.type = *word->get<std::string>();
  wording.old_word = dict.find("rope_type") == nullptr && dict.find("type") != nullptr;
  wording.original_length = dict.find(length) != nullptr         ? wording.scaling
                            : config.top.find(length) != nullptr ? RopePlace::top
                                                                 : RopePlace::nowhere;
}

void read_base(const HfConfig& config, const RopePlan& plan, RopeDescription& rope) {
  word_base(config, plan, rope.wording);
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
  const bool entry_alone = plan.nested && config.family.common_base;
  if (!entry_alone &&
      (!plan.is_local() || config.family.common_base || (!base.value() && !config.family.local_base))) {
    add_all(base_keys);
  }
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
  const auto common = entry_alone ? config.top.number(base_keys[0]) : std::nullopt;
  if (common && common->value != rope.base.value) {
    config.builder.warn(common->from, " ", common->value, ": not read for ", plan.now.path(),
                        ", whose base is ", rope.base.value, ", as in Transformers");
  }
}

/// Both dictionaries, where both are there, must say the same.
void read_scalings(const HfConfig& config, const RopePlan& plan, RopeDescription& rope) {
  word_scaling(config, plan, rope.wording);
  const bool both = plan.now.present() && plan.before.present();
  const auto part = config.family.global_part;
  if (part && plan.is_global() && !plan.now.present() && !plan.before.present()) {
    rope.scaling = {scaling::Proportional{.partial_rotary_factor = *part}, config.family_default()};
    rope.scaling_values = {{0, "partial_rotary_factor", *part, config.family_default()}};
    return;
  }
  std::optional<Sourced<double>> trained;
  if (config.family.original_length != 0) {
    trained = {static_cast<double>(config.family.original_length), config.family_default()};
  }
  const auto read = [&](const Keys& dict) { return read_scaling(dict, config.top, config.builder, trained); };
  auto reading = read(plan.now.present() ? plan.now : plan.before);
  if (both) {
    const auto old = read(plan.before);
    if (old.scaling.value != reading.scaling.value) {
      config.builder.malformed(plan.now.path(), " (", name(reading.scaling.value), ") and ",
                               plan.before.path(), " (", name(old.scaling.value),
                               "): must describe the same scaling");
    }
  }
  rope.scaling = std::move(reading.scaling);
  rope.scaling_values = std::move(reading.values);
  rope.other_factors = std::move(reading.other_factors);
  const auto* yarn = std::get_if<scaling::Yarn>(&rope.scaling.value);
  if (plan.layer_type == compress_rope && yarn != nullptr && !yarn->attention_factor)
    rope.settle_magnitude(config.family_default());
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
  if (config.top.find("qk_rope_head_dim") != nullptr || config.family.latent_lanes != 0) return;
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

}  // namespace

RopeDescription read_rope(const HfConfig& config, const RopePlan& plan) {
  RopeDescription rope;
  rope.name = plan.name;
  read_base(config, plan, rope);
  Agreed<std::int64_t> context(config.builder);
  context.add(plan.now.integer("max_position_embeddings"));
  for (const auto key : context_keys) context.add(config.top.integer(key));
  if (const auto older = config.top.integer("n_ctx"); older && !context.value()) {
    context.add(older);
  } else if (older && older->value != context.value()->value) {
    config.builder.warn(older->from, " ", older->value, ": not read beside ", context.value()->from, " ",
                        context.value()->value);
  }
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

}  // namespace rotary::impl
