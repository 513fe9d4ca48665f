// SPDX-License-Identifier: Apache-2.0
// The code of docs/peers.md.
#include <cmath>
#include <cstdio>
#include <rotary/rotary.hpp>

int main() {
  using namespace rotary;
  const auto model = Model::from_preset("ministral-3-3b").value();
  const auto theirs = model.as(Peer::vllm).value();
  const PeerRope view = model.rope_as(Peer::vllm, 0);
  const PeerDifference apart = difference(model.ropes()[0].rope, *view.rope, 262143);
  std::printf("A %.8f, as vllm %.8f: scores %.2f times larger\n",
              model.ropes()[0].rope.spectrum().attention_factor(),
              theirs.ropes()[0].rope.spectrum().attention_factor(), std::pow(apart.attention_factor, 2));
  std::printf("because %s\n", view.reasons.front().c_str());

  const std::int64_t tokens_of_row[] = {900, 6000};  // to come, too
  const auto mine = length_for(LengthRule::by_sequence, tokens_of_row, 0, 131072).value();
  const auto shared = length_for(LengthRule::by_batch, tokens_of_row, 0, 131072).value();
  std::printf("row 0: %d tokens of its own, %d of the batch\n", static_cast<int>(mine),
              static_cast<int>(shared));
}
