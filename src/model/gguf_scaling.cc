// SPDX-License-Identifier: Apache-2.0
// {arch}.rope.scaling.* and the tensors that stand for a scaling.
#include <cmath>

#include "base/in_quotes.hpp"
#include "model/gguf_values.hpp"

namespace rotary::impl {
namespace {

class ScalingReader : GgufValues {
 public:
  ScalingReader(const GgufValues& values, const Family& family, ModelBuilder& builder)
      : GgufValues(values), family_(family), builder_(builder) {}

  void read_scaling(RopeDescription& rope) {
    const std::string path = key("rope.scaling.type");
    const auto stated = text("rope.scaling.type");
    auto type = stated ? std::optional<std::string_view>(stated->value) : std::nullopt;
    read_yarn_switch(type);
    if (builder_.failed()) return;
    auto factor =
        first({number("rope.scaling.factor"), number("rope.scale_linear")}, {1, "default: no factor stated"});
    if (factor.value == 0) factor.value = 1;
    rope.scaling = {scaling::None{}, type ? path : "default: no scaling stated"};
    if (type.value_or("") == "longrope" || has_tensor("rope_factors_long.weight") ||
        has_tensor("rope_factors_short.weight")) {
      read_longrope(rope);
    } else if (const auto alpha = number("rope.scaling.alpha"); alpha && alpha->value > 1) {
      rope.scaling = {scaling::NtkAlpha{alpha->value}, alpha->from};
      rope.scaling_values.push_back({0, "alpha", alpha->value, alpha->from});
      if (factor.value != 1) builder_.warn(factor.from, " ", factor.value, ": not read beside ", alpha->from);
    } else if (type.value_or("linear") == "linear") {
      if (factor.value == 1) return;
      rope.scaling = {scaling::Linear{factor.value}, type ? path : factor.from};
      rope.scaling_values.push_back({0, "factor", factor.value, factor.from});
    } else if (*type == "yarn") {
      read_yarn(rope, factor);
    } else if (*type != "none") {
      builder_.malformed(path, " ", in_quotes(*type),
                         ": unknown scaling type; known are none, linear, yarn, longrope");
    }
  }

  /// Of llama.cpp's loaders, grok's and laguna's look at them: the first switches the ramp, and the second is A where
  /// it is off (where it is on, A is computed).
  void read_yarn_switch(std::optional<std::string_view>& type) {
    const auto ramp = number("rope.scaling.yarn_ext_factor"),
               attention = number("rope.scaling.yarn_attn_factor");
    if (architecture() != "grok" && architecture() != "laguna") {
      for (const auto& value : {ramp, attention}) {
        if (value) builder_.warn(value->from, ": not read: llama.cpp reads it for grok and laguna alone");
      }
      return;
    }
    if (ramp && ramp->value >= 0 && ramp->value != 0 && ramp->value != 1) {
      return builder_.fail(StatusCode::unsupported, ramp->from, " ", ramp->value,
                           ": a part of the ramp; must be 0 (none), 1, or negative (as the type says)");
    }
    if (ramp && ramp->value == 0 && type == "yarn") type = "linear";
    if (ramp && ramp->value == 1 && type != "none") type = "yarn";
    if (!attention || attention->value == 1) return;
    if (type == "yarn")
      return builder_.warn(attention->from, ": not read: llama.cpp computes A from the factor");
    builder_.fail(StatusCode::unsupported, attention->from, " ", attention->value,
                  ": an attention factor without YaRN; must be 1");
  }

  Sourced<double> original_length(RopeDescription& rope) {
    auto length = number("rope.scaling.original_context_length");
    if (!length && (length = number("context_length"))) {
      length->from += ", since no original length is stated";
      length->assumed = true;
    }
    if (!length) {
      builder_.malformed(key("rope.scaling.original_context_length"), ": missing");
      return {};
    }
    check(*length, 1, 9e15);
    if (!builder_.failed())
      rope.original_context =
          Sourced<std::int64_t>{std::llround(length->value), length->from, length->assumed};
    return *length;
  }

  /// The two lists are tensors, and A is stored: converters compute it.
  void read_longrope(RopeDescription& rope) {
    scaling::LongRope longrope;
    const auto length = original_length(rope);
    for (auto& [name, list] :
         {std::pair<std::string_view, std::vector<double>&>{"short", longrope.short_factor},
          {"long", longrope.long_factor}}) {
      const std::string tensor = message("rope_factors_", name, ".weight");
      const auto stated = divisors(tensor, rope.rotary_dim.value / 2);
      if (!stated) return builder_.malformed(tensor, ": missing, and longrope needs it");
      list = *stated;
      rope.scaling_values.push_back({0, message(name, "_factor"), list, tensor});
    }
    longrope.original_max_position_embeddings = length.value;
    rope.scaling_values.push_back(
        {0, "original_max_position_embeddings", length.value, length.from, length.assumed});
    const auto attention =
        first({number("rope.scaling.attn_factor")}, {1, "default: the file states no attn_factor", true});
    longrope.attention_factor = attention.value;
    rope.scaling_values.push_back(
        {0, "attention_factor", attention.value, attention.from, attention.assumed});
    rope.scaling = {longrope, "rope_factors_long.weight"};
  }

  void read_yarn(RopeDescription& rope, const Sourced<double>& factor) {
    scaling::Yarn yarn;
    const auto take = [&](std::string_view name, auto& field, const Sourced<double>& from) {
      field = from.value;
      rope.scaling_values.push_back({0, std::string(name), from.value, from.from, from.assumed});
    };
    take("factor", yarn.factor, factor);
    const auto length = original_length(rope);
    if (builder_.failed()) return;
    take("original_max_position_embeddings", yarn.original_max_position_embeddings, length);
    take("beta_fast", yarn.beta_fast,
         first({number("rope.scaling.yarn_beta_fast")}, architecture() == "grok"
                                                            ? Sourced<double>{8, family_default()}
                                                            : Sourced<double>{32, "default of yarn"}));
    take("beta_slow", yarn.beta_slow, first({number("rope.scaling.yarn_beta_slow")}, {1, "default of yarn"}));
    if (const auto part = number("rope.scaling.attn_factor")) take("attn_factor", yarn.attn_factor, *part);
    yarn.truncate = family_.truncate;
    rope.scaling_values.push_back(
        {0, "truncate", yarn.truncate, family_.truncate ? "default of yarn" : family_default()});
    // Latent attention stores 0.1 * mscale_all_dim and means both; Mistral 3 stores mscale_all_dim itself.
    if (auto multiplier = number("rope.scaling.yarn_log_multiplier"); multiplier && multiplier->value != 0) {
      if (family_.window_at_end)
        multiplier = {multiplier->value / 0.1, message("derived: 10 * ", multiplier->from)};
      take("mscale", yarn.mscale, family_.window_at_end ? *multiplier : Sourced<double>{1, family_default()});
      take("mscale_all_dim", yarn.mscale_all_dim, *multiplier);
      if (!family_.window_at_end) take("softmax_factor", yarn.softmax_factor, {1, family_default()});
    }
    rope.scaling = {yarn, key("rope.scaling.type")};
  }

  /// rope_freqs.weight: what each frequency is divided by (llama3 and proportional scaling arrive this way).
  void read_divisors(RopeDescription& rope) {
    const std::string name = "rope_freqs.weight";
    auto list = divisors(name, rope.rotary_dim.value / 2);
    if (!list) return warn_of_missing_divisors(rope);
    if (list->empty()) return;
    if (std::holds_alternative<scaling::LongRope>(rope.scaling.value)) {
      return builder_.malformed(name, " and ", rope.scaling.from,
                                ": must be one of them, the divisors of one scaling");
    }
    if (!std::holds_alternative<scaling::None>(rope.scaling.value)) {
      rope.divisors = {*std::move(list), name};
      return;
    }
    rope.scaling_values.push_back({0, "divisors", *list, name});
    rope.scaling = {scaling::Divided{*std::move(list)}, name};
  }

  /// Llama 3.1's scaling is that tensor and nothing else, and converters have forgotten it.
  void warn_of_missing_divisors(const RopeDescription& rope) {
    constexpr std::int64_t context = 131072;
    const bool looks_like_it = architecture() == "llama" && rope.base.value == 500000 && rope.context &&
                               rope.context->value >= context;
    if (!looks_like_it || !std::holds_alternative<scaling::None>(rope.scaling.value)) return;
    builder_.warn(
        "rope_freqs.weight: missing, though ", rope.context->from, " ", rope.context->value,
        " and base 500000 are those of Llama 3.1, whose frequencies it divides; without it long texts turn "
        "unscaled");
  }

 private:
  const Family& family_;
  ModelBuilder& builder_;
};

}  // namespace

void read_scaling(const GgufValues& values, const Family& family, RopeDescription& rope,
                  ModelBuilder& builder) {
  ScalingReader reader(values, family, builder);
  reader.read_scaling(rope);
  reader.read_divisors(rope);
}

}  // namespace rotary::impl
