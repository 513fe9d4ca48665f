// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which tokens of a sequence a rank of a context-parallel group holds. A shard is a list of segments, for
/// Positions::take and for cutting q, k and v alike; the shards of all ranks together are the sequence.
///
///     const auto mine = rotary::shard(Sharding::zigzag, tokens, rank, ranks).value();
///     const auto angles = rope.angles(Positions::range(0, tokens).take(mine).value()).value();
///
/// Eight tokens, two ranks:
///
///     contiguous   0 0 0 0 1 1 1 1
///     zigzag       0 0 1 1 1 1 0 0     rank r holds chunks r and 2 ranks - 1 - r of 2 ranks chunks
///     striped      0 1 0 1 0 1 0 1
#pragma once

#include <cstdint>
#include <optional>
#include <rotary/export.hpp>
#include <rotary/positions.hpp>
#include <rotary/status.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace rotary {

enum class Sharding : std::uint8_t {
  contiguous,  ///< one run a rank: ring attention without a causal mask, Ulysses
  zigzag,      ///< two runs a rank, of equal causal work: TransformerEngine, Megatron, Llama 3
  striped,     ///< every ranks-th token: striped attention
};
/// "contiguous", "zigzag", "striped".
ROTARY_API std::string_view name(Sharding sharding) noexcept;
ROTARY_API std::optional<Sharding> sharding_from_name(std::string_view word) noexcept;

/// The tokens of `rank`, in order. Every rank holds the same number. Errors: rank not in [0, ranks), tokens
/// negative or no multiple of the ranks (zigzag: of twice the ranks).
ROTARY_API Result<std::vector<TokenSegment>> shard(Sharding sharding, std::int64_t tokens, std::int64_t rank,
                                                   std::int64_t ranks);

/// The same for packed documents, each of which is cut by itself: document s has the tokens cu_seqlens[s] ...
/// cu_seqlens[s + 1] - 1. Errors: also a cu_seqlens that does not begin with 0 or falls.
ROTARY_API Result<std::vector<TokenSegment>> shard(Sharding sharding,
                                                   std::span<const std::int64_t> cu_seqlens,
                                                   std::int64_t rank, std::int64_t ranks);

}  // namespace rotary
