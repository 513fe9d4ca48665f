// SPDX-License-Identifier: Apache-2.0
// What the tests of the model room ask of a Model.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <rotary/model.hpp>
#include <string>
#include <string_view>

#include "support/data.hpp"
#include "support/status_matchers.hpp"

namespace rotary::testing {

/// A Llama config with these keys after the common ones: R"(, "rope_theta": 1e6)".
inline std::string llama(std::string_view keys) {
  return R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 2,
             "max_position_embeddings": 4096)" +
         std::string(keys) + "}";
}

inline Model load(const std::string& json, const ModelOptions& options = {}) {
  auto model = Model::from_config(json, "config.json", options);
  EXPECT_SUCCEEDS(model);
  return model.value();
}

/// One letter a layer: the first of its rope's name, or '-'.
inline std::string picture(const Model& model) {
  std::string text;
  for (const auto& layer : model.layers()) text += layer ? model.ropes()[*layer].name[0] : '-';
  return text;
}

/// The value of that key, or null.
inline const ModelValue* find_value(const Model& model, std::string_view key, std::size_t rope = 0) {
  const auto values = model.values();
  const auto found =
      std::ranges::find_if(values, [&](const ModelValue& v) { return v.key == key && v.rope == rope; });
  return found == values.end() ? nullptr : &*found;
}

/// Where a value comes from, with " (assumed)" behind it if nobody stated it.
inline std::string source_of(const Model& model, std::string_view key, std::size_t rope = 0) {
  const ModelValue* value = find_value(model, key, rope);
  return value == nullptr ? "no such value" : value->from + (value->assumed ? " (assumed)" : "");
}

inline double base_of(const Model& model, std::string_view rope = "default") {
  return model.find_rope(rope)->rope.spectrum().base().value();
}

}  // namespace rotary::testing
