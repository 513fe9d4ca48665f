// SPDX-License-Identifier: Apache-2.0
// The adapters to OpenMP and TBB, where they are installed.
#include <gtest/gtest.h>

#include <rotary/rope.hpp>
#include <vector>

#ifdef ROTARY_TEST_OPENMP
#include <rotary/executors/openmp.hpp>
#endif
#ifdef ROTARY_TEST_TBB
#include <rotary/executors/tbb.hpp>
#endif

namespace rotary {
namespace {

[[maybe_unused]] void expect_same_bits(Executor& executor) {
  const Rope rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = 64}).value()}).value();
  for (const std::int64_t tokens : {1, 33, 300}) {
    const auto angles = rope.angles(Positions::range(0, tokens)).value();
    std::vector<float> one(static_cast<std::size_t>(tokens * 8 * 64)), many;
    for (std::size_t i = 0; i < one.size(); ++i) one[i] = static_cast<float>(i % 1001) - 500;
    many = one;
    rope.rotate(angles, bthd(one.data(), 1, tokens, 8, 64)).value();
    rope.rotate(angles, bthd(many.data(), 1, tokens, 8, 64), {.executor = &executor}).value();
    EXPECT_EQ(one, many) << tokens;
  }
  EXPECT_FALSE(executor.inside());
}

template <class Adapter>
void expect_adapts() {
  Adapter executor(3), as_it_likes;
  EXPECT_EQ(executor.workers(), 3);
  EXPECT_GE(as_it_likes.workers(), 1);
  expect_same_bits(executor);
  expect_same_bits(as_it_likes);
}

#ifdef ROTARY_TEST_OPENMP
TEST(Adapters, OpenMp) { expect_adapts<OpenMpExecutor>(); }
#endif

#ifdef ROTARY_TEST_TBB
TEST(Adapters, Tbb) { expect_adapts<TbbExecutor>(); }
#endif

}  // namespace
}  // namespace rotary
