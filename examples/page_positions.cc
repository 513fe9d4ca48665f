// SPDX-License-Identifier: Apache-2.0
// The code of docs/positions.md.
#include <cstdio>
#include <rotary/dual_chunk.hpp>
#include <rotary/positions.hpp>
#include <rotary/shards.hpp>
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

  const std::vector<std::int64_t> pads = {0, 2};
  print("left_padded", Positions::left_padded(pads, 4));

  const Positions prefix = Positions::range(0, 2), rest = Positions::range(7, 9);
  print("concatenate", Positions::concatenate({prefix, rest}));
  print("rows", Positions::rows({prefix, rest}));
  print("shifted", rest.shifted(-7));
  const rotary::TokenSegment wanted[] = {{6, 2}, {0, 3, 2}};  // first, count, step
  print("take", Positions::range(100, 108).take(wanted));

  const std::vector<std::int64_t> documents = {0, 4, 8};
  const auto mine = rotary::shard(rotary::Sharding::zigzag, documents, /*rank=*/0, /*ranks=*/2).value();
  print("zigzag, rank 0 of 2", Positions::packed(documents)->take(mine));

  const auto chunks = rotary::dual_chunk(Positions::range(0, 9), /*chunk_size=*/6, /*local_size=*/2).value();
  print("dual chunk, keys", chunks.keys);
  print("dual chunk, successor", chunks.successor);

  std::printf("%s\n", Positions::ids(position_ids, 3, 4).status().message().c_str());
  std::printf("%s\n", rotary::to_position(1e16).status().message().c_str());
}
