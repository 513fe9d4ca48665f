// SPDX-License-Identifier: Apache-2.0
// What holds for every Model, whatever it was read from.
#pragma once

#include <rotary/model.hpp>

#include "fuzz/fuzz.hpp"

namespace rotary::fuzz {

inline void demand_sound(const Result<Model>& model) {
  if (!model) return demand_reason(model.status());
  demand(!model->ropes().empty());
  for (const auto& layer : model->layers()) demand(!layer || *layer < model->ropes().size());
  for (const auto& value : model->values()) demand(value.rope < model->ropes().size() && !value.from.empty());
  for (const auto& rope : model->ropes()) {
    demand(rope.rope.rotary_offset() + rope.rope.rotary_dim() <= rope.rope.head_dim());
    demand(model->find_rope(rope.name) != nullptr);
  }
  for (std::size_t i = 0; i < model->layers().size(); ++i) {
    demand(model->rope_for_layer(static_cast<std::int64_t>(i)).ok() == model->layers()[i].has_value());
  }
}

}  // namespace rotary::fuzz
