// SPDX-License-Identifier: Apache-2.0
// rotary bench
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <rotary/executors/thread_pool.hpp>
#include <string>
#include <vector>

#include "bench_case.hpp"
#include "bench_fused.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "render.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

struct Options {
  std::string filter, kernel;
  int rounds = 0, threads = 1;
  bool quick = false, json = false, fused = false;
};

struct Row {
  BenchCase which;
  double ns, limit_ns, spread;
  std::string kernel;
  std::int64_t bytes;

  double ratio() const { return ns / limit_ns; }
  double gb_per_s() const { return static_cast<double>(bytes) / ns; }
};

/// Above this the limit's own times lie too far apart for a ratio to mean much.
constexpr double too_noisy = 0.1;

/// One thread: time of the thread alone, so that a busy machine disturbs less.
double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

double quantile(std::vector<double>& times, double part) {
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

/// Ours and every way of the limit once a round, in turn; medians.
Row measure(const BenchCase& which, const Options& options, Executor* executor) {
  const BenchRun run(which, options.kernel, executor);
  if (const double steps = run.steps_off(); !(steps < 2)) {
    throw Failure(Exit::bug, which.name() + ": kernel " + std::string(run.kernel()) + " is " +
                                 rounded(steps) + " steps off the reference");
  }
  const clockid_t clock = which.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  // Calls a round: about half a millisecond of the limit.
  const auto calls =
      static_cast<int>(std::clamp<std::int64_t>((std::int64_t{1} << 26) / run.bytes(), 1, 4000));
  const auto time = [&](const auto& work) {
    const double start = now(clock);
    for (int i = 0; i < calls; ++i) work();
    return (now(clock) - start) / calls;
  };
  const int rounds = options.rounds > 0 ? options.rounds : options.quick ? 11 : 21;
  const auto ways = static_cast<std::size_t>(run.limit_count());
  std::vector<double> ours;
  std::vector<std::vector<double>> limits(ways);
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    for (std::size_t way = 0; way < ways; ++way) {
      const double ns = time([&] { run.limit(static_cast<int>(way)); });
      if (round >= 0) limits[way].push_back(ns);
    }
    const double ns = time([&] { run.rotate(); });
    if (round >= 0) ours.push_back(ns);
  }
  Row row{which, quantile(ours, 0.5), HUGE_VAL, 0, std::string(run.kernel()), run.bytes()};
  for (auto& times : limits) {
    const double median = quantile(times, 0.5);
    if (median >= row.limit_ns) continue;
    row.limit_ns = median;
    row.spread = (quantile(times, 0.75) - quantile(times, 0.25)) / median;
  }
  return row;
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return printable(line.substr(colon + 2));
  }
  return "unknown";
}

nlohmann::ordered_json json_of(const Row& row) {
  const BenchCase& c = row.which;
  return {{"case",
           {{"tokens", c.tokens},
            {"heads", c.heads},
            {"kv_heads", c.kv_heads},
            {"head_dim", c.head_dim},
            {"rotary_dim", c.rotary_dim},
            {"rotary_offset", c.rotary_offset},
            {"dtype", name(c.dtype)},
            {"pairing", name(c.pairing)},
            {"layout", name(c.layout)},
            {"threads", c.threads},
            {"op", c.op}}},
          {"ns", row.ns},
          {"limit_ns", row.limit_ns},
          {"ratio", row.ratio()},
          {"gb_per_s", row.gb_per_s()},
          {"kernel", row.kernel},
          {"spread", row.spread}};
}

void print_head() {
  std::printf("%-72s %12s %12s %7s %8s  %s\n", "case", "ns", "limit ns", "ratio", "GB/s", "kernel");
}
void print(const Row& row) {
  std::printf("%-72s %12.1f %12.1f %7.2f %8.1f  %s%s\n", row.which.name().c_str(), row.ns, row.limit_ns,
              row.ratio(), row.gb_per_s(), row.kernel.c_str(), row.spread > too_noisy ? "  (noisy)" : "");
  std::fflush(stdout);
}

void bench(const Options& options) {
  std::optional<ThreadPool> pool;
  if (options.threads > 1) pool.emplace(options.threads);
  std::vector<BenchCase> cases = bench_cases(options.threads, options.quick);
  std::erase_if(cases,
                [&](const BenchCase& c) { return c.name().find(options.filter) == std::string::npos; });
  if (cases.empty())
    throw Failure(Exit::usage, "--filter " + options.filter + ": no case has this in its name");
  if (!options.kernel.empty()) {  // an unknown name is the caller's mistake
    const auto all = kernels();
    const auto known = std::ranges::find(all, options.kernel, &KernelVerdict::name);
    if (known == all.end())
      throw Failure(Exit::usage, "--kernel " + options.kernel + ": `rotary doctor` lists them");
    if (!known->accepted) throw Failure(Exit::unsupported, "kernel " + options.kernel + ": " + known->reason);
  }
  auto rows = nlohmann::ordered_json::array();
  std::size_t noisy = 0;
  if (!options.json) print_head();
  for (const BenchCase& which : cases) {
    const Row row = measure(which, options, pool ? &*pool : nullptr);
    noisy += row.spread > too_noisy ? 1u : 0u;
    options.json ? rows.push_back(json_of(row)) : print(row);
  }
  if (options.json) {
    std::cout << pretty(
        {{"schema", "rotary.bench/1"}, {"cpu", cpu_model()}, {"noisy", noisy}, {"rows", rows}});
  } else {
    std::printf(
        "\n%s. Time over the limit: one pass that loads, scales and stores the same bytes (out of\n"
        "place: copies them), the best of several, in the same rounds; medians.\n",
        cpu_model().c_str());
  }
  if (3 * noisy > cases.size()) {
    note("the machine is too noisy to trust this: in " + std::to_string(noisy) + " of " +
         std::to_string(cases.size()) + " cases the limit's own times differ by more than a tenth");
  }
}

/// Each fused form and its steps once a round, in turn; the median of the rounds' ratios.
void bench_fused(const Options& options) {
  int timed = 0;
  auto rows = nlohmann::ordered_json::array();
  if (!options.json) std::printf("%-40s %12s %12s %7s %8s\n", "case", "ns", "steps ns", "gain", "GB/s");
  for (const FusedCase& each : fused_cases()) {
    if (each.name.find(options.filter) == std::string::npos) continue;
    ++timed;
    const FusedRun run = each.make();
    const auto calls =
        static_cast<int>(std::clamp<std::int64_t>((std::int64_t{1} << 25) / run.bytes, 1, 4000));
    const auto time = [&](const std::function<void()>& work) {
      const double start = now(CLOCK_THREAD_CPUTIME_ID);
      for (int i = 0; i < calls; ++i) work();
      return (now(CLOCK_THREAD_CPUTIME_ID) - start) / calls;
    };
    const int rounds = options.rounds > 0 ? options.rounds : options.quick ? 11 : 21;
    std::vector<double> fused, steps, gains;
    for (int round = -1; round < rounds; ++round) {  // the first warms up
      const double ours = time(run.fused), theirs = time(run.one_by_one);
      if (round < 0) continue;
      fused.push_back(ours);
      steps.push_back(theirs);
      gains.push_back(theirs / ours);
    }
    const double ns = quantile(fused, 0.5), steps_ns = quantile(steps, 0.5), gain = quantile(gains, 0.5);
    const double gb_per_s = static_cast<double>(run.bytes) / ns;
    if (options.json) {
      rows.push_back({{"case", each.name},
                      {"tokens", each.tokens},
                      {"ns", ns},
                      {"steps_ns", steps_ns},
                      {"gain", gain},
                      {"gb_per_s", gb_per_s}});
    } else {
      std::printf("%-40s %12.1f %12.1f %7.2f %8.1f\n", each.name.c_str(), ns, steps_ns, gain, gb_per_s);
      std::fflush(stdout);
    }
  }
  if (timed == 0) throw Failure(Exit::usage, "--filter " + options.filter + ": no case has this in its name");
  if (options.json) {
    std::cout << pretty({{"schema", "rotary.bench_fused/1"}, {"cpu", cpu_model()}, {"rows", rows}});
  } else {
    std::printf("\n%s. The steps one after the other, over the fused form; medians.\n", cpu_model().c_str());
  }
}

constexpr const char* footer = R"(Examples:
  rotary bench --quick
  rotary bench --filter "bf16 half_split thd" --json > bench.json)";

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("bench",
                                     "Times the rotation on this machine against the least that moving the\n"
                                     "same bytes costs; checks each result first");
  command->footer(footer);
  command->add_option("--filter", options->filter, "Only cases with this in their name")->option_text("TEXT");
  command->add_option("--kernel", options->kernel, "Force a kernel: `rotary doctor` lists them")
      ->option_text("NAME");
  command->add_option("--rounds", options->rounds, "Times that each case is measured (21; quick: 11)")
      ->check(CLI::Range(1, 100000))
      ->option_text("N");
  command->add_option("--threads", options->threads, "Threads (1)")
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
  command->add_flag("--quick", options->quick, "The main cases, fewer rounds");
  command->add_flag("--json", options->json, "Print schema rotary.bench/1 instead");
  command->add_flag("--fused", options->fused, "Fused forms against their steps instead, in one thread")
      ->excludes("--kernel")
      ->excludes("--threads");
  command->callback([options] { options->fused ? bench_fused(*options) : bench(*options); });
}

}  // namespace rotary::tool
