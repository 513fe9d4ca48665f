// SPDX-License-Identifier: Apache-2.0
// The code of docs/spectrum.md.
#include <cstdio>
#include <rotary/rope.hpp>

int main() {
  using namespace rotary;

  const auto plain = Spectrum::make({.rotary_dim = 128, .base = 500000}).value();
  const auto linear =
      Spectrum::make({.rotary_dim = 128, .base = 500000, .scaling = scaling::Linear{.factor = 8}}).value();
  const auto llama3 =
      Spectrum::make({.rotary_dim = 128, .base = 500000, .scaling = scaling::Llama3{.factor = 8}}).value();
  const scaling::Yarn by_8 = {.factor = 8, .original_max_position_embeddings = 8192};
  const auto yarn = Spectrum::make({.rotary_dim = 128, .base = 500000, .scaling = by_8}).value();

  std::printf("pair      default       linear       llama3         yarn   radians a position\n");
  for (const std::size_t i : {0, 16, 24, 32, 40, 63}) {
    std::printf("%4zu", i);
    for (const auto* s : {&plain, &linear, &llama3, &yarn}) std::printf("  %.5e", s->inv_freq()[i]);
    std::printf("\n");
  }
  std::printf("A     ");
  for (const auto* s : {&plain, &linear, &llama3, &yarn}) std::printf("  %11.6f", s->attention_factor());
  std::printf("\n");

  const double chosen[] = {1, 0.1, 0, -0.001};
  const auto own = Spectrum::from_inv_freq(chosen).value();
  std::printf("%d pairs of my own, no base: %s\n", static_cast<int>(own.pairs()), own.base() ? "no" : "true");

  const auto queries = Rope::make({.spectrum = plain, .xpos = Xpos{.scale_base = 512}}).value();
  const auto keys = Rope::make({.spectrum = plain, .xpos = Xpos{.scale_base = 512, .keys = true}}).value();
  float q_cos[64], k_cos[64], sin[64];
  queries.angles(Positions::range(512, 513)).value().row(0, 0, q_cos, sin).value();
  keys.angles(Positions::range(512, 513)).value().row(0, 0, k_cos, sin).value();
  std::printf("xPos, position 512, pair 63: queries times %.4f, keys times %.4f\n",
              static_cast<double>(q_cos[63]), static_cast<double>(k_cos[63]));

  const auto in_runs =
      Spectrum::make({.rotary_dim = 128, .base = 1e6, .axis_sections = {16, 24, 24}}).value();
  const std::uint8_t in_turns[] = {0, 1, 2, 0};
  const auto with_map = own.with_axis(in_turns).value();
  std::printf("axes: %d and %d; pair 16 of the first is driven by axis %d\n",
              static_cast<int>(in_runs.axes()), static_cast<int>(with_map.axes()), in_runs.axis()[16]);
}
