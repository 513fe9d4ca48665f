// SPDX-License-Identifier: Apache-2.0
#include <rotary/shards.hpp>

#include "support.hpp"

namespace rotary {
namespace {

using testing::expect_invalid;
using testing::Ids;
using testing::int64_max;
using Segments = std::vector<TokenSegment>;

TEST(Shard, Segments) {
  EXPECT_EQ(shard(Sharding::contiguous, 8, 1, 2).value(), (Segments{{4, 4}}));
  EXPECT_EQ(shard(Sharding::zigzag, 8, 0, 2).value(), (Segments{{0, 2}, {6, 2}}));
  EXPECT_EQ(shard(Sharding::zigzag, 8, 1, 2).value(), (Segments{{2, 2}, {4, 2}}));
  EXPECT_EQ(shard(Sharding::striped, 8, 1, 2).value(), (Segments{{1, 4, 2}}));
  EXPECT_EQ(shard(Sharding::zigzag, 131072, 3, 8).value(), (Segments{{24576, 8192}, {98304, 8192}}));
  EXPECT_TRUE(shard(Sharding::zigzag, 0, 1, 2).value().empty());
}

TEST(Shard, OfPackedDocuments) {
  EXPECT_EQ(shard(Sharding::zigzag, Ids{0, 4, 4, 12}, 1, 2).value(),
            (Segments{{1, 1}, {2, 1}, {6, 2}, {8, 2}}));
  EXPECT_EQ(shard(Sharding::striped, Ids{0, 4, 8}, 0, 2).value(), (Segments{{0, 2, 2}, {4, 2, 2}}));
  EXPECT_TRUE(shard(Sharding::striped, Ids{0}, 0, 2).value().empty());
}

TEST(Shard, OneRankHoldsAll) {
  const Positions p = Positions::range(0, 12);
  for (const auto how : {Sharding::contiguous, Sharding::zigzag, Sharding::striped}) {
    EXPECT_EQ(p.take(shard(how, 12, 0, 1).value()).value(), p) << name(how);
  }
}

TEST(Shard, Refuses) {
  expect_invalid(shard(Sharding::zigzag, 6, 0, 2),
                 "shard: document 0 of 6 tokens: zigzag over 2 ranks needs a multiple of 4; pad it with 2");
  expect_invalid(shard(Sharding::striped, Ids{0, 4, 9}, 0, 2),
                 "shard: document 1 of 5 tokens: striped over 2 ranks needs a multiple of 2; pad it with 1");
  expect_invalid(shard(Sharding::contiguous, 8, 2, 2), "shard: rank 2: must be 0 to 1");
  expect_invalid(shard(Sharding::contiguous, 8, -1, 2), "shard: rank -1: must be 0 to 1");
  expect_invalid(shard(Sharding::contiguous, 8, 0, 0), "shard: ranks 0, expected 1 to 2147483647");
  expect_invalid(shard(Sharding::zigzag, 8, 0, int64_max),
                 "shard: ranks 9223372036854775807, expected 1 to 2147483647");
  expect_invalid(shard(Sharding::contiguous, -8, 0, 2), "shard: tokens -8: must not be negative");
  expect_invalid(shard(Sharding::contiguous, Ids{0, 4, 2}, 0, 2),
                 "cu_seqlens[2]: 2, expected at least 4 as before it");
}

TEST(Sharding, HasNames) {
  for (const auto word : {"contiguous", "zigzag", "striped"})
    EXPECT_EQ(name(*sharding_from_name(word)), word);
  EXPECT_FALSE(sharding_from_name("ring"));
}

}  // namespace
}  // namespace rotary
