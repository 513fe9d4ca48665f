// SPDX-License-Identifier: Apache-2.0
// The pool runs every task once, whoever asks for how many and however often, and one within another.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <rotary/executors/thread_pool.hpp>
#include <rotary/rope.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace rotary {
namespace {

struct Counts {
  explicit Counts(std::size_t tasks) : each(tasks) {}
  static void body(void* context, std::int64_t begin, std::int64_t end) noexcept {
    auto& counts = *static_cast<Counts*>(context);
    for (std::int64_t i = begin; i < end; ++i) counts.each[static_cast<std::size_t>(i)].fetch_add(1);
  }
  bool all_are(int number) const {
    for (const auto& count : each) {
      if (count.load() != number) return false;
    }
    return true;
  }
  std::vector<std::atomic<int>> each;
};

TEST(ThreadPool, EveryTaskRunsOnce) {
  for (const int workers : {1, 2, 3, 8}) {
    ThreadPool pool(workers);
    EXPECT_EQ(pool.workers(), workers);
    for (const std::int64_t tasks : {0, 1, 2, 7, 64, 1000}) {
      Counts counts(static_cast<std::size_t>(tasks));
      for (int round = 1; round <= 300; ++round) {
        pool.run(tasks, Counts::body, &counts);
        ASSERT_TRUE(counts.all_are(round)) << workers << " workers, " << tasks << " tasks, round " << round;
      }
    }
  }
  EXPECT_GE(ThreadPool().workers(), 1);
}

TEST(ThreadPool, AsManyTasksAsThereAreNumbers) {
  ThreadPool pool(4);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::uint64_t> done = 0;
  const auto body = [](void* context, std::int64_t begin, std::int64_t end) noexcept {
    if (begin >= 0)
      static_cast<std::atomic<std::uint64_t>*>(context)->fetch_add(static_cast<std::uint64_t>(end - begin));
  };
  pool.run(most, body, &done);
  EXPECT_EQ(done.load(), static_cast<std::uint64_t>(most));
}

TEST(ThreadPool, WakesAfterItHasSlept) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Counts counts(50);
    pool.run(50, Counts::body, &counts);
    ASSERT_TRUE(counts.all_are(1));
  }
}

TEST(ThreadPool, ARunWithinARunStaysInItsThread) {
  struct Nested {
    ThreadPool pool{4};
    Counts counts{1000};
    std::atomic<bool> outside = false;
  } nested;
  EXPECT_FALSE(nested.pool.inside());
  nested.pool.run(
      10,
      [](void* context, std::int64_t begin, std::int64_t end) noexcept {
        auto& n = *static_cast<Nested*>(context);
        if (!n.pool.inside()) n.outside = true;
        for (; begin < end; ++begin) n.pool.run(1000, Counts::body, &n.counts);
      },
      &nested);
  EXPECT_FALSE(nested.outside);
  EXPECT_FALSE(nested.pool.inside());
  EXPECT_TRUE(nested.counts.all_are(10));
}

/// A run of one pool, in which another's, in which again the first one's: that one is under way already.
TEST(ThreadPool, ARunWithinAnothersRunWithinItsOwnIsDoneByItsCaller) {
  struct Nested {
    ThreadPool outer{3}, inner{2};
    Counts counts{100};
  } nested;
  nested.outer.run(
      6,
      [](void* context, std::int64_t begin, std::int64_t end) noexcept {
        for (; begin < end; ++begin) {
          static_cast<Nested*>(context)->inner.run(
              2,
              [](void* inside, std::int64_t first, std::int64_t last) noexcept {
                auto& n = *static_cast<Nested*>(inside);
                for (; first < last; ++first) n.outer.run(100, Counts::body, &n.counts);
              },
              context);
        }
      },
      &nested);
  EXPECT_TRUE(nested.counts.all_are(12));
  nested.outer.run(100, Counts::body, &nested.counts);  // and it is free again
  EXPECT_TRUE(nested.counts.all_are(13));
}

TEST(ThreadPool, ASleepingThreadIsLateForACallThatComesAlone) {
  ThreadPool pool(2);
  std::int64_t alone = 0;
  for (int round = 0; round < 500 && alone == 0; ++round) {  // it falls asleep at some time
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    alone = pool.delay();
  }
  EXPECT_GT(alone, 10'000);
  EXPECT_LT(alone, 100'000);
}

TEST(ThreadPool, ServesSeveralCallers) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        Counts counts(20);
        pool.run(20, Counts::body, &counts);
        if (!counts.all_are(1)) ++wrong;
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

/// Each thread waits with its first task until the others have begun theirs.
TEST(ThreadPool, AThreadBeginsWithTheSameShareInEveryRun) {
  struct Meeting {
    int round = 0;
    std::atomic<int> begun = 0;
    std::thread::id first_of[12];
  } meeting;
  const auto body = [](void* context, std::int64_t begin, std::int64_t /*end*/) noexcept {
    static thread_local int seen = 0;
    auto& m = *static_cast<Meeting*>(context);
    if (std::exchange(seen, m.round) == m.round) return;
    m.first_of[begin] = std::this_thread::get_id();
    ++m.begun;
    while (m.begun.load() < 3) std::this_thread::yield();
  };
  ThreadPool pool(3);
  std::thread::id one, other;
  while (++meeting.round < 100) {
    meeting.begun = 0;
    pool.run(12, body, &meeting);
    if (meeting.round == 1) one = meeting.first_of[4], other = meeting.first_of[8];
    ASSERT_EQ(meeting.first_of[0], std::this_thread::get_id());
    ASSERT_NE(one, std::thread::id());
    ASSERT_NE(other, std::thread::id());
    ASSERT_EQ(meeting.first_of[4], one) << meeting.round;
    ASSERT_EQ(meeting.first_of[8], other) << meeting.round;
  }
}

TEST(ThreadPool, GivesTheBitsOfOneThread) {
  const Rope rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = 64}).value()}).value();
  const auto angles = rope.angles(Positions::range(0, 300)).value();
  std::vector<float> one(300 * 8 * 64), many;
  for (std::size_t i = 0; i < one.size(); ++i) one[i] = static_cast<float>(i % 1001) - 500;
  many = one;
  rope.rotate(angles, bthd(one.data(), 1, 300, 8, 64)).value();
  ThreadPool pool(4);
  rope.rotate(angles, bthd(many.data(), 1, 300, 8, 64), {.executor = &pool}).value();
  EXPECT_EQ(one, many);
}

}  // namespace
}  // namespace rotary
