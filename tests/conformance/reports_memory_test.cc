// SPDX-License-Identifier: Apache-2.0
// Reports about strides, in-place work and stray writes.
#include <sys/mman.h>
#include <unistd.h>

#include "reports.hpp"

namespace rotary::testing {
namespace {

TEST(Report135, ASliceOfAWideRowEqualsAPackedCopy) {
  const Rope rope = plain_rope(64);
  const Tensor wide = random_tensor(dense(DType::bf16, 2, 5, 3, 576), 1);
  Tensor slice = wide;
  slice.first += 128;
  slice.shape.head_dim = 64;  // lanes 128 to 191 of each row
  const Tensor packed = arranged(slice, dense(DType::bf16, 2, 5, 3, 64));
  const Positions positions = Positions::range(1000, 1005);
  const Tensor out = turned(rope, positions, slice);
  EXPECT_TRUE(same_bits(out, turned(rope, positions, packed)));
  EXPECT_TRUE(guards_untouched(slice, out));
}

TEST(Report137, InPlaceEqualsOutOfPlaceAndOtherOverlapsAreRefused) {
  const Rope rope = plain_rope(64);
  const Tensor x = random_tensor(dense(DType::f32, 1, 6, 2, 64), 2);
  const Angles angles = rope.angles(Positions::range(700, 706)).value();
  Tensor out(x.shape);
  EXPECT_SUCCEEDS(rope.rotate(angles, {x.heads(), out.heads()}));
  EXPECT_TRUE(same_bits(out, turned(rope, Positions::range(700, 706), x)));

  Tensor memory = random_tensor(dense(DType::f32, 1, 7, 2, 64), 3);
  const Tensor before = memory;
  Heads first = memory.heads(), second = first;
  first.shape.tokens = second.shape.tokens = 6;
  second.data = memory.at({0, 1, 0}, 0);
  EXPECT_FAILS(rope.rotate(angles, {first, second}), StatusCode::invalid_argument,
               "q: output overlaps the input");
  EXPECT_EQ(memory.memory, before.memory);
}

TEST(Report138, ManyQueryHeadsAndOneKeyHeadOfWideRows) {
  const Rope rope = plain_rope(64);
  HeadsShape q_shape = dense(DType::bf16, 1, 8, 64, 64), k_shape = dense(DType::bf16, 1, 8, 1, 64);
  q_shape.token_stride = 16384;
  q_shape.head_stride = 256;
  k_shape.token_stride = 2624;
  const Tensor q = random_tensor(q_shape, 4), k = random_tensor(k_shape, 5);
  Tensor q_out = q, k_out = k;
  const Positions positions = Positions::range(600, 608);
  EXPECT_SUCCEEDS(rope.rotate(rope.angles(positions).value(), q_out.heads(), k_out.heads()));
  EXPECT_TRUE(same_bits(q_out, turned(rope, positions, arranged(q, dense(DType::bf16, 1, 8, 64, 64)))));
  EXPECT_TRUE(same_bits(k_out, turned(rope, positions, arranged(k, dense(DType::bf16, 1, 8, 1, 64)))));
  EXPECT_TRUE(guards_untouched(q, q_out));
  EXPECT_TRUE(guards_untouched(k, k_out));
}

TEST(Report139, OddWidthsTouchNothingBehindThem) {
  for (const std::int64_t rotary_dim : {6, 10, 20, 48, 80, 96}) {
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved, Pairing::interleaved_to_half}) {
      const Rope rope = plain_rope(rotary_dim, {.pairing = pairing, .head_dim = rotary_dim + 3});
      for (const DType dtype : rotatable) {
        const Tensor x = random_tensor(dense(dtype, 1, 2, 3, rotary_dim + 3), 6);
        for (const std::string& kernel : kernels_for(rope, x.shape)) {
          const Tensor out = turned(rope, Positions::range(800, 802), x, {.kernel = kernel});
          EXPECT_TRUE(outside_kept(rope, x, out)) << kernel << ' ' << rotary_dim;
          EXPECT_TRUE(guards_untouched(x, out)) << kernel << ' ' << rotary_dim;
        }
      }
    }
  }
}

TEST(Report141, OutOfPlaceLeavesTheInput) {
  const Rope rope = plain_rope(64);
  const Tensor x = random_tensor(dense(DType::f32, 1, 3, 2, 64), 7), before = x;
  Tensor out(x.shape);
  EXPECT_SUCCEEDS(rope.rotate(rope.angles(Positions::range(900, 903)).value(), {x.heads(), out.heads()}));
  EXPECT_EQ(x.memory, before.memory);
}

TEST(Report142, TwoLayersForwardAndBackwardOnOneBuffer) {
  const Rope rope = plain_rope(64, {.pairing = Pairing::interleaved_to_half});
  const Rope layers[] = {rope, plain_rope(64)};
  const Positions positions = Positions::range(4000, 4004);
  const Tensor x = random_tensor(dense(DType::f32, 1, 4, 2, 64), 8);
  Tensor buffer = x, apart = x;
  const auto step = [&](const Rope& with) {
    const Angles angles = with.angles(positions).value();
    EXPECT_SUCCEEDS(with.rotate(angles, buffer.heads()));
    Tensor next(x.shape);
    EXPECT_SUCCEEDS(with.rotate(angles, {apart.heads(), next.heads()}));
    apart = next;
  };
  for (const Rope& layer : layers) step(layer);
  for (const Rope* layer : {&layers[1], &layers[0]}) step(layer->gradient());
  EXPECT_TRUE(same_bits(buffer, apart));
  double worst = 0;  // the transpose of a rotation undoes it
  for_each_head(x.shape, [&](HeadIndex h) {
    for (std::int64_t lane = 0; lane < 64; ++lane)
      worst = std::max(worst, std::abs(buffer.get(h, lane) - x.get(h, lane)));
  });
  EXPECT_LT(worst, 4e-6);
}

TEST(Report143, StridesOfAxesOfOneDoNotMatter) {
  const Rope rope = plain_rope(64);
  const Tensor x = random_tensor(dense(DType::f32, 1, 1, 1, 64), 9);
  const Tensor expected = turned(rope, at(777), x);
  for (const std::int64_t stride : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-5}, INT64_MAX}) {
    Tensor odd = x;
    odd.shape.batch_stride = odd.shape.token_stride = odd.shape.head_stride = stride;
    EXPECT_TRUE(same_bits(turned(rope, at(777), odd), expected)) << stride;
  }
}

TEST(Report145, TheTableBelongsToTheRope) {
  std::vector<float> cos(4, 0.6F), sin(4, 0.8F);
  const Rope rope = Rope::from_table({.cos = cos, .sin = sin, .rows = 1, .width = 4}, {}).value();
  const Tensor x = random_tensor(dense(DType::f32, 1, 1, 1, 8), 10), before = turned(rope, at(0), x);
  cos.assign(4, 77);
  sin.assign(4, 77);
  EXPECT_TRUE(same_bits(turned(rope, at(0), x), before));
}

/// Pages between two that may not be touched.
class FencedPages {
 public:
  explicit FencedPages(std::size_t pages)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), size_((pages + 2) * page_) {
    void* at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(at);
    if (mprotect(begin() - page_, page_, PROT_NONE) != 0 || mprotect(end(), page_, PROT_NONE) != 0) {
      throw std::runtime_error("mprotect");
    }
  }
  FencedPages(const FencedPages&) = delete;
  FencedPages& operator=(const FencedPages&) = delete;
  ~FencedPages() { munmap(memory_, size_); }
  std::byte* begin() const { return memory_ + page_; }
  std::byte* end() const { return memory_ + size_ - page_; }

 private:
  std::size_t page_, size_;
  std::byte* memory_ = nullptr;
};

// Data that ends at, and that begins behind, a page which may not be read.
TEST(Report146, NothingIsReadPastTheDataOrTheRows) {
  for (const std::int64_t rotary_dim : {2, 6, 80, 96}) {
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved, Pairing::interleaved_to_half}) {
      const Rope rope = plain_rope(rotary_dim, {.pairing = pairing});
      const Angles angles = rope.angles(Positions::range(650, 653)).value();
      for (const DType dtype : rotatable) {
        const Tensor x = random_tensor(dense(dtype, 1, 3, 2, rotary_dim), 11);
        const std::size_t bytes = static_cast<std::size_t>(6 * rotary_dim) * size_of(dtype);
        const FencedPages pages(bytes / 4096 + 1);
        for (std::byte* data : {pages.begin(), pages.end() - bytes}) {
          for (const std::string& kernel : kernels_for(rope, x.shape)) {
            std::memcpy(data, x.data(), bytes);
            EXPECT_SUCCEEDS(rope.rotate(angles, Heads{data, x.shape}, {.kernel = kernel}));
            const Tensor expected = turned(rope, Positions::range(650, 653), x, {.kernel = kernel});
            EXPECT_EQ(std::memcmp(data, expected.data(), bytes), 0) << kernel;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace rotary::testing
