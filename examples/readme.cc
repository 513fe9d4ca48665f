// SPDX-License-Identifier: Apache-2.0
// The C++ of README.md, line for line: a test compares the two, and this program runs it.
#include <iostream>
#include <rotary/rotary.hpp>
#include <vector>

int main(int, char** arguments) {
  const std::string path = arguments[1];

  const auto model = rotary::Model::from_path(path).value();
  const auto local = model.rope_for_layer(0).value();
  const auto global = model.rope_for_layer(5).value();
  for (const auto& value : model.values()) {
    if (value.key == "base") std::cout << value.key << " is from " << value.from << '\n';
  }

  const std::int64_t tokens = 4, heads = 4, kv_heads = 1, head_dim = local.head_dim();
  std::vector<float> q_data(tokens * heads * head_dim, 1), k_data(tokens * kv_heads * head_dim, 1);

  auto local_angles = local.angles(rotary::Positions::range(0, tokens)).value();
  auto global_angles = global.angles(rotary::Positions::range(0, tokens)).value();

  const auto q = rotary::bthd(q_data.data(), 1, tokens, heads, head_dim);
  const auto k = rotary::bthd(k_data.data(), 1, tokens, kv_heads, head_dim);
  if (const auto status = local.rotate(local_angles, q, k); !status.ok()) {
    std::cerr << status.message() << '\n';
  }
  std::cout << "refused: " << global.rotate(local_angles, q, k).message() << '\n';

  local_angles.refill(rotary::Positions::range(tokens, tokens + 1)).value();
  std::cout << local_angles.tokens() << " token next, " << global_angles.tokens() << " before\n";
}
