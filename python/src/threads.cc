// SPDX-License-Identifier: Apache-2.0
#include "threads.hpp"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <rotary/executors/thread_pool.hpp>

namespace rotary::python {
namespace {

constexpr std::int64_t most_threads = 1024;

/// The team of an OpenMP that somebody else has loaded. PyTorch's threads look out for work for a while after each
/// of its operations: a pool beside them would have to share the cores with them.
class LoadedOpenMp final : public Executor {
 public:
  bool found() const noexcept { return parallel_ && most_ && team_ && me_ && inside_; }

  int workers() const noexcept override { return most_(); }
  bool inside() const noexcept override { return inside_() != 0; }
  void run(std::int64_t tasks, Body body, void* context) noexcept override {
    Job job{*this, tasks, body, context};
    parallel_(&work, &job, static_cast<unsigned>(workers()), 0);
  }

 private:
  struct Job {
    const LoadedOpenMp& team;
    std::int64_t tasks;
    Body body;
    void* context;
  };
  static void work(void* given) {
    const Job& job = *static_cast<const Job*>(given);
    const std::int64_t team = job.team.team_(), me = job.team.me_();
    const std::int64_t begin = job.tasks * me / team, end = job.tasks * (me + 1) / team;
    if (begin < end) job.body(job.context, begin, end);
  }
  template <class F>
  static F* symbol(const char* name) noexcept {
    return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
  }

  void (*parallel_)(void (*)(void*), void*, unsigned,
                    unsigned) = symbol<void(void (*)(void*), void*, unsigned, unsigned)>("GOMP_parallel");
  int (*most_)() = symbol<int()>("omp_get_max_threads");
  int (*team_)() = symbol<int()>("omp_get_num_threads");
  int (*me_)() = symbol<int()>("omp_get_thread_num");
  int (*inside_)() = symbol<int()>("omp_in_parallel");
};

/// Never destroyed: its threads sleep until the process ends. In a forked child they are gone, and the caller does
/// the whole.
Executor* pool_of(int count) {
  static std::mutex mutex;
  static auto& pools = *new std::map<int, ThreadPool>();
  const std::lock_guard held(mutex);
  return &pools.try_emplace(count, count).first->second;
}

}  // namespace

Executor* threads_of(std::int64_t count) {
  if (count == 1) return nullptr;
  if (count < 0 || count > most_threads)
    raise_value("threads " + std::to_string(count) +
                ": expected 1, another number of threads up to 1024, or 0 for as many as PyTorch has");
  if (count > 1) return pool_of(static_cast<int>(count));
  static LoadedOpenMp* team = nullptr;  // looked for again until PyTorch is imported
  if (team == nullptr) {
    static LoadedOpenMp& candidate = *new LoadedOpenMp();
    candidate = LoadedOpenMp();
    if (candidate.found()) team = &candidate;
  }
  return team != nullptr ? team : pool_of(0);
}

}  // namespace rotary::python
