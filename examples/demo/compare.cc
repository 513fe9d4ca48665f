// SPDX-License-Identifier: Apache-2.0
// How far q and k of one file are from what the model itself computed.
//
//     demo_compare RECORDING ROTATED BOUND
//
// RECORDING has q_rotated and k_rotated, ROTATED has q and k; f32, [batch, heads, tokens, head_dim],
// half-split. Prints the largest error, measured against the length of its pair; ends with 1 if one is over
// BOUND.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <rotary/formats/safetensors.hpp>
#include <span>
#include <string>
#include <vector>

namespace {

using rotary::formats::Safetensors;

std::vector<float> floats(const Safetensors& file, const std::string& name) {
  const auto* tensor = file.find(name);
  if (!tensor || tensor->dtype != rotary::DType::f32) {
    std::cerr << "no f32 tensor " << name << '\n';
    std::exit(3);
  }
  std::vector<float> values(tensor->bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
  return values;
}

/// The largest distance of a pair from its twin, in lengths of the twin.
double largest_error(std::span<const float> ours, std::span<const float> theirs, std::size_t head_dim) {
  double largest = 0;
  for (std::size_t head = 0; head < theirs.size(); head += head_dim) {
    for (std::size_t i = head; i < head + head_dim / 2; ++i) {
      const std::size_t j = i + head_dim / 2;
      const double distance = std::hypot(double{ours[i]} - theirs[i], double{ours[j]} - theirs[j]);
      const double length = std::hypot(theirs[i], theirs[j]);
      // Written so that a NaN counts as the largest error there is.
      if (!(distance <= largest * length)) largest = length > 0 ? distance / length : HUGE_VAL;
    }
  }
  return largest;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::cerr << "usage: demo_compare RECORDING ROTATED BOUND\n";
    return 2;
  }
  const auto recording = Safetensors::open(arguments[1]), rotated = Safetensors::open(arguments[2]);
  if (!recording || !rotated) {
    std::cerr << (recording ? rotated : recording).status().message() << '\n';
    return 3;
  }
  const double bound = std::strtod(arguments[3], nullptr);
  bool within = true;
  for (const std::string name : {"q", "k"}) {
    const auto ours = floats(*rotated, name), theirs = floats(*recording, name + "_rotated");
    if (ours.empty() || ours.size() != theirs.size()) {
      std::cerr << name << " and " << name << "_rotated differ in size\n";
      return 3;
    }
    const auto head_dim = static_cast<std::size_t>(recording->find(name)->shape.back());
    const double error = largest_error(ours, theirs, head_dim);
    std::cout << "  " << name << ": " << ours.size() << " values, largest error " << error
              << " of a pair's length (" << (error <= bound ? "within " : "OVER ") << bound << ")\n";
    within = within && error <= bound;
  }
  return within ? 0 : 1;
}
