// SPDX-License-Identifier: Apache-2.0
// The first moment, once: what a model says about its rotary embedding.
//
//     01_read_a_model DIRECTORY | config.json | model.gguf
#include <iostream>
#include <rotary/model.hpp>

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: 01_read_a_model DIRECTORY | config.json | model.gguf\n";
    return 2;
  }
  const auto model = rotary::Model::from_path(arguments[1]);
  if (!model) {
    std::cerr << model.status().message() << '\n';
    return 3;
  }

  std::cout.precision(9);
  std::cout << model->architecture() << ", " << model->layers().size() << " layers\n";
  for (const rotary::ModelRope& each : model->ropes()) {
    const rotary::Rope& rope = each.rope;
    std::cout << "rope " << each.name << ": base " << rope.spectrum().base().value_or(0) << ", "
              << rotary::name(rope.pairing()) << ", " << rope.rotary_dim() << " of " << rope.head_dim()
              << " lanes turn, slowest pair " << rope.spectrum().inv_freq().back() << " radians a token\n";
  }
  for (std::size_t layer = 0; layer < 6 && layer < model->layers().size(); ++layer) {
    const auto rope = model->layers()[layer];
    std::cout << "layer " << layer << ": " << (rope ? model->ropes()[*rope].name : "no rope") << '\n';
  }
  for (const auto& value : model->values()) {
    if (value.key == "base") std::cout << "base of rope " << value.rope << " is from " << value.from << '\n';
  }
}
