// SPDX-License-Identifier: Apache-2.0
// Threads for --threads N.
#pragma once

#include <rotary/executor.hpp>

namespace rotary::tool {

/// Starts its threads with every run and joins them at its end: the command rotates a few large tensors, so a
/// pool that outlives a run would gain nothing.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(int workers) noexcept : workers_(workers < 1 ? 1 : workers) {}

  int workers() const noexcept override { return workers_; }
  bool inside() const noexcept override;
  void run(std::int64_t tasks, Body body, void* context) noexcept override;

 private:
  int workers_;
};

}  // namespace rotary::tool
