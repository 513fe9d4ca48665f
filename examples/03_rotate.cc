// SPDX-License-Identifier: Apache-2.0
// The third moment, in every layer: q and k are rotated in place, in one call.
#include <cstdio>
#include <rotary/rope.hpp>
#include <vector>

namespace {

void print(const char* what, const std::vector<float>& lanes) {
  std::printf("%-10s", what);
  for (const float lane : lanes) std::printf(" %8.5f", static_cast<double>(lane));
  std::printf("\n");
}

rotary::Rope rope_of_base(double base) {
  const auto spectrum = rotary::Spectrum::make({.rotary_dim = 4, .base = base}).value();
  return rotary::Rope::make({.spectrum = spectrum, .pairing = rotary::Pairing::half_split}).value();
}

}  // namespace

int main() {
  // One row of a batch, two tokens; q has two heads, k has one; a head has four lanes.
  constexpr int batch = 1, tokens = 2, heads = 2, kv_heads = 1, head_dim = 4;
  std::vector<float> q = {1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
  std::vector<float> k = {1, 2, 3, 4, 1, 2, 3, 4};
  const auto q_heads = rotary::bthd(q.data(), batch, tokens, heads, head_dim);
  const auto k_heads = rotary::bthd(k.data(), batch, tokens, kv_heads, head_dim);

  const auto rope = rope_of_base(10000);
  const auto angles = rope.angles(rotary::Positions::range(0, tokens)).value();
  rope.rotate(angles, q_heads, k_heads).value();
  print("q", q);
  print("k", k);

  rope.inverse().rotate(angles, k_heads).value();
  print("k again", k);

  // Angles remember their rope: a model with local and global layers cannot mix them up.
  const auto refused = rope_of_base(1000000).rotate(angles, q_heads);
  std::printf("another rope: %s\n", refused.ok() ? "rotated" : "refused");
}
