// SPDX-License-Identifier: Apache-2.0
// One case of `rotary bench` for programs in other languages: what the command times, as functions in C. bench/peers
// calls them between its peers' turns.
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <rotary/executors/thread_pool.hpp>
#include <string>

#include "bench_case.hpp"

#define ROTARY_BENCH_SYMBOL extern "C" __attribute__((visibility("default")))

namespace {

using namespace rotary;
using namespace rotary::tool;

struct Prepared {
  std::optional<ThreadPool> pool;
  std::unique_ptr<BenchRun> run;
};

std::string problem;

}  // namespace

/// Why there was nothing to make.
ROTARY_BENCH_SYMBOL const char* rotary_bench_problem() { return problem.c_str(); }

/// Null where a word is unknown or memory is short. q has 32 heads of 128 lanes, k has 8.
ROTARY_BENCH_SYMBOL Prepared* rotary_bench_make(std::int64_t tokens, const char* dtype, const char* pairing,
                                                int threads) try {
  BenchCase which{.tokens = tokens, .threads = threads};
  const auto type = dtype_from_name(dtype);
  const auto pairs = pairing_from_name(pairing);
  if (!type || !pairs) {
    problem = std::string("no such type or pairing: ") + dtype + ' ' + pairing;
    return nullptr;
  }
  which.dtype = *type;
  which.pairing = *pairs;
  auto made = std::make_unique<Prepared>();
  if (threads > 1) made->pool.emplace(threads);
  made->run = std::make_unique<BenchRun>(which, "", made->pool ? &*made->pool : nullptr);
  return made.release();
} catch (const std::exception& error) {
  problem = error.what();
  return nullptr;
}

ROTARY_BENCH_SYMBOL void rotary_bench_free(Prepared* prepared) { delete prepared; }

/// Steps of the element type between the rotation and the kernel `reference`; a correct one is below 2.
ROTARY_BENCH_SYMBOL double rotary_bench_steps_off(const Prepared* prepared) {
  return prepared->run->steps_off();
}

ROTARY_BENCH_SYMBOL const char* rotary_bench_kernel(const Prepared* prepared) {
  return prepared->run->kernel().data();
}

ROTARY_BENCH_SYMBOL std::int64_t rotary_bench_bytes(const Prepared* prepared) {
  return prepared->run->bytes();
}

ROTARY_BENCH_SYMBOL void rotary_bench_rotate(const Prepared* prepared, int calls) {
  for (int i = 0; i < calls; ++i) prepared->run->rotate();
}

ROTARY_BENCH_SYMBOL int rotary_bench_limit_count(const Prepared* prepared) {
  return prepared->run->limit_count();
}

ROTARY_BENCH_SYMBOL void rotary_bench_limit(const Prepared* prepared, int way, int calls) {
  for (int i = 0; i < calls; ++i) prepared->run->limit(way);
}
