// SPDX-License-Identifier: Apache-2.0
// The code of docs/angles.md, and its table of errors: each policy against the same product in long double.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <rotary/rope.hpp>
#include <vector>

namespace {

using namespace rotary;

Rope rope_with(AnglePolicy policy) {
  const auto spectrum = Spectrum::make({.rotary_dim = 128, .base = 10000}).value();
  return Rope::make({.spectrum = spectrum, .policy = policy}).value();
}

/// The largest error of cos and sin over all pairs at the 64 positions before `end`.
double largest_error(AnglePolicy policy, std::int64_t end) {
  const Rope rope = rope_with(policy);
  const auto angles = rope.angles(Positions::range(end - 64, end)).value();
  std::vector<float> cos(64), sin(64);
  long double largest = 0;
  for (std::int64_t token = 0; token < angles.tokens(); ++token) {
    angles.row(0, token, cos, sin).value();
    for (std::size_t i = 0; i < cos.size(); ++i) {
      const long double angle = static_cast<long double>(end - 64 + token) * rope.spectrum().inv_freq()[i];
      largest = std::max({largest, std::fabs(cos[i] - std::cos(angle)), std::fabs(sin[i] - std::sin(angle))});
    }
  }
  return static_cast<double>(largest);
}

}  // namespace

int main() {
  std::printf("positions below      exact       fp32       ggml\n");
  for (const std::int64_t end : {64, 1024, 32768, 131072, 1048576, 10000000}) {
    std::printf("%15d", static_cast<int>(end));
    for (const auto policy : {AnglePolicy::exact, AnglePolicy::fp32, AnglePolicy::ggml}) {
      std::printf("    %.1e", largest_error(policy, end));
    }
    std::printf("\n");
  }

  const auto rope = rope_with(AnglePolicy::exact);
  const std::int64_t prompt = 1000;
  auto angles = rope.angles(Positions::range(0, prompt)).value();
  for (std::int64_t next = prompt; next < prompt + 3; ++next) {
    angles.refill(Positions::range(next, next + 1)).value();
  }

  const auto made = rope.angles(Positions::range(1002, 1003), Rows::on_the_way).value();
  std::vector<float> cos(64), sin(64), cos_made(64), sin_made(64);
  angles.row(0, 0, cos, sin).value();
  made.row(0, 0, cos_made, sin_made).value();
  std::printf("same rows, held and made: %s\n", cos == cos_made && sin == sin_made ? "true" : "no");

  const std::vector<float> my_cos = {1, 0, -1, 0}, my_sin = {0, 1, 0, -1};
  const AngleTable table = {.cos = my_cos, .sin = my_sin, .rows = 4, .width = 1};
  const auto quarters = Rope::from_table(table, {.pairing = Pairing::interleaved}).value();
  std::printf("%s\n", quarters.angles(Positions::range(2, 5)).status().message().c_str());
}
