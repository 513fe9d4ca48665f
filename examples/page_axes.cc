// SPDX-License-Identifier: Apache-2.0
// The code of docs/axes.md.
#include <array>
#include <cstdio>
#include <rotary/axes.hpp>
#include <rotary/grids.hpp>
#include <rotary/multimodal.hpp>
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

void print(const char* what, const rotary::Result<rotary::Positions>& positions) {
  std::printf("%s\n", what);
  for (std::int64_t axis = 0; axis < positions->axes(); ++axis) {
    std::printf(" ");
    for (std::int64_t token = 0; token < positions->tokens(); ++token) {
      std::printf(" %g", rotary::to_double(positions->at(axis, 0, token)));
    }
    std::printf("\n");
  }
}

}  // namespace

int main() {
  using rotary::AxisOrder;
  using rotary::block_order, rotary::centred_cells, rotary::evenly_between, rotary::patch_centres,
      rotary::whole_steps;
  using rotary::Positions;
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
  const auto flux = Spectrum::axial(std::array<std::int64_t, 3>{16, 56, 56}, 10000).value();
  std::printf("pair 1 of Qwen3-VL listens to axis %d, of Flux to axis %d\n", qwen3_vl.axis()[1],
              flux.axis()[1]);

  print("2 rows, 3 columns", Positions::grid({Positions::range(0, 2), Positions::range(0, 3)}));
  print("around the centre", Positions::grid({centred_cells(2).value(), centred_cells(3).value()}));
  print("patch centres in [-1, 1]", patch_centres(4));
  print("4 cells over a base of 3", evenly_between(0, 3, 4));
  print("whole steps of 1.5", whole_steps(1.5, 4));

  const auto patches = Positions::grid({Positions::range(0, 2), Positions::range(0, 4)}).value();
  print("blocks of 2 by 2", patches.take(block_order(1, 2, 4, 2).value()));

  rotary::MultimodalSequence prompt;
  prompt.text(3).vision({.height = 2, .width = 4}).text(2);
  print("text, image, text", prompt.positions());
  print("the next token", prompt.decode(1));
}
