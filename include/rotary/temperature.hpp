// SPDX-License-Identifier: Apache-2.0
/// @file
/// A scale of the query that grows with its position, beside the rotation and not part of it.
///
///     rotary::QueryTemperature llama4{.scale = 0.1, .length = 8192, .first = 1};        // layers without rope
///     rotary::QueryTemperature ministral3{.scale = 0.1, .length = 16384, .first = 0};   // every layer
///     q_of_token_t *= llama4.at(t);
#pragma once

#include <algorithm>
#include <cmath>

namespace rotary {

/// 1 + scale * ln(1 + floor((position + first) / length)). Sources: Llama 4 (attn_scale, floor_scale) and
/// Ministral 3 (llama_4_scaling_beta, original_max_position_embeddings) in Transformers.
struct QueryTemperature {
  double scale = 0.1;
  double length = 8192;  ///< tokens; > 0
  double first = 0;      ///< what the first position counts as: 1 in Llama 4, 0 in Ministral 3

  /// The factor for the query at that position; 1 at negative ones.
  double at(double position) const noexcept {
    return 1 + scale * std::log1p(std::max(0.0, std::floor((position + first) / length)));
  }
  friend bool operator==(const QueryTemperature&, const QueryTemperature&) = default;
};

}  // namespace rotary
