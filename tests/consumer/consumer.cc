// SPDX-License-Identifier: Apache-2.0
// The program that every consumer project builds and runs: a quarter turn, by frequencies of its own.
#include <iostream>
#include <rotary/rotary.hpp>
#include <vector>

int main() {
  const std::vector<double> inv_freq = {1.5707963267948966};
  const auto spectrum = rotary::Spectrum::from_inv_freq(inv_freq).value();
  const auto rope = rotary::Rope::make({.spectrum = spectrum}).value();
  const auto angles = rope.angles(rotary::Positions::range(1, 2)).value();
  std::vector<float> q = {3, 4};
  rope.rotate(angles, rotary::bthd(q.data(), 1, 1, 1, 2)).value();
  std::cout << "rotary " << ROTARY_VERSION << ": (3, 4) becomes (" << q[0] << ", " << q[1] << ")\n";
}
