// SPDX-License-Identifier: Apache-2.0
// The cases of `rotary bench` under Google Benchmark: each rotation, and beside it the passes that only move its
// bytes.
#include <benchmark/benchmark.h>

#include "bench_case.hpp"

int main(int argc, char** argv) {
  using namespace rotary::tool;
  for (const BenchCase& which : bench_cases(1, false)) {
    benchmark::RegisterBenchmark(which.name().c_str(), [which](benchmark::State& state) {
      const BenchRun run(which, {}, nullptr);
      if (!(run.steps_off() < 2)) return state.SkipWithError("differs from the reference");
      for (auto _ : state) run.rotate();
      state.SetBytesProcessed(state.iterations() * run.bytes());
      state.SetLabel(std::string(run.kernel()));
    });
    benchmark::RegisterBenchmark((which.name() + " limit").c_str(), [which](benchmark::State& state) {
      const BenchRun run(which, {}, nullptr);
      const auto way = static_cast<int>(state.range(0));
      if (way >= run.limit_count()) return state.SkipWithError("no such way");
      for (auto _ : state) run.limit(way);
      state.SetBytesProcessed(state.iterations() * run.bytes());
    })->DenseRange(0, which.op == "out_of_place" ? 2 : 3);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
