// SPDX-License-Identifier: Apache-2.0
// Source: vLLM's DualChunkRotaryEmbedding.
#include <algorithm>
#include <array>
#include <rotary/dual_chunk.hpp>

#include "base/message.hpp"
#include "positions/fixed_point.hpp"
#include "positions/run_collector.hpp"

namespace rotary {
namespace {

using impl::invalid;
using impl::RunCollector;

constexpr Position one{1, 0};
constexpr std::int64_t most_parts = std::int64_t{1} << 24;

std::int64_t floor_mod(std::int64_t a, std::int64_t b) noexcept { return ((a % b) + b) % b; }

/// The maps, of places within a chunk that follow one another.
class Maps {
 public:
  Maps(std::int64_t chunk_size, std::int64_t keys_of_chunk) : size_(chunk_size), c_(keys_of_chunk) {}

  void add(std::int64_t place, std::int64_t count) {
    keys.add({place, 0}, one, count);
    const std::int64_t rising = std::clamp(size_ - c_ - place + 1, std::int64_t{0}, count);
    successor.add({place + c_, 0}, one, rising);
    successor.add({size_, 0}, {}, count - rising);
    inter.add({std::min(2 * c_ - 1, size_), 0}, {}, count);
    successor_critical.add({place + c_, 0}, one, count);
    inter_critical.add({place + size_, 0}, one, count);
  }

  RunCollector keys, successor, inter, successor_critical, inter_critical;

 private:
  std::int64_t size_, c_;
};

}  // namespace

Result<DualChunk> dual_chunk(const Positions& positions, std::int64_t chunk_size, std::int64_t local_size) {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  if (local_size < 0) return invalid("dual_chunk: local_size ", local_size, ": must not be negative");
  if (chunk_size <= local_size || chunk_size > most) {
    return invalid("dual_chunk: chunk_size ", chunk_size, ": must be over local_size ", local_size,
                   " and at most 2^53");
  }
  const std::int64_t c = chunk_size - local_size;
  Maps maps(chunk_size, c);
  Status status;
  std::int64_t parts = 0;  // runs within chunks, at most
  const auto add_run = [&](Position start, Position step, std::int64_t count) {
    const bool counts_on = step == one;
    parts += std::min(most_parts + 1, counts_on ? count / c + 2 : count);
    if (parts > most_parts) status = invalid("dual_chunk: more than ", most_parts, " runs of positions");
    while (count > 0 && status.ok()) {
      if (start.fraction != 0) status = invalid("dual_chunk: position ", to_double(start), ": must be whole");
      const std::int64_t place = floor_mod(start.whole, c);
      const std::int64_t here = counts_on ? std::min(count, c - place) : 1;
      maps.add(place, here);
      start = impl::advance(start, step, here);
      count -= here;
    }
  };
  for (std::int64_t axis = 0; axis < positions.axes() && status.ok(); ++axis) {
    for (std::int64_t row = 0; row < positions.batch() && status.ok(); ++row) {
      RunCollector::for_each_run(positions, axis, row, add_run);
    }
  }
  if (!status.ok()) return status;
  DualChunk at;
  for (auto [runs, to] : {std::pair{&maps.keys, &at.keys},
                          {&maps.successor, &at.successor},
                          {&maps.inter, &at.inter},
                          {&maps.successor_critical, &at.successor_critical},
                          {&maps.inter_critical, &at.inter_critical}}) {
    auto table =
        std::move(*runs).finish("dual_chunk", positions.axes(), positions.batch(), positions.tokens());
    if (!table) return table.status();
    *to = *std::move(table);
  }
  return at;
}

}  // namespace rotary
