// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <rotary/classic.hpp>
#include <thread>
#include <vector>

#include "support/status_matchers.hpp"

namespace rotary::testing {
namespace {

using namespace classic;

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

TEST(RotaryEmbedding, BothHalvesHoldTheSameRow) {
  const auto rotary_emb = palm::RotaryEmbedding::make(4, 2000).value();
  const auto [cos, sin] = rotary_emb(1501).value();
  EXPECT_EQ(cos.rows, 1501);
  EXPECT_EQ(sin.width, 4);
  // Angles 1500 and 15.
  const double expected_cos[] = {-0.1102674025, -0.7596879129},
               expected_sin[] = {-0.9939019569, 0.6502878402};
  for (std::size_t lane = 0; lane < 4; ++lane) {
    EXPECT_NEAR(static_cast<double>(cos[1500][lane]), expected_cos[lane % 2], 1e-6) << lane;
    EXPECT_NEAR(static_cast<double>(sin[1500][lane]), expected_sin[lane % 2], 1e-6) << lane;
  }
}

TEST(RotaryEmbedding, GrowsAndKeepsWhatItGave) {
  const auto rotary_emb = palm::RotaryEmbedding::make(8).value();
  EXPECT_EQ(rotary_emb.max_seq_len_cached(), 2048);
  const auto before = rotary_emb(2048).value();
  const std::vector<float> row(before.cos[2047].begin(), before.cos[2047].end());
  const auto copy = rotary_emb;
  const auto after = copy(5000).value();
  EXPECT_EQ(rotary_emb.max_seq_len_cached(), 5000);  // copies share the cache
  EXPECT_TRUE(same_bits(before.cos[2047], row));
  const auto fresh = palm::RotaryEmbedding::make(8, 5000).value()(5000).value();
  for (std::int64_t p = 0; p < 5000; ++p) {
    ASSERT_TRUE(same_bits(after.cos[p], fresh.cos[p]) && same_bits(after.sin[p], fresh.sin[p])) << p;
  }
  const auto next = rotary_emb(5001).value();
  EXPECT_EQ(next.cos.rows, 5001);
  EXPECT_EQ(rotary_emb.max_seq_len_cached(), 7500);
}

TEST(RotaryEmbedding, ServesThreadsWhileItGrows) {
  const auto rotary_emb = palm::RotaryEmbedding::make(8, 16).value();
  const auto expected = palm::RotaryEmbedding::make(8, 3000).value()(3000).value();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 16; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int call = 0; call < 60; ++call) {
        const auto seq_len = 1 + static_cast<std::int64_t>(random() % 3000);
        const auto [cos, sin] = rotary_emb(seq_len).value();
        for (const std::int64_t p : {std::int64_t{0}, seq_len / 2, seq_len - 1}) {
          if (cos.rows != seq_len || !same_bits(cos[p], expected.cos[p]) ||
              !same_bits(sin[p], expected.sin[p])) {
            ++wrong;
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(RotaryEmbedding, RefusesWhatHasNoTable) {
  EXPECT_FAILS(palm::RotaryEmbedding::make(7), StatusCode::invalid_argument, "rotary_dim 7");
  EXPECT_FAILS(palm::RotaryEmbedding::make(8, 4, NAN), StatusCode::invalid_argument, "base nan");
  EXPECT_FAILS(palm::RotaryEmbedding::make(8, -1), StatusCode::invalid_argument,
               "max_position_embeddings -1: must not be negative");
  EXPECT_FAILS(palm::RotaryEmbedding::make(8, std::int64_t{1} << 61), StatusCode::invalid_argument,
               "max_position_embeddings 2305843009213693952: that many rows of 8 do not fit in memory");
  const auto rotary_emb = palm::RotaryEmbedding::make(8, 4).value();
  EXPECT_FAILS(rotary_emb(-1), StatusCode::out_of_range, "rows 0:-1");
  EXPECT_FAILS(rotary_emb(std::int64_t{1} << 61), StatusCode::invalid_argument,
               "seq_len 2305843009213693952");
  EXPECT_EQ(rotary_emb.max_seq_len_cached(), 4);
}

TEST(RotateHalf, IsAQuarterTurn) {
  std::vector<float> x = {1, 2, 3, 4};
  ASSERT_SUCCEEDS(palm::rotate_half(bhtd(x.data(), 1, 1, 1, 4)));
  EXPECT_EQ(x, (std::vector<float>{-3, -4, 1, 2}));
  EXPECT_FAILS(palm::rotate_half(bhtd(x.data(), 1, 1, 1, 3)), StatusCode::invalid_argument,
               "rotate_half: head_dim 3: must be even, from 2 to 8192");
}

struct ApplyRotaryPosEmb : ::testing::Test {
  std::vector<float> q = {1, 2, 3, 4, 5, 6, 7, 8}, k = q;
  Heads q_heads = bhtd(q.data(), 2, 1, 1, 4), k_heads = bhtd(k.data(), 2, 1, 1, 4);
  Table<float> table(const std::vector<float>& rows, std::int64_t width) {
    return {{std::shared_ptr<void>(), rows.data()}, static_cast<std::int64_t>(rows.size()) / width, width};
  }
  Positions ids(std::vector<std::int64_t> of, std::int64_t batch) {
    return Positions::ids(std::span<const std::int64_t>(of), batch,
                          static_cast<std::int64_t>(of.size()) / batch)
        .value();
  }
};

TEST_F(ApplyRotaryPosEmb, ReadsTheRowsThatTheIdsName) {
  const std::vector<float> cos = {1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2},
                           sin = {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0};
  ASSERT_SUCCEEDS(palm::apply_rotary_pos_emb(q_heads, k_heads, table(cos, 4), table(sin, 4), ids({2, 1}, 2)));
  EXPECT_EQ(q, (std::vector<float>{2, 4, 6, 8, -7, -8, 5, 6}));
  EXPECT_EQ(k, q);
}

TEST_F(ApplyRotaryPosEmb, RefusesTablesAndIdsThatDoNotFit) {
  const auto rotary_emb = palm::RotaryEmbedding::make(4, 8).value();
  const auto [cos, sin] = rotary_emb(8).value();
  const auto apply = [&](const Table<float>& c, const Table<float>& s, const Positions& p) {
    return palm::apply_rotary_pos_emb(q_heads, k_heads, c, s, p);
  };
  EXPECT_FAILS(apply(cos, sin.slice(0, 7).value(), ids({1, 2}, 2)), StatusCode::invalid_argument,
               "sin [7, 4]: expected [8, 4] as cos");
  EXPECT_FAILS(apply(cos, sin, ids({1, 8}, 2)), StatusCode::out_of_range,
               "position 8 of batch row 1, token 0: cos has the rows 0:8");
  EXPECT_FAILS(apply(cos, sin, ids({-1}, 1)), StatusCode::out_of_range, "position -1 of batch row 0");
  EXPECT_FAILS(apply(cos, sin, Positions::spaced(0.5, 1, 1).value()), StatusCode::out_of_range,
               "position 0.5");
  EXPECT_FAILS(apply(cos, sin, ids({1, 2}, 1)), StatusCode::invalid_argument,
               "position_ids [1, 1, 2]: expected [1, 1 or 2, 1] (axes, batch, tokens) as q");
  EXPECT_FAILS(apply(cos, sin, ids({1, 2, 3}, 3)), StatusCode::invalid_argument, "position_ids [1, 3, 1]");
  const std::vector<float> halves_differ = {1, 1, 1, 0.5f};
  EXPECT_FAILS(apply(table(halves_differ, 4), table(halves_differ, 4), ids({0}, 1)),
               StatusCode::invalid_argument, "must be equal");
  const auto wide = palm::RotaryEmbedding::make(6, 8).value()(8).value();
  EXPECT_FAILS(apply(wide.cos, wide.sin, ids({0}, 1)), StatusCode::invalid_argument,
               "q: head_dim 4, expected 6");
  EXPECT_EQ(q, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
}

}  // namespace
}  // namespace rotary::testing
