// SPDX-License-Identifier: Apache-2.0
// Reports about packed sequences and context parallelism.
#include <rotary/shards.hpp>

#include "reports.hpp"

namespace rotary::testing {
namespace {

using Ids = std::vector<std::int64_t>;

Ids wholes(const Positions& p, std::int64_t axis = 0) {
  Ids all;
  for (std::int64_t t = 0; t < p.tokens(); ++t) all.push_back(p.at(axis, 0, t).whole);
  return all;
}
/// Lanes of a rope for one or three axes.
Rope rope_of(std::int64_t axes) {
  SpectrumOptions options{.rotary_dim = 64, .base = 10000};
  if (axes == 3) options.axis_sections = {8, 12, 12};
  return Rope::make({.spectrum = Spectrum::make(options).value()}).value();
}
TEST(Report177, ARankTakesItsTokensOfEachPackedSequence) {
  const Ids cu_seqlens{0, 4, 8};
  const Positions packed = Positions::packed(cu_seqlens).value(), of_the_row = Positions::range(0, 8);
  const auto first = shard(Sharding::zigzag, cu_seqlens, 0, 2).value();
  const auto second = shard(Sharding::zigzag, cu_seqlens, 1, 2).value();
  EXPECT_EQ(wholes(of_the_row.take(first).value()), (Ids{0, 3, 4, 7}));
  EXPECT_EQ(wholes(packed.take(first).value()), (Ids{0, 3, 0, 3}));
  EXPECT_EQ(wholes(of_the_row.take(second).value()), (Ids{1, 2, 5, 6}));
  EXPECT_EQ(wholes(packed.take(second).value()), (Ids{1, 2, 1, 2}));
}

TEST(Report178, AFragmentMayBeginElsewhere) {
  const Ids cu_seqlens{0, 128, 192}, starts{0, 128};
  EXPECT_EQ(Positions::packed(cu_seqlens, starts).value(), Positions::range(0, 192));
}

TEST(Report179, ShardsPutTogetherAreTheWholeToTheBit) {
  for (const std::int64_t axes : {1, 3}) {
    const Rope rope = rope_of(axes);
    const Positions row = Positions::range(131000, 131032);
    const Positions whole =
        axes == 1
            ? row
            : Positions::axes({row, Positions::range(0, 32), Positions::spaced(500, -3, 32).value()}).value();
    const Tensor x = random_tensor(dense(DType::bf16, 1, 32, 2, 64), 179);
    const Tensor expected = turned(rope, whole, x);
    for (const Sharding how : {Sharding::contiguous, Sharding::zigzag, Sharding::striped}) {
      for (std::int64_t rank = 0; rank < 4; ++rank) {
        const auto mine = shard(how, 32, rank, 4).value();
        EXPECT_TRUE(same_bits(turned(rope, whole.take(mine).value(), take_tokens(x, mine)),
                              take_tokens(expected, mine)))
            << name(how) << " rank " << rank;
      }
    }
  }
}

TEST(Report181, EachPackedPromptBeginsAtZero) {
  const Ids cu_seqlens{0, 700, 700, 703};  // the second has no tokens
  const Rope rope = rope_of(1);
  const Tensor x = random_tensor(dense(DType::f16, 1, 703, 1, 64), 181);
  const Tensor out = turned(rope, Positions::packed(cu_seqlens).value(), x);
  for (std::size_t s = 0; s + 1 < cu_seqlens.size(); ++s) {
    const std::int64_t tokens = cu_seqlens[s + 1] - cu_seqlens[s];
    if (tokens == 0) continue;
    EXPECT_TRUE(same_bits(
        cut_tokens(out, cu_seqlens[s], cu_seqlens[s + 1]),
        turned(rope, Positions::range(0, tokens), cut_tokens(x, cu_seqlens[s], cu_seqlens[s + 1]))));
  }
}

TEST(Report182, PadsBetweenSequencesLeaveTheTokensWhereTheyAre) {
  const Ids cu_seqlens{0, 5, 8}, padded{0, 8, 12};
  // One axis: the padded bounds alone; pads count on.
  const Positions packed = Positions::packed(padded).value();
  EXPECT_EQ(wholes(packed), (Ids{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3}));
  const std::vector<TokenSegment> real{{0, 5}, {8, 3}};
  EXPECT_EQ(packed.take(real).value(), Positions::packed(cu_seqlens).value());
  // Several axes: each document with pads of its own, which stand at 0.
  const Positions image =
      Positions::grid({Positions::range(7, 8), Positions::range(7, 8), Positions::range(7, 12)}).value();
  const Positions text = Positions::range(0, 3).select_axes({0, 0, 0}).value();
  const Positions rows =
      Positions::concatenate({image.padded(0, 3).value(), text.padded(0, 1).value()}).value();
  EXPECT_EQ(rows.take(real).value(), Positions::concatenate({image, text}).value());
  EXPECT_EQ(wholes(rows, 2), (Ids{7, 8, 9, 10, 11, 0, 0, 0, 0, 1, 2, 0}));
}

TEST(Report183, StartsWorkForwardAndBackward) {
  const Ids cu_seqlens{0, 4, 9}, starts{4096, 17};
  const Positions positions = Positions::packed(cu_seqlens, starts).value();
  EXPECT_EQ(wholes(positions), (Ids{4096, 4097, 4098, 4099, 17, 18, 19, 20, 21}));
  const Rope rope = rope_of(1);
  const Tensor x = random_tensor(dense(DType::f32, 1, 9, 2, 64), 183);
  // Without an attention factor the gradient is the inverse, at the same positions.
  const Tensor gradient = turned(rope.gradient(), positions, x);
  EXPECT_TRUE(same_bits(gradient, turned(rope.inverse(), positions, x)));
  const Tensor back = turned(rope.gradient(), positions, turned(rope, positions, x));
  for_each_head(x.shape, [&](HeadIndex h) {
    for (std::int64_t lane = 0; lane < 64; ++lane) EXPECT_NEAR(back.get(h, lane), x.get(h, lane), 2e-6);
  });
  for (std::int64_t t = 0; t < 9; ++t) {
    const std::int64_t p = wholes(positions)[static_cast<std::size_t>(t)];
    EXPECT_TRUE(
        same_bits(cut_tokens(gradient, t, t + 1), turned(rope.gradient(), at(p), cut_tokens(x, t, t + 1))));
  }
}

}  // namespace
}  // namespace rotary::testing
