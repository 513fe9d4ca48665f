// SPDX-License-Identifier: Apache-2.0
// Which pairs of a config.json's rope follow which axis, and which lanes are a pair.
#include <algorithm>

#include "model/hf_plans.hpp"

namespace rotary::impl {
namespace {

constexpr std::string_view section_keys[] = {"mrope_section", "xdrope_section"};

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

}  // namespace

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
  rope.wording.states_sections = key == section_keys[0];
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

}  // namespace rotary::impl
