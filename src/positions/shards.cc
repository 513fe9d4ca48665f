// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>
#include <rotary/shards.hpp>

#include "base/message.hpp"
#include "base/names.hpp"
#include "positions/cu_seqlens.hpp"

namespace rotary {
namespace {

using impl::invalid;

constexpr std::string_view names[] = {"contiguous", "zigzag", "striped"};

struct Rank {
  std::int64_t rank, ranks;
};

Status check_rank(Rank of) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (of.ranks < 1 || of.ranks > most) return invalid("shard: ranks ", of.ranks, ", expected 1 to ", most);
  if (of.rank >= 0 && of.rank < of.ranks) return {};
  return invalid("shard: rank ", of.rank, ": must be 0 to ", of.ranks - 1);
}

/// The segments of a document of `tokens` tokens that begins at `begin`; tokens is a multiple of the chunks.
void cut(Sharding sharding, std::int64_t begin, std::int64_t tokens, Rank of, std::vector<TokenSegment>& to) {
  if (tokens == 0) return;
  const auto [rank, ranks] = of;
  if (sharding == Sharding::zigzag) {
    const std::int64_t chunk = tokens / (2 * ranks);
    to.push_back({begin + rank * chunk, chunk});
    to.push_back({begin + (2 * ranks - 1 - rank) * chunk, chunk});
  } else if (sharding == Sharding::striped) {
    to.push_back({begin + rank, tokens / ranks, ranks});
  } else {
    to.push_back({begin + rank * (tokens / ranks), tokens / ranks});
  }
}

}  // namespace

std::string_view name(Sharding sharding) noexcept { return impl::name_at(names, sharding); }
std::optional<Sharding> sharding_from_name(std::string_view word) noexcept {
  return impl::find_name<Sharding>(names, word);
}

Result<std::vector<TokenSegment>> shard(Sharding sharding, std::int64_t tokens, std::int64_t rank,
                                        std::int64_t ranks) {
  if (tokens < 0) return invalid("shard: tokens ", tokens, ": must not be negative");
  return shard(sharding, std::array{std::int64_t{0}, tokens}, rank, ranks);
}

Result<std::vector<TokenSegment>> shard(Sharding sharding, std::span<const std::int64_t> cu_seqlens,
                                        std::int64_t rank, std::int64_t ranks) {
  if (Status status = check_rank({rank, ranks}); !status.ok()) return status;
  if (Status status = impl::check_cu_seqlens(cu_seqlens); !status.ok()) return status;
  const std::int64_t chunks = sharding == Sharding::zigzag ? 2 * ranks : ranks;
  std::vector<TokenSegment> segments;
  for (std::size_t s = 0; s + 1 < cu_seqlens.size(); ++s) {
    const std::int64_t tokens = cu_seqlens[s + 1] - cu_seqlens[s];
    if (tokens % chunks != 0) {
      return invalid("shard: document ", s, " of ", tokens, " tokens: ", name(sharding), " over ", ranks,
                     " ranks needs a multiple of ", chunks, "; pad it with ", chunks - tokens % chunks);
    }
    cut(sharding, cu_seqlens[s], tokens, {rank, ranks}, segments);
  }
  return segments;
}

}  // namespace rotary
