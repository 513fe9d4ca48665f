// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "model/hf_plans.hpp"

namespace rotary::impl {
namespace {

constexpr std::string_view head_dim_keys[] = {"head_dim", "kv_channels", "attention_head_dim"};
constexpr std::string_view hidden_keys[] = {"hidden_size", "n_embd", "d_model", "dim"};
constexpr std::string_view heads_keys[] = {
    "num_attention_heads",        "n_head", "n_heads", "num_heads", "encoder_num_attention_heads",
    "decoder_num_attention_heads"};
constexpr std::string_view width_keys[] = {"rotary_dim", "rope_dim", "rotary_emb_dim", "n_rot"};
constexpr std::string_view partial_keys[] = {"partial_rotary_factor", "rotary_pct", "rope_pct",
                                             "rope_percent", "rotary_emb_fraction"};
constexpr std::int64_t most_lanes = 1 << 16;
constexpr std::int64_t most_width = std::int64_t{1} << 40;

std::optional<Sourced<std::int64_t>> integer_of(const HfConfig& config,
                                                std::span<const std::string_view> keys) {
  Agreed<std::int64_t> agreed(config.builder);
  for (const auto key : keys) agreed.add(config.top.integer(key));
  return agreed.value();
}

/// MLA: lanes without positions, then the lanes that turn. head_dim is often given as the latter alone.
bool read_latent_window(const HfConfig& config, RopeDescription& rope) {
  const Family& family = config.family;
  const bool latent = family.latent_lanes != 0;
  auto stated_or = [&](std::string_view key, std::int64_t value) {
    auto found = config.top.integer(key);
    if (found || !latent) return found;
    config.builder.warn(config.top.path_of(key), ": missing, so it is ", value, ", the ",
                        config.family_default());
    return std::optional(Sourced<std::int64_t>{value, config.family_default()});
  };
  const auto turning = stated_or("qk_rope_head_dim", family.latent_lanes);
  if (latent && turning->value == 0) {
    config.builder.malformed(turning->from, " 0: of ", config.model_type,
                             ", the lanes that turn; must be positive");
    return true;
  }
  if (!turning || turning->value == 0) return false;
  const auto still = stated_or("qk_nope_head_dim", family.latent_still)
                         .value_or(Sourced<std::int64_t>{0, "no qk_nope_head_dim"});
  if (turning->value < 0 || turning->value > most_lanes || still.value < 0 || still.value > most_lanes) {
    config.builder.malformed(turning->from, " ", turning->value, " and qk_nope_head_dim ", still.value,
                             ": must be from 0 to ", most_lanes);
    return true;
  }
  rope.rotary_dim = *turning;
  rope.rotary_offset = still;
  rope.head_dim = {still.value + turning->value, "derived: qk_nope_head_dim + qk_rope_head_dim"};
  const auto stated = config.top.integer("head_dim");
  if (stated && stated->value != rope.head_dim.value && stated->value != turning->value) {
    config.builder.warn(stated->from, " ", stated->value,
                        " is not read: qk_nope_head_dim + qk_rope_head_dim are ", rope.head_dim.value);
  }
  return true;
}

Sourced<std::int64_t> part_of_head(const HfConfig& config, std::int64_t head_dim,
                                   const Sourced<double>& part) {
  if (!(part.value >= 0 && part.value <= 1)) {
    config.builder.malformed(part.from, " ", part.value, ": must be from 0 to 1");
    return {};
  }
  const auto lanes = static_cast<std::int64_t>(static_cast<double>(head_dim) * part.value);
  if (lanes % 2 != 0) {
    config.builder.malformed("rotary_dim ", lanes, " (", part.from, " ", part.value, " of head_dim ",
                             head_dim, "): must be even");
  }
  return {lanes, message("derived: head_dim * ", part.from)};
}

void word_width(const HfConfig& config, const RopePlan& plan, RopeWording& wording) {
  const auto say = [&](RopePlace place, const Keys& keys, std::string_view word) {
    if (wording.width != RopePlace::nowhere || keys.find(word) == nullptr) return;
    wording.width = place;
    wording.width_key = word;
  };
  if (plan.nested) say(RopePlace::layer_type, plan.now, partial_keys[0]);
  say(RopePlace::rope_scaling, plan.before, partial_keys[0]);
  if (!plan.nested) say(RopePlace::rope_parameters, plan.now, partial_keys[0]);
  for (const auto word : partial_keys) say(RopePlace::top, config.top, word);
  for (const auto word : width_keys) say(RopePlace::top, config.top, word);
  if (plan.part) say(RopePlace::top, config.top, "partial_rotary_factors");
  const bool newer = plan.nested || wording.scaling == RopePlace::rope_parameters;
  const Json* inner = find((newer ? plan.now : plan.before).object(), partial_keys[0]);
  const Json* part = inner != nullptr ? inner : find(config.top.object(), partial_keys[0]);
  if (part != nullptr && part->is_null())
    wording.null_part = inner != nullptr ? wording.scaling : RopePlace::top;
}

/// head_dim as a key, read or not: nothing that stands there is an error.
void word_head_dim(const HfConfig& config, RopeWording& wording) {
  const Json* stated = find(config.top.object(), head_dim_keys[0]);
  if (stated == nullptr) return;
  wording.null_head_dim = stated->is_null();
  if (const auto* lanes = stated->get<std::int64_t>()) wording.outer_head_dim = static_cast<double>(*lanes);
}

}  // namespace

std::optional<Sourced<std::int64_t>> head_dim_of(const HfConfig& config, bool is_global) {
  if (is_global) {
    if (auto stated = config.top.integer("global_head_dim")) return stated;
    if (config.family.global_head_dim != 0)
      return Sourced<std::int64_t>{config.family.global_head_dim, config.family_default()};
  }
  const std::string_view own[] = {"head_dim", config.family.head_dim_key};
  if (auto stated = own[1].empty() ? integer_of(config, head_dim_keys) : integer_of(config, own))
    return stated;
  const Json* stated = find(config.top.object(), "head_dim");
  const bool is_null = stated != nullptr && stated->is_null();  // which means width / heads to every class
  if (config.family.head_dim != 0 && !is_null)
    return Sourced<std::int64_t>{config.family.head_dim, config.family_default()};
  // Qwen2-VL's image encoder has a hidden_size too, which is its language model's.
  auto hidden = config.top.integer("embed_dim");
  if (!hidden) hidden = integer_of(config, hidden_keys);
  const auto heads = integer_of(config, heads_keys);
  if (!hidden && !heads && config.family.silent_head_dim != 0)
    return Sourced<std::int64_t>{config.family.silent_head_dim, config.family_default()};
  if (!hidden || !heads) return std::nullopt;
  const std::int64_t widths = config.family.widths;
  if (hidden->value > most_width) {
    config.builder.malformed(hidden->from, " ", hidden->value, ": must be at most ", most_width);
    return std::nullopt;
  }
  if (heads->value <= 0 || widths * hidden->value % heads->value != 0) {
    config.builder.malformed(hidden->from, " ", hidden->value, ": must be a multiple of ", heads->from, " ",
                             heads->value, " where head_dim is not stated");
    return std::nullopt;
  }
  const std::string times = widths == 1 ? "" : message(widths, " * ");
  return Sourced<std::int64_t>{widths * hidden->value / heads->value,
                               message("derived: ", times, hidden->from, " / ", heads->from)};
}

void read_window(const HfConfig& config, const RopePlan& plan, RopeDescription& rope) {
  word_width(config, plan, rope.wording);
  word_head_dim(config, rope.wording);
  // Where a family has the whole head's width, the lanes that turn are its last ones (DeepSeek-V4).
  const bool at_end = config.family.window_at_end && config.family.head_dim != 0;
  if (!at_end && read_latent_window(config, rope)) return;
  const auto head_dim = head_dim_of(config, plan.is_global());
  if (!head_dim) {
    config.builder.malformed("head_dim: missing, and hidden_size and num_attention_heads do not replace it");
    return;
  }
  if (head_dim->value < 1 || head_dim->value > most_lanes) {
    config.builder.malformed(head_dim->from, ": head_dim ", head_dim->value, ": must be from 1 to ",
                             most_lanes);
    return;
  }
  Agreed<double> part(config.builder);
  part.add(plan.now.number("partial_rotary_factor"));
  part.add(plan.before.number("partial_rotary_factor"));
  if (plan.part) part.add(plan.part);
  for (const auto key : partial_keys) part.add(config.top.number(key));

  rope.head_dim = *head_dim;
  rope.wording.derived_head_dim = config.top.find("head_dim") == nullptr && config.family.head_dim == 0;
  // The width is known by now: nothing that stands there is an error.
  const auto whole = [&](std::string_view key) {
    const Json* value = config.top.find(key);
    return value == nullptr ? nullptr : value->get<std::int64_t>();
  };
  const std::int64_t *hidden = whole("hidden_size"), *heads = whole("num_attention_heads");
  rope.wording.head_dim_divides =
      hidden == nullptr || heads == nullptr ||
      static_cast<double>(head_dim->value) * static_cast<double>(*heads) == static_cast<double>(*hidden);
  rope.rotary_offset = {0, "default"};
  if (std::holds_alternative<scaling::Proportional>(rope.scaling.value)) {
    // Its partial_rotary_factor counts the pairs that turn within the whole head.
    rope.rotary_dim = {head_dim->value, "derived: proportional scaling covers the head"};
    return;
  }
  const auto family_part =
      plan.is_local() && config.family.local_partial ? *config.family.local_partial : config.family.partial;
  const auto width = at_end ? config.top.integer("qk_rope_head_dim") : integer_of(config, width_keys);
  if (width) {
    rope.rotary_dim = *width;
    if (part.value()) {
      const auto lanes = part_of_head(config, head_dim->value, *part.value()).value;
      if (lanes != width->value) {
        config.builder.malformed(width->from, " ", width->value, " and ", part.value()->from, " ",
                                 part.value()->value, " (", lanes, " lanes of head_dim ", head_dim->value,
                                 "): must agree");
      }
    }
  } else if (part.value()) {
    rope.rotary_dim = part_of_head(config, head_dim->value, *part.value());
  } else if (config.family.rotary_dim != 0) {
    rope.rotary_dim = {config.family.rotary_dim, config.family_default()};
  } else if (family_part != 1) {
    rope.rotary_dim =
        part_of_head(config, head_dim->value, {family_part, message("the ", config.family_default())});
  } else {
    rope.rotary_dim = {head_dim->value, "head_dim"};
  }
  if (at_end) rope.rotary_offset = {head_dim->value - rope.rotary_dim.value, config.family_default()};
}

}  // namespace rotary::impl
