// SPDX-License-Identifier: Apache-2.0
// The code of docs/axes.md.
#include <array>
#include <cstdio>
#include <rotary/axes.hpp>
#include <rotary/spectrum.hpp>
#include <string>
#include <vector>

namespace {

void print(rotary::AxisOrder order, const std::vector<std::int64_t>& sections, const char* letters) {
  std::printf("%-16s", std::string(rotary::name(order)).c_str());
  const auto map = rotary::axis_map(order, sections).value();
  for (const std::uint8_t axis : map) std::printf(" %c", letters[axis]);
  std::printf("\n");
}

}  // namespace

int main() {
  using rotary::AxisOrder;
  using rotary::Spectrum;

  print(AxisOrder::contiguous, {6, 4, 4}, "thw");
  print(AxisOrder::interleaved, {6, 4, 4}, "thw");
  print(AxisOrder::imrope, {6, 4, 4}, "thwx");
  print(AxisOrder::round_robin, {6, 4, 4}, "thw");
  print(AxisOrder::spread, {6, 4, 4}, "thw");
  print(AxisOrder::space_then_time, {6, 4, 4}, "thw");
  print(AxisOrder::round_robin, {4, 5, 5}, "thw");
  print(AxisOrder::spread, {4, 5, 5}, "thw");

  const auto qwen3_vl = Spectrum::make({.rotary_dim = 128,
                                        .base = 5e6,
                                        .axis_sections = {24, 20, 20},
                                        .axis_order = AxisOrder::interleaved})
                            .value();
  const auto pixtral =
      Spectrum::make(
          {.rotary_dim = 64, .base = 10000, .axis_sections = {16, 16}, .axis_order = AxisOrder::interleaved})
          .value();
  const auto flux = Spectrum::axial(std::array<std::int64_t, 3>{16, 56, 56}, 10000).value();
  std::printf("pair 1 of Qwen3-VL listens to axis %d, of Pixtral to axis %d, of Flux to axis %d\n",
              qwen3_vl.axis()[1], pixtral.axis()[1], flux.axis()[1]);
}
