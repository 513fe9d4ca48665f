// SPDX-License-Identifier: Apache-2.0
// The code of docs/model.md.
#include <cstdio>
#include <rotary/model.hpp>

int main() {
  const char* config = R"({"model_type": "llama", "hidden_size": 2048, "num_attention_heads": 32,
                           "num_hidden_layers": 16, "rope_theta": 500000,
                           "rope_scaling": {"type": "linear", "factor": 4, "fctor": 8}})";
  const auto model = rotary::Model::from_config(config).value();
  for (const auto& value : model.values()) {
    std::printf("%-16s %s%s\n", value.key.c_str(), value.from.c_str(), value.assumed ? " (assumed)" : "");
  }
  for (const auto& warning : model.warnings()) std::printf("doubtful: %s\n", warning.c_str());

  const auto strict = rotary::Model::from_config(config, "my config", {.strict = true});
  std::printf("%s\n", strict.status().message().c_str());

  const auto smollm = rotary::Model::from_preset("smollm3-3b").value();
  for (std::int64_t layer = 2; layer < 4; ++layer) {
    const auto rope = smollm.rope_for_layer(layer);
    std::printf("layer %d: %s\n", static_cast<int>(layer), rope ? "turns" : rope.status().message().c_str());
  }
}
