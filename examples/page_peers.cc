// SPDX-License-Identifier: Apache-2.0
// The code of docs/peers.md.
#include <cmath>
#include <cstdio>
#include <rotary/rotary.hpp>

int main() {
  using namespace rotary;
  const auto model = Model::from_config(R"({"model_type": "llama", "head_dim": 128, "num_hidden_layers": 32,
      "max_position_embeddings": 262144, "rope_theta": 1000000.0, "rope_scaling": {"rope_type": "yarn", "factor": 16.0,
      "original_max_position_embeddings": 16384, "attention_factor": 1.0}})")
                         .value();
  const auto theirs = model.as(Peer::sglang).value();
  const PeerRope view = model.rope_as(Peer::sglang, 0);
  const PeerDifference apart = difference(model.ropes()[0].rope, *view.rope, 262143);
  std::printf("A %.8f, as sglang %.8f: scores %.2f times larger\n",
              model.ropes()[0].rope.spectrum().attention_factor(),
              theirs.ropes()[0].rope.spectrum().attention_factor(), std::pow(apart.attention_factor, 2));
  std::printf("because %s\n", view.reasons.front().c_str());

  const std::int64_t tokens_of_row[] = {900, 6000};  // to come, too
  const auto mine = length_for(LengthRule::by_sequence, tokens_of_row, 0, 131072).value();
  const auto shared = length_for(LengthRule::by_batch, tokens_of_row, 0, 131072).value();
  std::printf("row 0: %d tokens of its own, %d of the batch\n", static_cast<int>(mine),
              static_cast<int>(shared));
}
