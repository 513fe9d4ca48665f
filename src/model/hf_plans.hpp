// SPDX-License-Identifier: Apache-2.0
// Which ropes a config.json has, and where each is described.
#pragma once

#include <string>
#include <vector>

#include "model/hf_config.hpp"

namespace rotary::impl {

/// One rope to be read: the layers it is for, and the dictionaries that describe it.
struct RopePlan {
  std::string name;
  std::string layer_type;                               ///< empty: every layer
  Keys now;                                             ///< rope_parameters, or one entry of it
  Keys before;                                          ///< rope_scaling
  std::optional<Sourced<double>> base = {}, part = {};  ///< of lists with one number a layer
  std::vector<bool> layers = {};                        ///< instead of layer_type, for those lists
  bool nested = false;                                  ///< `now` is the entry of a layer type

  bool is_local() const { return layer_type == sliding_attention; }
  bool is_global() const { return layer_type == full_attention; }
  RopePlace place_now() const { return nested ? RopePlace::layer_type : RopePlace::rope_parameters; }
};

/// In the order of their first layers.
std::vector<RopePlan> plan_ropes(const HfConfig& config, const LayerPlan& layers);
void assign_layers(const HfConfig& config, const LayerPlan& layers, const std::vector<RopePlan>& plans);

/// The rope of one plan.
RopeDescription read_rope(const HfConfig& config, const RopePlan& plan);
void read_axes(const HfConfig& config, const RopePlan& plan, RopeDescription& rope);
void read_pairing(const HfConfig& config, RopeDescription& rope);

/// The layer types of DeepSeek-V4's two ropes: "main" turns the layers of a sliding window, "compress" the others.
inline constexpr std::string_view main_rope = "main", compress_rope = "compress";

}  // namespace rotary::impl
