// SPDX-License-Identifier: Apache-2.0
// When a plan asks its executor, and for how many tasks.
#include <gtest/gtest.h>

#include <rotary/rope.hpp>
#include <vector>

namespace rotary {
namespace {

/// Runs them all in the caller's thread.
struct Counting : Executor {
  explicit Counting(int workers = 2, bool is_inside = false) : team(workers), within(is_inside) {}
  int workers() const noexcept override { return team; }
  std::int64_t delay() noexcept override { return late; }
  bool inside() const noexcept override { return within; }
  void run(std::int64_t tasks, Body body, void* context) noexcept override {
    asked_for = tasks;
    body(context, 0, tasks);
  }
  int team;
  bool within;
  std::int64_t asked_for = 0, late = 0;
};

/// Tasks that q of heads of 64 lanes is cut into; 0: the executor is not asked.
std::int64_t tasks(Counting executor, std::int64_t batch, std::int64_t tokens, std::int64_t heads) {
  const Rope rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = 64}).value()}).value();
  std::vector<float> x(static_cast<std::size_t>(batch * tokens * heads * 64));
  const Angles angles = rope.angles(Positions::range(0, tokens)).value();
  rope.rotate(angles, bthd(x.data(), batch, tokens, heads, 64), {.executor = &executor}).value();
  return executor.asked_for;
}

TEST(Threads, DecodeStaysInTheCallersThread) {
  EXPECT_EQ(tasks(Counting(), 1, 1, 32), 0);
  EXPECT_EQ(tasks(Counting(), 8, 1, 32), 0);
  EXPECT_EQ(tasks(Counting(), 1, 1, 4096), 0);  // large, but of one token
  EXPECT_EQ(tasks(Counting(), 1, 63, 32), 0);
  EXPECT_EQ(tasks(Counting(), 1, 64, 32), 8);  // 131072 lanes
}

TEST(Threads, TasksAreFourAWorkerAtFirstAndNotTooSmall) {
  EXPECT_EQ(tasks(Counting(), 1, 256, 32), 8);
  EXPECT_EQ(tasks(Counting(), 1, 1024, 32), 32);  // 32 tokens each
  EXPECT_EQ(tasks(Counting(), 64, 1, 32), 64);    // a row each
  EXPECT_EQ(tasks(Counting(64), 1, 256, 32), 29);
}

TEST(Threads, OneWorkerAndAWorkerOfItsOwnAreNotAsked) {
  EXPECT_EQ(tasks(Counting(1), 1, 256, 32), 0);
  EXPECT_EQ(tasks(Counting(2, true), 1, 256, 32), 0);
}

TEST(Threads, ThoseThatWouldComeTooLateAreNotAsked) {
  Counting executor;
  executor.late = 20'000;  // as long as one thread takes for 400,000 lanes
  EXPECT_EQ(tasks(executor, 1, 192, 32), 0);
  EXPECT_EQ(tasks(executor, 1, 200, 32), 8);
}

}  // namespace
}  // namespace rotary
