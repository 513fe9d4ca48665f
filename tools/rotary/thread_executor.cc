// SPDX-License-Identifier: Apache-2.0
#include "thread_executor.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace rotary::tool {
namespace {

thread_local const Executor* working_for = nullptr;

}  // namespace

bool ThreadExecutor::inside() const noexcept { return working_for == this; }

void ThreadExecutor::run(std::int64_t tasks, Body body, void* context) noexcept {
  const std::int64_t chunk = std::max<std::int64_t>(1, tasks / (4 * std::int64_t{workers_}));
  std::atomic<std::int64_t> next = 0;
  const auto work = [&] {
    const Executor* const outer = std::exchange(working_for, this);
    for (std::int64_t begin; (begin = next.fetch_add(chunk)) < tasks;)
      body(context, begin, std::min(begin + chunk, tasks));
    working_for = outer;
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (int i = 1; i < workers_; ++i) threads.emplace_back(work);
    } catch (const std::exception&) {
      // No more threads to be had: those that run, and this one, do the whole.
    }
    work();
  }
}

}  // namespace rotary::tool
