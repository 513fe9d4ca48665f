// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <rotary/attention.hpp>
#include <vector>

#include "support/status_matchers.hpp"

namespace rotary::testing {
namespace {

/// q [1, 2, 4, 4], k [1, 3, 2, 4], v [1, 3, 2, 6], out [1, 2, 4, 6]: fits, until a test bends it.
struct AttendRefuses : ::testing::Test {
  Rope rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = 4}).value()}).value();
  std::vector<float> memory = std::vector<float>(256, 1.0f);
  Heads q = bthd(memory.data(), 1, 2, 4, 4), k = bthd(memory.data() + 32, 1, 3, 2, 4);
  Heads v = bthd(memory.data() + 64, 1, 3, 2, 6), out = bthd(memory.data() + 128, 1, 2, 4, 6);
  AttentionOptions options;

  Status run() const { return attend(rope, q, k, v, out, options); }
  void TearDown() override { EXPECT_EQ(memory, std::vector<float>(256, 1.0f)); }
};

TEST_F(AttendRefuses, OtherElementTypes) {
  q.shape.dtype = DType::bf16;
  EXPECT_FAILS(run(), StatusCode::unsupported, "q: dtype bf16, expected f32 or f64");
  q.shape.dtype = DType::f64;
  EXPECT_FAILS(run(), StatusCode::invalid_argument,
               "k: f32 with batch 1 and head_dim 4, expected f64 with batch 1 and head_dim 4 as q");
  q.shape.dtype = DType::f32;
  v.shape.dtype = DType::f64;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "v: f64 [1, 3, 2, 6], expected f32 [1, 3, 2, 6]");
}

TEST_F(AttendRefuses, PointersThatAreNotAligned) {
  v.data = reinterpret_cast<char*>(memory.data()) + 257;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "v: pointer is not a multiple of the 4 bytes of f32");
}

TEST_F(AttendRefuses, HeadsThatDoNotFormGroups) {
  q.shape.heads = out.shape.heads = 3;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "q has 3 heads and k 2: must divide evenly");
  q.shape.heads = out.shape.heads = 4;
  k.shape.heads = v.shape.heads = 0;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "q has 4 heads and k 0");
}

TEST_F(AttendRefuses, ShapesThatDoNotFit) {
  q.shape.head_dim = 5;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "q: head_dim 5, expected the rope's 4");
  q.shape.head_dim = 4;
  k.shape.batch = 2;
  EXPECT_FAILS(run(), StatusCode::invalid_argument,
               "k: f32 with batch 2 and head_dim 4, expected f32 with batch 1");
  k.shape.batch = 1;
  v.shape.tokens = 2;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "v: f32 [1, 2, 2, 6], expected f32 [1, 3, 2, 6]");
  v.shape.tokens = 3;
  out.shape.head_dim = 4;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "out: f32 [1, 2, 4, 4], expected f32 [1, 2, 4, 6]");
  out.shape.head_dim = 6;
  k.shape.tokens = -1;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "k: [1, -1, 2, 4]: no extent may be negative");
}

TEST_F(AttendRefuses, MemoryThatCannotBe) {
  v.data = nullptr;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "v: null pointer");
  v.data = memory.data() + 64;
  q.data = nullptr;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "q: null pointer");
  q.data = memory.data();
  out.shape.token_stride = std::numeric_limits<std::int64_t>::max();
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "out: these strides reach beyond 2^63 bytes");
  out.shape.token_stride = 1;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "out: these strides make elements overlap");
  out.shape.token_stride = 24;
  k.shape.head_stride = std::numeric_limits<std::int64_t>::min();
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "k: these strides reach beyond 2^63 bytes");
  k.shape.head_stride = 4;
  q.shape.tokens = out.shape.tokens = std::int64_t{1}
                                      << 50;  // repeats one token, so the view itself is small
  q.shape.token_stride = 0;
  EXPECT_FAILS(run(), StatusCode::invalid_argument,
               "q: a copy of 4503599627370496 rows does not fit in memory");
}

TEST_F(AttendRefuses, AnOutputThatOverlapsAnInput) {
  out.data = memory.data() + 31;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "out overlaps q");
  out.data = memory.data() + 55;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "out overlaps k");
  out.data = memory.data() + 99;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "out overlaps v");
}

TEST_F(AttendRefuses, PositionsThatDoNotFit) {
  options.q_positions = Positions::range(0, 1);
  EXPECT_FAILS(run(), StatusCode::invalid_argument,
               "q_positions: batch 1 and tokens 1, expected batch 1 or 1 and tokens 2");
  options.q_positions = Positions::range(0, 2);
  const std::vector<std::int64_t> starts = {0, 1};
  options.k_positions = Positions::offsets(starts, 3).value();
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "k_positions: batch 2 and tokens 3, expected batch 1");

  const std::vector<float> ones(4, 1.0f), zeros(4, 0.0f);
  rope = Rope::from_table({ones, zeros, 2, 2}, {.spectrum = {}}).value();  // rows 0 and 1
  options.k_positions = Positions::range(0, 3);
  EXPECT_FAILS(run(), StatusCode::out_of_range, "k_positions: position 2");
}

TEST_F(AttendRefuses, AScaleThatIsNoNumber) {
  options.scale = NAN;
  EXPECT_FAILS(run(), StatusCode::invalid_argument, "scale nan: must be finite");
}

}  // namespace
}  // namespace rotary::testing
