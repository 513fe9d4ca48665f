// SPDX-License-Identifier: Apache-2.0
/// @file
/// A oneTBB arena as an Executor. To be linked with TBB; the library itself needs none.
///
///     rotary::TbbExecutor threads(4);
///     rope.rotate(angles, q, k, {.executor = &threads}).value();
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
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
  bool inside() const noexcept override { return working_for() == this; }
  void run(std::int64_t tasks, Body body, void* context) noexcept override {
    const std::int64_t grain = std::max<std::int64_t>(1, tasks / (4 * std::int64_t{workers()}));
    arena_.execute([&] {
      tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, tasks, static_cast<std::size_t>(grain)),
                        [&](const tbb::blocked_range<std::int64_t>& range) {
                          const TbbExecutor* const outer = working_for();
                          working_for() = this;
                          body(context, range.begin(), range.end());
                          working_for() = outer;
                        });
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
