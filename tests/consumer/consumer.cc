// SPDX-License-Identifier: Apache-2.0
// The program that every consumer project builds: it makes a rope and prints its kernel, so the library is linked.
#include <iostream>
#include <rotary/rotary.hpp>

int main() {
  const auto f16 = rotary::dtype_from_name("f16");
  std::cout << "rotary " << ROTARY_VERSION << ", " << rotary::size_of(*f16) << " bytes a half\n";
  return rotary::to_float(rotary::to_f16(1.5f)) == 1.5f ? 0 : 1;
}
