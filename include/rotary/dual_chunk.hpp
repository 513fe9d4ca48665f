// SPDX-License-Identifier: Apache-2.0
/// @file
/// Dual chunk attention (Qwen2.5-1M): no distance between a query and a key is ever beyond what the model was
/// trained with. Keys stand at their position within a chunk; a query is turned five times, for the keys of
/// its own chunk, of the one before and of all others.
///
///     const auto at = rotary::dual_chunk(Positions::range(0, tokens), chunk_size, local_size).value();
///     rope.rotate(rope.angles(at.keys).value(), k); ... rope.angles(at.successor) ... on copies of q
///
/// With c = chunk_size - local_size, for chunk_size 6 and local_size 2 (c = 4):
///
///     position            0 1 2 3 4 5 6 7 8
///     keys, intra         0 1 2 3 0 1 2 3 0     p mod c
///     successor           4 5 6 6 4 5 6 6 4     min(p mod c + c, chunk_size)
///     inter               6 6 6 6 6 6 6 6 6     min(2 c - 1, chunk_size)
///     successor_critical  4 5 6 7 4 5 6 7 4     p mod c + c
///     inter_critical      6 7 8 9 6 7 8 9 6     p mod c + chunk_size
#pragma once

#include <cstdint>
#include <rotary/export.hpp>
#include <rotary/positions.hpp>
#include <rotary/status.hpp>

namespace rotary {

struct DualChunk {
  Positions keys;                ///< of the keys, and of queries for keys of their own chunk
  Positions successor;           ///< of queries for keys of the chunk before
  Positions inter;               ///< of queries for keys of earlier chunks
  Positions successor_critical;  ///< as successor, without the bound: for sparse attention
  Positions inter_critical;      ///< as inter, by position
};

/// The five tables, of the shape of `positions`. Errors: chunk_size not over local_size, local_size negative, a
/// position that is not whole, more than 2^24 runs.
ROTARY_API Result<DualChunk> dual_chunk(const Positions& positions, std::int64_t chunk_size,
                                        std::int64_t local_size);

}  // namespace rotary
