// SPDX-License-Identifier: Apache-2.0
// The second moment, once a forward pass: one row of cos and sin a token, exact at any position.
#include <cstdio>
#include <rotary/rope.hpp>
#include <vector>

int main() {
  const auto spectrum = rotary::Spectrum::make(
      {.rotary_dim = 128, .base = 500000, .scaling = rotary::scaling::Llama3{.factor = 8}});
  const auto rope = rotary::Rope::make({.spectrum = spectrum.value()}).value();

  // Prefill: the tokens 131070, 131071, 131072.
  auto angles = rope.angles(rotary::Positions::range(131070, 131073)).value();
  std::vector<float> cos(rope.pairs()), sin(rope.pairs());
  for (std::int64_t token = 0; token < angles.tokens(); ++token) {
    angles.row(0, token, cos, sin).value();
    std::printf("position %d, pair 0: cos %+.7f sin %+.7f, pair 63: cos %+.7f sin %+.7f\n",
                static_cast<int>(131070 + token), cos[0], sin[0], cos[63], sin[63]);
  }

  // Decode: the next token, in the same memory.
  angles.refill(rotary::Positions::range(131073, 131074)).value();
  angles.row(0, 0, cos, sin).value();
  std::printf("position 131073, pair 0: cos %+.7f sin %+.7f\n", cos[0], sin[0]);
}
