// SPDX-License-Identifier: Apache-2.0
/// @file
/// A oneTBB arena as an Executor. To be linked with TBB; the library itself needs none.
///
///     rotary::TbbExecutor threads(4);
///     rope.rotate(angles, q, k, {.executor = &threads}).value();
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <cstdint>
#include <rotary/executor.hpp>

namespace rotary {

class TbbExecutor final : public Executor {
 public:
  /// Up to so many threads, the caller's among them; 0: as many as TBB would take.
  explicit TbbExecutor(int workers = 0) : arena_(workers > 0 ? workers : tbb::task_arena::automatic) {
    arena_.initialize();
  }

  int workers() const noexcept override { return arena_.max_concurrency(); }
  /// Threads that are called again and again gain from a quarter of a millisecond on, those that have slept from 40
  /// microseconds on; TBB does not tell which they are.
  std::int64_t delay() noexcept override { return 60'000; }
  bool inside() const noexcept override { return working_for() == this; }
  void run(std::int64_t tasks, Body body, void* context) noexcept override {
    arena_.execute([&] {
      // The same thread for the same tasks in every run, since from layer to layer its part of q and k may
      // still lie in its own cache.
      tbb::parallel_for(
          tbb::blocked_range<std::int64_t>(0, tasks),
          [&](const tbb::blocked_range<std::int64_t>& range) {
            const TbbExecutor* const outer = working_for();
            working_for() = this;
            body(context, range.begin(), range.end());
            working_for() = outer;
          },
          tbb::static_partitioner());
    });
  }

 private:
  static const TbbExecutor*& working_for() noexcept {
    static thread_local const TbbExecutor* executor = nullptr;
    return executor;
  }

  tbb::task_arena arena_;
};

}  // namespace rotary
