// SPDX-License-Identifier: Apache-2.0
// What a second thread gains, by each executor and of the limit pass; the table of docs/rotate.md. To be run as
// chrt -f 10 rotary_threads where other programs want the cores too.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <rotary/executors/openmp.hpp>
#include <rotary/executors/tbb.hpp>
#include <rotary/executors/thread_pool.hpp>
#include <thread>
#include <vector>

#include "bench_case.hpp"

namespace {

using namespace rotary::tool;
using Clock = std::chrono::steady_clock;

/// A tenth of the times is shorter: two threads need both cores at once, and others may want one.
double short_time(std::vector<double>& times) {
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 10);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

void print_row(const BenchCase& which, int rounds, rotary::Executor* const (&executors)[4]) {
  std::vector<std::unique_ptr<BenchRun>> runs;
  for (rotary::Executor* executor : executors)
    runs.push_back(std::make_unique<BenchRun>(which, "", executor));
  const int ways = runs[0]->limit_count();
  const auto calls = std::max<std::int64_t>(1, (std::int64_t{1} << 25) / runs[0]->bytes());
  // Threads of the executor before have gone to sleep, and those of this one are awake.
  const auto time = [&](const auto& work) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (std::int64_t i = 0; i < 2 + calls / 4; ++i) work();
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i) work();
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
           static_cast<double>(calls);
  };
  std::vector<double> ours[4];
  std::vector<std::vector<double>> limits[2];
  limits[0].resize(static_cast<std::size_t>(ways));
  limits[1].resize(static_cast<std::size_t>(ways));
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    for (int way = 0; way < ways; ++way) {
      for (int i = 0; i < 2; ++i) {
        const double ns = time([&] { runs[static_cast<std::size_t>(i)]->limit(way); });
        if (round >= 0) limits[i][static_cast<std::size_t>(way)].push_back(ns);
      }
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const double ns = time([&] { runs[i]->rotate(); });
      if (round >= 0) ours[i].push_back(ns);
    }
  }
  double limit[2] = {HUGE_VAL, HUGE_VAL};
  for (int i = 0; i < 2; ++i) {
    for (auto& times : limits[i]) limit[i] = std::min(limit[i], short_time(times));
  }
  const double one = short_time(ours[0]);
  std::printf("| %s | %lld | %lld | %.0f | %.2f | %.2f | %.2f | %.2f |\n", rotary::name(which.dtype).data(),
              static_cast<long long>(which.tokens), static_cast<long long>(runs[0]->bytes() / 2048), one,
              one / short_time(ours[1]), one / short_time(ours[2]), one / short_time(ours[3]),
              limit[0] / limit[1]);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 41;
  rotary::ThreadPool pool(2);
  rotary::OpenMpExecutor openmp(2);
  rotary::TbbExecutor tbb(2);
  std::printf(
      "| type | tokens | KiB | ns, one thread | `ThreadPool` | `OpenMpExecutor` | `TbbExecutor` | limit |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const auto dtype : {rotary::DType::f32, rotary::DType::bf16}) {
    for (const std::int64_t tokens : {1, 4, 8, 16, 32, 64, 96, 128, 256, 512}) {
      print_row({.tokens = tokens, .dtype = dtype}, rounds, {nullptr, &pool, &openmp, &tbb});
    }
  }
}
