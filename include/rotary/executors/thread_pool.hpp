// SPDX-License-Identifier: Apache-2.0
/// @file
/// A small pool of threads of its own, for programs that have none. Of the standard library alone.
///
///     rotary::ThreadPool pool(4);  // three threads and the caller's
///     rope.rotate(angles, q, k, {.executor = &pool}).value();
///
/// Between calls its threads look out for work for some fifty microseconds, then sleep; a call that comes alone has to be
/// larger to wake them than one of many. The caller never waits for one to wake: it takes every task that nobody else
/// has begun. Each thread begins with the same share of the tasks
/// in every run, since from layer to layer its part of q and k may still lie in its own cache.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <rotary/executor.hpp>
#include <thread>
#include <vector>

namespace rotary {

class ThreadPool final : public Executor {
 public:
  /// `workers` with the caller's thread; 0: one for each that the machine runs at once. Where the system
  /// refuses a thread there are fewer.
  explicit ThreadPool(int workers = 0) {
    if (workers <= 0) workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    try {
      helpers_.reserve(static_cast<std::size_t>(workers - 1));
      shares_ = std::vector<Share>(static_cast<std::size_t>(workers));
      for (std::size_t i = 1; i < shares_.size(); ++i) helpers_.emplace_back([this, i] { help(i); });
    } catch (const std::exception&) {
      // Those that run, and the caller, do the whole.
    }
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() override {
    stop_.store(true);
    call();
    for (std::thread& helper : helpers_) helper.join();
  }

  int workers() const noexcept override { return static_cast<int>(helpers_.size()) + 1; }
  std::int64_t delay() noexcept override {
    constexpr std::int64_t one_of_many = 200'000, to_wake = 25'000;
    const auto clock = std::chrono::steady_clock::now().time_since_epoch();
    const std::int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(clock).count(),
                       before = asked_.exchange(now, std::memory_order_relaxed);
    return now - before > one_of_many && asleep_.load(std::memory_order_relaxed) != 0 ? to_wake : 0;
  }
  bool inside() const noexcept override { return working_for() == this; }

  /// While another run is under way, of another thread or further out in this one, it is done by its caller alone.
  void run(std::int64_t tasks, Body body, void* context) noexcept override {
    if (inside() || helpers_.empty()) return body(context, 0, tasks);
    if (running_.exchange(true)) return body(context, 0, tasks);
    body_ = body;
    context_ = context;
    const std::size_t all = static_cast<std::size_t>(tasks), count = helpers_.size() + 1, each = all / count,
                      more = all % count;
    chunk_ = std::max<std::size_t>(1, each / 4);
    std::size_t next = 0;
    for (std::size_t i = 0; i < count; ++i) {
      Share& share = shares_[i];
      share.next.store(next, std::memory_order_relaxed);
      share.end = next += each + (i < more ? 1 : 0);
    }
    open_.store(true);
    call();
    work(0);
    open_.store(false);
    // Who came in before is at its last tasks; nobody comes in any more.
    while (active_.load() != 0) std::this_thread::yield();
    running_.store(false);
  }

 private:
  static const ThreadPool*& working_for() noexcept {
    static thread_local const ThreadPool* pool = nullptr;
    return pool;
  }

  void call() noexcept {
    calls_.fetch_add(1);
    calls_.notify_all();
  }

  /// One's own share, then what is left of those of the others.
  void work(std::size_t mine) noexcept {
    const ThreadPool* const outer = working_for();
    working_for() = this;
    const std::size_t count = helpers_.size() + 1;
    for (std::size_t i = 0; i < count; ++i) {
      Share& share = shares_[(mine + i) % count];
      for (std::uint64_t begin; (begin = share.next.fetch_add(chunk_)) < share.end;) {
        const std::uint64_t end = std::min(begin + chunk_, share.end);
        body_(context_, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
      }
    }
    working_for() = outer;
  }

  void help(std::size_t mine) noexcept {
    std::uint32_t seen = 0;
    while (true) {
      for (int looks = 0; calls_.load() == seen && looks < 2000; ++looks) pause();
      asleep_.fetch_add(1, std::memory_order_relaxed);
      calls_.wait(seen);
      asleep_.fetch_sub(1, std::memory_order_relaxed);
      seen = calls_.load();
      if (stop_.load()) return;
      active_.fetch_add(1);
      if (open_.load()) work(mine);
      active_.fetch_sub(1);
    }
  }

  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  struct alignas(64) Share {
    std::atomic<std::uint64_t> next = 0;  // goes beyond the end by a chunk a worker
    std::uint64_t end = 0;
  };

  std::vector<std::thread> helpers_;
  std::atomic<bool> running_ = false;
  std::atomic<std::int64_t> asked_ = 0;  // when
  std::atomic<int> asleep_ = 0;
  // Written while nobody is active and the pool is not open.
  Body body_ = nullptr;
  void* context_ = nullptr;
  std::uint64_t chunk_ = 1;
  std::vector<Share> shares_;
  alignas(64) std::atomic<std::uint32_t> calls_ = 0;
  std::atomic<int> active_ = 0;
  std::atomic<bool> open_ = false, stop_ = false;
};

}  // namespace rotary
