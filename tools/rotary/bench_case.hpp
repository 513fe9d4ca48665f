// SPDX-License-Identifier: Apache-2.0
// The cases that `rotary bench` and the benchmark program time, and one of them made ready to run.
#pragma once

#include <cstdint>
#include <rotary/rotary.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench_limit.hpp"
#include "bench_memory.hpp"

namespace rotary::tool {

struct BenchCase {
  std::int64_t tokens = 1, heads = 32, kv_heads = 8, head_dim = 128;
  std::int64_t rotary_dim = 128, rotary_offset = 0;
  DType dtype = DType::f32;
  Pairing pairing = Pairing::half_split;
  Layout layout = Layout::thd;
  int threads = 1;
  std::string_view op = "rotate";  ///< "rotate", "inverse", "gradient"; "out_of_place"

  /// "f32 half_split thd tokens=256 heads=32+8 head_dim=128", and what is not as usual.
  std::string name() const;
};

/// Those of docs/bench.md; `quick`: one head size, no odd ones.
std::vector<BenchCase> bench_cases(int threads, bool quick);

/// Memory of its own, filled; rows made; planned.
class BenchRun {
 public:
  /// `kernel`: by name; empty: the one that is taken. The executor is for the limit, too; null: none.
  BenchRun(const BenchCase& which, std::string_view kernel, Executor* executor);

  void rotate() const { plan_.run(angles_, q_, k_).value(); }
  /// One of limit_count() ways to move the same bytes.
  void limit(int way) const;
  int limit_count() const noexcept;
  /// Largest difference from the kernel `reference` for a call of its own, in steps of the element type next
  /// to the largest lane; a correct kernel is below 2.
  double steps_off() const;

  std::string_view kernel() const noexcept { return plan_.kernel(); }
  /// Read and written.
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  void fill(std::byte* memory) const;
  ByteRuns runs_of(std::byte* data, std::int64_t heads) const;

  BenchCase case_;
  Executor* executor_;
  std::int64_t q_bytes_, k_bytes_, bytes_ = 0;
  ByteRuns q_runs_, k_runs_, q_out_, k_out_;
  BenchMemory in_, out_;
  Rope rope_;
  Angles angles_;
  Operand q_, k_;
  RotatePlan plan_;
};

}  // namespace rotary::tool
