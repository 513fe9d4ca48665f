// SPDX-License-Identifier: Apache-2.0
// Most calls take a short way through validation. Whatever is accepted, by either way, is free of overlap: every
// element's address is counted.
#include <gtest/gtest.h>

#include <random>
#include <rotary/rope.hpp>
#include <set>
#include <vector>

namespace rotary {
namespace {

constexpr std::int64_t head_dim = 4;

Rope rope() { return Rope::make({.spectrum = Spectrum::make({.rotary_dim = head_dim}).value()}).value(); }

HeadsShape random_shape(std::mt19937& random, std::int64_t batch, std::int64_t tokens) {
  HeadsShape shape = HeadsShape::contiguous(random() % 2 ? Layout::bthd : Layout::bhtd, DType::f32, batch,
                                            tokens, static_cast<std::int64_t>(random() % 4), head_dim);
  for (std::int64_t* stride :
       {&shape.batch_stride, &shape.token_stride, &shape.head_stride, &shape.lane_stride}) {
    if (random() % 3 == 0) *stride += static_cast<std::int64_t>(random() % 9) - 4;
    if (random() % 20 == 0) *stride = -*stride;
  }
  return shape;
}

std::vector<std::int64_t> offsets(const HeadsShape& s) {
  std::vector<std::int64_t> all;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      for (std::int64_t h = 0; h < s.heads; ++h) {
        for (std::int64_t lane = 0; lane < s.head_dim; ++lane) {
          all.push_back(b * s.batch_stride + t * s.token_stride + h * s.head_stride + lane * s.lane_stride);
        }
      }
    }
  }
  return all;
}

TEST(Quick, AcceptsNothingThatOverlaps) {
  std::mt19937 random(3);
  std::vector<float> memory(40000, 1.0f);
  int accepted = 0, refused = 0, ran = 0, stopped = 0;
  const Rope turn = rope();
  const auto angles = turn.angles(Positions::range(5, 9)).value();
  for (int round = 0; round < 40000; ++round) {
    const auto batch = static_cast<std::int64_t>(random() % 3),
               tokens = static_cast<std::int64_t>(random() % 4);
    const HeadsShape q = random_shape(random, batch, tokens), k = random_shape(random, batch, tokens);
    const auto plan = turn.plan(q, k);
    const auto q_at = offsets(q), k_at = offsets(k);
    if (!plan) {
      ++refused;
      continue;
    }
    ++accepted;
    const std::set<std::int64_t> q_set(q_at.begin(), q_at.end()), k_set(k_at.begin(), k_at.end());
    ASSERT_EQ(q_set.size(), q_at.size());
    ASSERT_EQ(k_set.size(), k_at.size());
    float* at = memory.data() + 20000;
    const std::int64_t apart = static_cast<std::int64_t>(random() % 100) - 50;
    const bool ok = plan->run(angles, Heads{at, q}, Heads{at + apart, k}).ok();
    EXPECT_EQ(turn.rotate(angles, Heads{at, q}, Heads{at + apart, k}).ok(), ok);
    (ok ? ran : stopped)++;
    if (!ok) continue;
    for (const std::int64_t offset : k_at) ASSERT_FALSE(q_set.contains(offset + apart));
  }
  // Each way was taken often.
  EXPECT_GT(accepted, 5000);
  EXPECT_GT(refused, 5000);
  EXPECT_GT(ran, 2000);
  EXPECT_GT(stopped, 500);
}

TEST(Quick, ShapesThatArePlannedButNotGiven) {
  const Rope turn = rope();
  const auto angles = turn.angles(Positions::range(0, 2)).value();
  std::vector<float> a(64), b(64);
  const Heads q = thd(a.data(), 2, 2, head_dim), k = thd(b.data(), 2, 1, head_dim);
  const auto plan = turn.plan(q.shape, k.shape).value();
  ASSERT_TRUE(plan.run(angles, q, k).ok());
  for (std::int64_t HeadsShape::*number :
       {&HeadsShape::batch, &HeadsShape::tokens, &HeadsShape::heads, &HeadsShape::head_dim,
        &HeadsShape::batch_stride, &HeadsShape::token_stride, &HeadsShape::head_stride,
        &HeadsShape::lane_stride}) {
    Heads other_q = q, other_k = k;
    other_q.shape.*number += 1;
    other_k.shape.*number -= 1;
    EXPECT_EQ(plan.run(angles, other_q, k).message(), "q: shape or strides differ from the planned ones");
    EXPECT_EQ(plan.run(angles, q, other_k).message(), "k: shape or strides differ from the planned ones");
  }
  Heads half = q;
  half.shape.dtype = DType::f16;
  EXPECT_EQ(plan.run(angles, half, k).message(), "q: shape or strides differ from the planned ones");
}

}  // namespace
}  // namespace rotary
