// SPDX-License-Identifier: Apache-2.0
// A config, and its ropes as Transformers' classes have them.
#pragma once

#include <rotary/model.hpp>
#include <string>

#include "model_checks.hpp"

namespace rotary::testing {

inline Model read(const std::string& config) {
  auto model = Model::from_config(config);
  EXPECT_SUCCEEDS(model);
  return model.value();
}

/// One rope as Transformers has it, which gives that reason alone.
inline Rope as_transformers(const Model& model, std::size_t rope, std::string_view reason) {
  const PeerRope view = model.rope_as(Peer::transformers, rope);
  EXPECT_SUCCEEDS(view.rope);
  EXPECT_EQ(view.reasons.size(), 1U);
  const std::string first = view.reasons.empty() ? "" : view.reasons[0];
  EXPECT_NE(first.find(reason), std::string::npos) << first;
  return *view.rope;
}

inline std::string described(const std::string& model_type, const std::string& more) {
  return R"({"model_type": ")" + model_type +
         R"(", "head_dim": 128, "hidden_size": 1024, "num_attention_heads": 8,
      "num_hidden_layers": 4, "max_position_embeddings": 8192)" +
         more + "}";
}

/// A config's first rope as Transformers 5.24 has it.
inline Rope first_of(const std::string& config) {
  const auto theirs = read(config).as(Peer::transformers);
  EXPECT_SUCCEEDS(theirs);
  return theirs->ropes()[0].rope;
}

}  // namespace rotary::testing
