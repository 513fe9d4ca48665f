// SPDX-License-Identifier: Apache-2.0
// Past the caches, the bits are those of the kernel, wherever the output lies, and nothing else is written.
#include "rotate/stream.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <rotary/rope.hpp>
#include <vector>

#include "base/caches.hpp"

namespace rotary::impl {
namespace {

struct alignas(stream_line) Line {
  unsigned char bytes[stream_line] = {};
};

struct Block {
  DType dtype;
  std::int64_t pairs, tokens, heads;
  bool head_major, adjacent;
  std::int64_t first;  // element of the output
};

std::vector<Line> out_of(const Block& b, bool past_caches) {
  const auto size = static_cast<std::int64_t>(size_of(b.dtype)), row = 2 * b.pairs;
  const std::int64_t gap = row + stream_line / size;  // between heads, so that writes beside them show
  const auto lines = static_cast<std::size_t>(b.tokens * b.heads * gap * size / stream_line + 2);
  std::vector<Line> in(lines), out(lines);
  std::vector<double> rows(static_cast<std::size_t>(b.tokens * row));
  for (std::size_t i = 0; i < lines * stream_line; i += 2) {
    const std::uint16_t half =
        static_cast<std::uint16_t>(0x3C00 + i * 37 % 0x500);  // any type: numbers near 1
    std::memcpy(reinterpret_cast<unsigned char*>(in.data()) + i, &half, 2);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double number = static_cast<double>(i % 19) / 19;
    const float narrow = static_cast<float>(number);
    b.dtype == DType::f64 ? std::memcpy(&rows[i], &number, 8)
                          : std::memcpy(reinterpret_cast<float*>(rows.data()) + i, &narrow, 4);
  }
  RotateArgs args{};
  args.operands = 1;
  args.dtype = b.dtype;
  args.in_lanes = args.out_lanes = b.adjacent ? Lanes::adjacent : Lanes::halves;
  args.tokens = b.tokens;
  args.pairs = b.pairs;
  args.rows = rows.data();
  const std::int64_t token = b.head_major ? gap : b.heads * gap, head = b.head_major ? b.tokens * gap : gap;
  args.operand[0] = {in.data(), reinterpret_cast<std::byte*>(out.data()) + b.first * size,
                     b.heads,   token,
                     head,      1,
                     token,     head,
                     1};
  const Kernel& kernel = best_kernel({b.dtype, args.in_lanes, args.out_lanes, b.pairs, true});
  past_caches ? rotate_past_caches(kernel, args) : kernel.rotate(args);
  return out;
}

TEST(Stream, HasTheBitsOfTheKernel) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t pairs :
         {16, 64, 512, 2048}) {  // the last: more than the buffer holds, but for 16 bits
      for (const std::int64_t heads : {1, 5, 11}) {
        for (const std::int64_t tokens : {1, 3, 11}) {
          for (const bool head_major : {false, true}) {
            for (const std::int64_t first : {0, 1}) {
              const Block b{dtype, pairs, tokens, heads, head_major, heads == 5, first};
              const auto got = out_of(b, true), want = out_of(b, false);
              ASSERT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(Line)), 0)
                  << name(dtype) << " pairs " << pairs << " heads " << heads << " tokens " << tokens
                  << " head-major " << head_major << " from " << first;
            }
          }
        }
      }
    }
  }
}

TEST(Stream, TakesOutputsOfWholeLines) {
  const auto shape = HeadsShape::contiguous(Layout::bthd, DType::bf16, 2, 5, 3, 96);
  EXPECT_TRUE(fills_lines(shape, 2));
  auto other = shape;
  other.token_stride += 16;
  EXPECT_FALSE(fills_lines(other, 2));
  other.tokens = 1;  // a stride that is not stepped by
  EXPECT_TRUE(fills_lines(other, 2));
  other.lane_stride = 2;
  EXPECT_FALSE(fills_lines(other, 2));
  EXPECT_FALSE(fills_lines(HeadsShape::contiguous(Layout::bthd, DType::bf16, 2, 5, 3, 80), 2));
}

TEST(Stream, ALargeOutputHasTheBitsOfOneInPlace) {
  const std::int64_t tokens = last_level_cache() / (2 * 4 * 8 * 128) + 1;
  if (tokens > 1 << 16) GTEST_SKIP() << "a cache of " << last_level_cache() << " bytes";
  const Rope rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = 128}).value()}).value();
  const Angles angles = rope.angles(Positions::range(700, 700 + tokens)).value();
  std::vector<float> x(static_cast<std::size_t>(tokens * 8 * 128)), memory(x.size() + 16);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1001) - 500;
  float* out = memory.data();
  while (reinterpret_cast<std::uintptr_t>(out) % stream_line != 0) ++out;
  rope.rotate(angles, {thd(x.data(), tokens, 8, 128), thd(out, tokens, 8, 128)}).value();
  rope.rotate(angles, thd(x.data(), tokens, 8, 128)).value();
  EXPECT_EQ(std::memcmp(out, x.data(), x.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace rotary::impl
