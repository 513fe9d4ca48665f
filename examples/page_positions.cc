// SPDX-License-Identifier: Apache-2.0
// The code of docs/positions.md.
#include <cstdio>
#include <rotary/positions.hpp>
#include <string>
#include <vector>

namespace {

void print(const char* what, const rotary::Result<rotary::Positions>& positions) {
  std::printf("%s\n", what);
  for (std::int64_t axis = 0; axis < positions->axes(); ++axis) {
    for (std::int64_t row = 0; row < positions->batch(); ++row) {
      std::printf("  axis %d, row %d:", static_cast<int>(axis), static_cast<int>(row));
      for (std::int64_t token = 0; token < positions->tokens(); ++token) {
        std::printf(" %g", rotary::to_double(positions->at(axis, row, token)));
      }
      std::printf("\n");
    }
  }
}

}  // namespace

int main() {
  using rotary::Positions;

  print("range", Positions::range(3, 8));

  print("spaced", Positions::spaced(0, 0.25, 6));

  const std::vector<std::int64_t> lengths = {4, 0, 17};
  print("offsets", Positions::offsets(lengths, 3));

  const std::vector<std::int32_t> position_ids = {0, 1, 2, 3, 0, 0, 0, 1};
  print("ids", Positions::ids(position_ids, 2, 4));

  const std::vector<std::int32_t> cu_seqlens = {0, 3, 3, 7};
  print("packed", Positions::packed(cu_seqlens));
  const std::vector<std::int64_t> starts = {100, 0, 5};
  print("packed with starts", Positions::packed(cu_seqlens, starts));

  const std::vector<std::int32_t> t = {0, 0, 0, 0}, h = {0, 0, 1, 1}, w = {0, 1, 0, 1};
  const Positions grid[] = {Positions::ids(t).value(), Positions::ids(h).value(), Positions::ids(w).value()};
  print("axes", Positions::axes(grid));

  std::printf("%s\n", Positions::ids(position_ids, 3, 4).status().message().c_str());
  std::printf("%s\n", rotary::to_position(1e16).status().message().c_str());
}
