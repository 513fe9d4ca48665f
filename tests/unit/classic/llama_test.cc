// SPDX-License-Identifier: Apache-2.0
#include <rotary/classic.hpp>
#include <vector>

#include "support/status_matchers.hpp"

namespace rotary::testing {
namespace {

using namespace classic;
using Complex = std::complex<float>;

TEST(PrecomputeFreqsCis, IsTheUnitCircle) {
  const auto freqs_cis = llama::precompute_freqs_cis(8, 4096).value();
  EXPECT_EQ(freqs_cis.rows, 4096);
  EXPECT_EQ(freqs_cis.width, 4);
  for (const Complex& turn : freqs_cis[0]) EXPECT_EQ(turn, Complex(1, 0));
  // cos and sin of 2001, 200.1, 20.01 and 2.001; in fp32 the angle 200.1 is 6e-6 larger.
  const double expected[4][2] = {{-0.9811404994, 0.1932959401},
                                 {0.5719380188, -0.8202968381},
                                 {0.3989323575, 0.9169803565},
                                 {-0.4170559257, 0.9088808254}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(static_cast<double>(freqs_cis[2001][i].real()), expected[i][0], 2e-5) << i;
    EXPECT_NEAR(static_cast<double>(freqs_cis[2001][i].imag()), expected[i][1], 2e-5) << i;
    EXPECT_NEAR(static_cast<double>(std::abs(freqs_cis[4095][i])), 1.0, 1e-7) << i;
  }
}

TEST(PrecomputeFreqsCis, RefusesWhatHasNoTable) {
  EXPECT_FAILS(llama::precompute_freqs_cis(65, 4), StatusCode::invalid_argument, "rotary_dim 65");
  EXPECT_FAILS(llama::precompute_freqs_cis(64, 4, -1), StatusCode::invalid_argument, "base -1");
  EXPECT_FAILS(llama::precompute_freqs_cis(64, -1), StatusCode::invalid_argument,
               "end -1: must not be negative");
  EXPECT_FAILS(llama::precompute_freqs_cis(64, std::int64_t{1} << 60), StatusCode::invalid_argument,
               "end 1152921504606846976: that many rows of 32 do not fit in memory");
  EXPECT_EQ(llama::precompute_freqs_cis(64, 0).value().rows, 0);
}

TEST(FreqsCis, SlicesShareTheRows) {
  const auto freqs_cis = llama::precompute_freqs_cis(8, 100).value();
  const auto slice = freqs_cis.slice(90, 100).value();
  EXPECT_EQ(slice.rows, 10);
  EXPECT_EQ(slice[3].data(), freqs_cis[93].data());
  EXPECT_EQ(freqs_cis.slice(100, 100).value().rows, 0);
  EXPECT_FAILS(freqs_cis.slice(90, 101), StatusCode::out_of_range, "rows 90:101: the table has 0:100");
  EXPECT_FAILS(freqs_cis.slice(-1, 5), StatusCode::out_of_range, "rows -1:5");
  EXPECT_FAILS(freqs_cis.slice(6, 5), StatusCode::out_of_range, "rows 6:5");
}

TEST(ReshapeForBroadcast, OneRowATokenForEveryBatchRowAndHead) {
  const auto freqs_cis = llama::precompute_freqs_cis(8, 5).value();
  const auto x = HeadsShape::contiguous(Layout::bthd, DType::f32, 2, 5, 3, 8);
  const auto broadcast = llama::reshape_for_broadcast(freqs_cis, x).value();
  EXPECT_EQ(broadcast.shape, (std::array<std::int64_t, 4>{1, 5, 1, 4}));
  EXPECT_EQ(broadcast(1, 3, 2, 1), freqs_cis[3][1]);

  const auto longer = HeadsShape::contiguous(Layout::bthd, DType::f32, 2, 6, 3, 8);
  EXPECT_FAILS(llama::reshape_for_broadcast(freqs_cis, longer), StatusCode::invalid_argument,
               "freqs_cis [5, 4]: expected [tokens, head_dim / 2] of x, whose tokens are 6 and head_dim 8");
  const auto odd = HeadsShape::contiguous(Layout::bthd, DType::f32, 2, 5, 3, 9);
  EXPECT_FAILS(llama::reshape_for_broadcast(freqs_cis, odd), StatusCode::invalid_argument, "head_dim 9");
}

TEST(ApplyRotaryEmb, MultipliesComplexNumbers) {
  // Any numbers, not only the unit circle: (1 + 2i)(3 + 4i) = -5 + 10i, (5 + 6i)(-i) = 6 - 5i.
  const std::vector<Complex> turns = {{3, 4}, {0, -1}};
  const llama::FreqsCis freqs_cis{{std::shared_ptr<void>(), turns.data()}, 1, 2};
  std::vector<double> xq = {1, 2, 5, 6}, xk = {0, 1, 0, 1, 2, 0, 2, 0};  // xk has two heads
  ASSERT_SUCCEEDS(
      llama::apply_rotary_emb(bthd(xq.data(), 1, 1, 1, 4), bthd(xk.data(), 1, 1, 2, 4), freqs_cis));
  EXPECT_EQ(xq, (std::vector<double>{-5, 10, 6, -5}));
  EXPECT_EQ(xk, (std::vector<double>{-4, 3, 1, 0, 6, 8, 0, -2}));
}

TEST(ApplyRotaryEmb, RoundsSixteenBitsOnce) {
  const auto freqs_cis = llama::precompute_freqs_cis(2, 2).value().slice(1, 2).value();
  std::vector<bf16> xq = {to_bf16(1), to_bf16(0)}, xk = xq;
  ASSERT_SUCCEEDS(
      llama::apply_rotary_emb(bthd(xq.data(), 1, 1, 1, 2), bthd(xk.data(), 1, 1, 1, 2), freqs_cis));
  EXPECT_EQ(to_float(xq[0]), 0.5390625f);   // cos 1 = 0.54030 between 0.5390625 and 0.54296875
  EXPECT_EQ(to_float(xq[1]), 0.83984375f);  // sin 1 = 0.84147 between 0.83984375 and 0.84375
  EXPECT_EQ(xk, xq);
}

TEST(ApplyRotaryEmb, RefusesOperandsThatDoNotFit) {
  const auto freqs_cis = llama::precompute_freqs_cis(4, 3).value();
  std::vector<float> xq(12, 1.0f), xk(12, 1.0f);
  const auto apply = [&](Heads q, Heads k) { return llama::apply_rotary_emb(q, k, freqs_cis); };
  EXPECT_FAILS(apply(bthd(xq.data(), 1, 2, 1, 4), bthd(xk.data(), 1, 2, 1, 4)), StatusCode::invalid_argument,
               "whose tokens are 2 and head_dim 4");
  EXPECT_FAILS(apply(bthd(xq.data(), 1, 3, 1, 4), bthd(xk.data(), 1, 2, 1, 4)), StatusCode::invalid_argument,
               "k: f32 with batch 1 and tokens 2");
  EXPECT_FAILS(apply(bthd(xq.data(), 1, 3, 1, 4), bthd(xq.data(), 1, 3, 1, 4)), StatusCode::invalid_argument,
               "q and k overlap");
  EXPECT_EQ(xq, std::vector<float>(12, 1.0f));
  const auto none = freqs_cis.slice(3, 3).value();
  EXPECT_SUCCEEDS(llama::apply_rotary_emb(bthd(xq.data(), 1, 0, 1, 4), bthd(xk.data(), 1, 0, 1, 4), none));
  EXPECT_FAILS(llama::apply_rotary_emb(bthd(xq.data(), 1, 0, 1, 4), bthd(xk.data(), 1, 1, 1, 4), none),
               StatusCode::invalid_argument, "k: f32 with batch 1 and tokens 1");
}

}  // namespace
}  // namespace rotary::testing
