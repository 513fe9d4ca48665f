// SPDX-License-Identifier: Apache-2.0
#include "rotate/overlap.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace rotary::impl {
namespace {

TEST(Overlap, ViewsCutFromPackedQkvAreDisjoint) {
  std::vector<float> qkv(5 * 48 * 128);
  const auto row = 48 * 128;
  const Heads q = thd(qkv.data(), 5, 32, 128).with_token_stride(row);
  const Heads k = thd(qkv.data() + 32 * 128, 5, 8, 128).with_token_stride(row);
  const Heads v = thd(qkv.data() + 40 * 128, 5, 8, 128).with_token_stride(row);
  EXPECT_FALSE(overlap(q, k));
  EXPECT_FALSE(overlap(k, q));
  EXPECT_FALSE(overlap(q, v));
  EXPECT_FALSE(overlap(k, v));
  EXPECT_TRUE(overlap(q, q));
  const Heads one_lane_too_far = thd(qkv.data() + 32 * 128 - 1, 5, 8, 128).with_token_stride(row);
  EXPECT_TRUE(overlap(q, one_lane_too_far));
}

TEST(Overlap, HeadsInterleavedWithinATokenAreDisjoint) {
  std::vector<float> data(3 * 8 * 64);
  const Heads even = thd(data.data(), 3, 4, 64).with_head_stride(128).with_token_stride(512);
  const Heads odd = thd(data.data() + 64, 3, 4, 64).with_head_stride(128).with_token_stride(512);
  EXPECT_FALSE(overlap(even, odd));
}

TEST(Overlap, EmptyViewsOverlapNothing) {
  float x[8] = {};
  EXPECT_FALSE(overlap(thd(x, 0, 1, 8), thd(x, 1, 1, 8)));
}

TEST(Overlap, WithinOneView) {
  float x[64] = {};
  EXPECT_FALSE(overlaps_itself(thd(x, 2, 2, 8).shape));
  EXPECT_TRUE(overlaps_itself(thd(x, 2, 2, 8).with_head_stride(0).shape));
  EXPECT_TRUE(overlaps_itself(thd(x, 2, 2, 8).with_head_stride(7).shape));
  EXPECT_FALSE(overlaps_itself(thd(x + 8, 2, 2, 8).with_head_stride(-8).shape));
  EXPECT_FALSE(overlaps_itself(thd(x, 1, 2, 8).with_token_stride(0).shape));
}

/// Marks every element that a view covers, one flag an element.
void mark(const Heads& view, const float* base, std::vector<char>& flags) {
  const HeadsShape& s = view.shape;
  const auto start = static_cast<const float*>(view.data) - base;
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t t = 0; t < s.tokens; ++t)
      for (std::int64_t h = 0; h < s.heads; ++h)
        for (std::int64_t lane = 0; lane < s.head_dim; ++lane) {
          flags[static_cast<std::size_t>(start + b * s.batch_stride + t * s.token_stride + h * s.head_stride +
                                         lane * s.lane_stride)] = 1;
        }
}

TEST(Overlap, NeverMissesASharedElement) {
  std::mt19937 random(7);
  std::vector<float> data(4096);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  int disjoint = 0, shared = 0;
  for (int round = 0; round < 20000; ++round) {
    Heads view[2];
    std::vector<char> flags[2] = {std::vector<char>(data.size()), std::vector<char>(data.size())};
    for (int i = 0; i < 2; ++i) {
      HeadsShape shape{.dtype = DType::f32,
                       .batch = pick(1, 2),
                       .tokens = pick(1, 3),
                       .heads = pick(1, 3),
                       .head_dim = pick(1, 5)};
      shape.lane_stride = pick(-2, 2);
      shape.head_stride = pick(-12, 12);
      shape.token_stride = pick(-40, 40);
      shape.batch_stride = pick(-100, 100);
      view[i] = {data.data() + 2048 + pick(-60, 60), shape};
      mark(view[i], data.data(), flags[i]);
    }
    bool truth = false;
    for (std::size_t e = 0; e < data.size(); ++e) truth |= flags[0][e] && flags[1][e];
    if (truth) {
      EXPECT_TRUE(overlap(view[0], view[1])) << "round " << round;
    }
    (overlap(view[0], view[1]) ? shared : disjoint)++;
  }
  EXPECT_GT(disjoint, 1000);
  EXPECT_GT(shared, 1000);
}

}  // namespace
}  // namespace rotary::impl
