// SPDX-License-Identifier: Apache-2.0
// The parts of a config.json's reading.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/family.hpp"
#include "model/keys.hpp"

namespace rotary::impl {

/// The object that describes the text model, and what its family takes for granted.
struct HfConfig {
  Keys top;
  std::string model_type;
  Family family;
  bool known_family;
  ModelBuilder& builder;
  const Json* assumed_scaling = nullptr;  ///< the family's rope_parameters, if its class has some of its own

  std::string family_default() const { return message("default of ", model_type); }
  /// Else what there is of one is the family's.
  bool states_dictionary() const {
    return top.find("rope_parameters") != nullptr || !top.child("rope_scaling").object().empty();
  }
};

/// Stated, the family's, or width / heads; nothing where neither is there. `is_global`: of the layers of full
/// attention.
std::optional<Sourced<std::int64_t>> head_dim_of(const HfConfig& config, bool is_global);

struct RopePlan;
/// head_dim, rotary_dim and rotary_offset of a planned rope whose scaling is known.
void read_window(const HfConfig& config, const RopePlan& plan, RopeDescription& rope);

/// How the queries grow with their position, if they do; `now` and `before` are the dictionaries of the first rope.
void read_temperature(const HfConfig& config, const Keys& now, const Keys& before);

/// One word a layer: an entry of layer_types, or "" where every layer is alike. `without_rope` are the layers
/// that the config excepts.
struct LayerPlan {
  std::vector<std::string> types;
  std::vector<bool> without_rope;
};
LayerPlan read_layers(const HfConfig& config);

inline constexpr std::string_view full_attention = "full_attention", sliding_attention = "sliding_attention";

/// "linear_attention", "mamba", ...: layers that no rope is for.
bool is_without_positions(std::string_view layer_type) noexcept;

/// The file has a rope of time beside its text model's (MusicFlamingo), whose keys stand at its top.
bool has_time_rope(const Keys& document);
/// Rope "time", of two axes: windows, and frames within them.
void add_time_rope(const Keys& document, ModelBuilder& builder);

/// Positions of another kind than a rope's, or more than a rope: a failure that names them.
void refuse_other_positions(const HfConfig& config);
/// What a config says of its rope and is not read: a warning each. `document` is the whole file.
void warn_about_unread(const HfConfig& config, const Keys& document);
/// Keys that look like one of rope and are none of the known ones: a warning each.
void warn_about_similar_keys(const Keys& top, std::span<const std::string_view> known, ModelBuilder& builder);
/// Keys that are almost one of those that are read, where that one is absent: a warning each.
void warn_about_misspellings(const Keys& top, ModelBuilder& builder);

}  // namespace rotary::impl
