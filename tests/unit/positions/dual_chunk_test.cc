// SPDX-License-Identifier: Apache-2.0
#include <rotary/dual_chunk.hpp>

#include "support.hpp"

namespace rotary {
namespace {

using testing::expect_invalid;
using testing::Ids;
using testing::Numbers;
using testing::numbers;

TEST(DualChunk, FiveMaps) {
  const DualChunk at = dual_chunk(Positions::range(0, 9), 6, 2).value();
  EXPECT_EQ(numbers(at.keys), (Numbers{0, 1, 2, 3, 0, 1, 2, 3, 0}));
  EXPECT_EQ(numbers(at.successor), (Numbers{4, 5, 6, 6, 4, 5, 6, 6, 4}));
  EXPECT_EQ(numbers(at.inter), Numbers(9, 6));
  EXPECT_EQ(numbers(at.successor_critical), (Numbers{4, 5, 6, 7, 4, 5, 6, 7, 4}));
  EXPECT_EQ(numbers(at.inter_critical), (Numbers{6, 7, 8, 9, 6, 7, 8, 9, 6}));
}

TEST(DualChunk, Qwen1M) {
  // chunk_size 262144, local_size 8192: c = 253952. By the formula at a few places.
  const DualChunk at = dual_chunk(Positions::range(0, 1000000), 262144, 8192).value();
  EXPECT_EQ(at.keys.at(0, 0, 999999).whole, 999999 % 253952);
  EXPECT_EQ(at.successor.at(0, 0, 8192).whole, 262144);
  EXPECT_EQ(at.successor.at(0, 0, 8193).whole, 262144);
  EXPECT_EQ(at.successor.at(0, 0, 253951).whole, 262144);
  EXPECT_EQ(at.successor.at(0, 0, 253952).whole, 253952);
  EXPECT_EQ(at.inter.at(0, 0, 5).whole, 262144);
  EXPECT_EQ(at.successor_critical.at(0, 0, 253951).whole, 507903);
  EXPECT_EQ(at.inter_critical.at(0, 0, 999999).whole, 999999 % 253952 + 262144);
}

TEST(DualChunk, OfAnyWholePositions) {
  const DualChunk at = dual_chunk(Positions::ids(Ids{7, -1, 3, 3, 12, 4}, 2, 3).value(), 6, 2).value();
  EXPECT_EQ(numbers(at.keys, 0, 0), (Numbers{3, 3, 3}));
  EXPECT_EQ(numbers(at.keys, 0, 1), (Numbers{3, 0, 0}));
  EXPECT_EQ(numbers(at.successor, 0, 1), (Numbers{6, 4, 4}));
  // Within a chunk short of the local window nothing is bounded.
  EXPECT_EQ(numbers(dual_chunk(Positions::range(0, 3), 100, 90).value().inter), Numbers(3, 19));
  EXPECT_EQ(dual_chunk(Positions(), 6, 2).value().inter.tokens(), 0);
}

TEST(DualChunk, Refuses) {
  expect_invalid(dual_chunk(Positions::range(0, 1), 6, -1),
                 "dual_chunk: local_size -1: must not be negative");
  expect_invalid(dual_chunk(Positions::range(0, 1), 6, 6),
                 "dual_chunk: chunk_size 6: must be over local_size 6 and at most 2^53");
  expect_invalid(dual_chunk(Positions::spaced(0, 0.5, 3).value(), 6, 2),
                 "dual_chunk: position 0.5: must be whole");
  expect_invalid(dual_chunk(Positions::range(0, std::int64_t{1} << 40), 6, 2),
                 "dual_chunk: more than 16777216 runs of positions");
}

}  // namespace
}  // namespace rotary
