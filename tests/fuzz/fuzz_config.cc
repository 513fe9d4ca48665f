// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "fuzz/fuzz_model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto model = rotary::Model::from_config(text, "fuzz");
  demand_sound(model);
  if (!model) return 0;
  for (const rotary::Peer peer : rotary::peers) {
    const auto theirs = model->as(peer);
    demand_sound(theirs);
    demand(!theirs || (theirs->ropes().size() == model->ropes().size() &&
                       theirs->layers().size() == model->layers().size()));
  }
  demand_sound(rotary::Model::from_config(text, "fuzz", {.length = 100000}));
  const auto strict = rotary::Model::from_config(text, "fuzz", {.strict = true});
  demand(strict.ok() == model->warnings().empty());
  return 0;
}
