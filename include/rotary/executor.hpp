// SPDX-License-Identifier: Apache-2.0
/// @file
/// Threads are the caller's. An Executor lends them to one call; without one everything runs in the caller's
/// thread.
///
///     struct Mine : rotary::Executor { ... };                          // a few lines over your own pool
///     rope.rotate(angles, q, k, {.executor = &mine}).value();
#pragma once

#include <cstdint>
#include <rotary/export.hpp>

namespace rotary {

class ROTARY_API Executor {
 public:
  /// A range of tasks, [begin, end), to be run by one worker.
  using Body = void (*)(void* context, std::int64_t begin, std::int64_t end) noexcept;

  virtual ~Executor();
  /// How many workers may run at once, the caller's thread among them.
  virtual int workers() const noexcept = 0;
  /// About how long it takes now until another worker is at work, in nanoseconds: a call that one thread does in less
  /// stays in its thread. Asked before every call that might be shared.
  virtual std::int64_t delay() noexcept;
  /// True inside one of this executor's workers: a call from there runs serially.
  virtual bool inside() const noexcept = 0;
  /// Runs body over [0, tasks) in ranges of its own choice and order, and returns when all are done.
  virtual void run(std::int64_t tasks, Body body, void* context) noexcept = 0;
};

}  // namespace rotary
