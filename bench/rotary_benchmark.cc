// SPDX-License-Identifier: Apache-2.0
// The cases of `rotary bench` under Google Benchmark: each rotation, and beside it the passes that only move its
// bytes; and rows of angles, beside libm's.
#include <benchmark/benchmark.h>

#include <cmath>
#include <rotary/rope.hpp>
#include <span>
#include <vector>

#include "bench_case.hpp"

namespace {

using namespace rotary;

constexpr std::int64_t pairs = 64;

/// Items are pairs: a cosine and a sine.
void make_rows(benchmark::State& state, AnglePolicy policy) {
  const std::int64_t rows = state.range(0);
  const auto spectrum = Spectrum::make({.rotary_dim = 2 * pairs, .base = 10000}).value();
  const Rope rope = Rope::make({.spectrum = spectrum, .policy = policy}).value();
  Angles angles = rope.angles(Positions::range(0, rows)).value();
  std::int64_t first = 5000;
  for (auto _ : state) {
    angles.refill(Positions::range(first, first + rows)).value();
    ++first;
  }
  state.SetItemsProcessed(state.iterations() * rows * pairs);
}

void make_rows_by_libm(benchmark::State& state) {
  const auto spectrum = Spectrum::make({.rotary_dim = 2 * pairs, .base = 10000}).value();
  const std::span<const double> inv_freq = spectrum.inv_freq();
  std::vector<float> row(2 * pairs);
  double position = 5000;
  for (auto _ : state) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const double angle = position * inv_freq[i];
      row[i] = static_cast<float>(std::cos(angle));
      row[pairs + i] = static_cast<float>(std::sin(angle));
    }
    benchmark::DoNotOptimize(row.data());
    position = position < 6000 ? position + 1 : 5000;
  }
  state.SetItemsProcessed(state.iterations() * pairs);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace rotary::tool;
  for (const AnglePolicy policy : {AnglePolicy::exact, AnglePolicy::fp32, AnglePolicy::ggml}) {
    benchmark::RegisterBenchmark(("rows " + std::string(name(policy))).c_str(), make_rows, policy)
        ->Arg(1)
        ->Arg(1024);
  }
  benchmark::RegisterBenchmark("rows libm", make_rows_by_libm);
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
