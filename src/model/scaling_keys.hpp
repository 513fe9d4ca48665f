// SPDX-License-Identifier: Apache-2.0
// From a dictionary of scaling keys to a Scaling, whatever its type: the fields of the struct are the keys.
#pragma once

#include <rotary/scaling.hpp>
#include <string_view>
#include <vector>

#include "model/keys.hpp"

namespace rotary::impl {

struct ScalingReading {
  Sourced<Scaling> scaling;
  std::vector<ModelValue> values;
  std::vector<double> other_factors;  ///< of linear, after the first
  /// Member original_max_position_embeddings, if the type has one.
  std::optional<Sourced<double>> original_length;
};

/// `top` is the object that holds the dictionary: an original_max_position_embeddings or
/// max_position_embeddings may stand there. `length`: the original one where none is stated; else
/// max_position_embeddings is taken for it.
ScalingReading read_scaling(const Keys& dict, const Keys& top, ModelBuilder& builder,
                            const std::optional<Sourced<double>>& length = {});

/// A default Scaling of that type, or nothing. "none" and "mrope" are "default", "su" is "longrope".
std::optional<Scaling> scaling_named(std::string_view word);

}  // namespace rotary::impl
