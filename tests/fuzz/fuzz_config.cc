// SPDX-License-Identifier: Apache-2.0
#include <rotary/model.hpp>
#include <string_view>

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto model = rotary::Model::from_config(text, "fuzz");
  if (!model) return demand_reason(model.status()), 0;
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
  for (const rotary::Peer peer : rotary::peers) {
    const auto theirs = model->as(peer);
    if (!theirs) {
      demand_reason(theirs.status());
      continue;
    }
    demand(theirs->ropes().size() == model->ropes().size() && theirs->layers().size() == model->layers().size());
    for (const auto& value : theirs->values()) demand(value.rope < model->ropes().size() && !value.from.empty());
  }
  const auto strict = rotary::Model::from_config(text, "fuzz", {.strict = true});
  demand(strict.ok() == model->warnings().empty());
  return 0;
}
