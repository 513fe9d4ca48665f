// SPDX-License-Identifier: Apache-2.0
/// @file
/// OpenMP's threads as an Executor. To be compiled with OpenMP (-fopenmp); the library itself needs none.
///
///     rotary::OpenMpExecutor threads;
///     rope.rotate(angles, q, k, {.executor = &threads}).value();
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <rotary/executor.hpp>

namespace rotary {

class OpenMpExecutor final : public Executor {
 public:
  /// 0: as many as OpenMP would take.
  explicit OpenMpExecutor(int workers = 0) noexcept : workers_(workers) {}

  int workers() const noexcept override { return workers_ > 0 ? workers_ : omp_get_max_threads(); }
  bool inside() const noexcept override { return omp_in_parallel() != 0; }
  void run(std::int64_t tasks, Body body, void* context) noexcept override {
    const int most = workers();
#pragma omp parallel num_threads(most)
    {
      const std::int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
      const std::int64_t each = tasks / team, more = tasks % team;
      const std::int64_t begin = me * each + std::min(me, more);
      const std::int64_t end = begin + each + (me < more ? 1 : 0);
      if (begin < end) body(context, begin, end);
    }
  }

 private:
  int workers_;
};

}  // namespace rotary
