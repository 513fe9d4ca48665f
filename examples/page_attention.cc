// SPDX-License-Identifier: Apache-2.0
// The code of docs/attention.md.
#include <cstdio>
#include <rotary/attention.hpp>
#include <vector>

int main() {
  using namespace rotary;
  const Rope rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = 4}).value()}).value();
  const std::vector<float> q_data = {1, 0, 0, 0, 0, 1, 0, 0}, v_data = {1, 0, 0, 1};
  std::vector<float> out_data(4);
  const auto q = thd(q_data.data(), 2, 1, 4), k = q;
  const auto v = thd(v_data.data(), 2, 1, 2);
  const auto out = thd(out_data.data(), 2, 1, 2);

  rotary::attend(rope, q, k, v, out, {.causal = true}).value();

  std::printf("token 0 attends to itself: %g %g\n", out_data[0], out_data[1]);
}
