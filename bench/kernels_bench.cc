// SPDX-License-Identifier: Apache-2.0
// Time of every exact kernel over one pass of the same bytes (the limit) and over plain C, in interleaved
// rounds.
//
//     kernels_bench [ROUNDS [DTYPE]]      32 q heads and 8 k heads of 128 lanes, in place, one thread
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "bench/plain_c.hpp"
#include "kernels/kernel_list.hpp"

namespace {

using namespace rotary;
using bench::head_dim;

constexpr std::int64_t q_heads = 32, k_heads = 8, max_tokens = 4096;

/// Zeroed memory in large pages where there are any.
void* allocate(std::size_t bytes) {
  constexpr std::size_t page = 2 << 20;
  void* memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (!memory) std::abort();
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::fill_n(static_cast<char*>(memory), bytes, 0);
  return memory;
}

struct Variant {
  std::string name;
  std::function<void()> run;
  std::vector<double> times;  // ns a call
};

double median(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + times.size() / 2);
  return times[times.size() / 2];
}

/// Time of this thread alone, so that a busy machine disturbs less.
double thread_now() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

double time_of(const std::function<void()>& run, int calls) {
  const double start = thread_now();
  for (int i = 0; i < calls; ++i) run();
  return (thread_now() - start) / calls;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 21;
  const std::string only = argc > 2 ? argv[2] : "";
  void* q = allocate(max_tokens * q_heads * head_dim * sizeof(float));
  void* k = allocate(max_tokens * k_heads * head_dim * sizeof(float));
  auto* rows = static_cast<float*>(allocate(max_tokens * head_dim * sizeof(float)));
  for (std::int64_t i = 0; i < max_tokens * head_dim; ++i) {
    const double angle = static_cast<double>(i / head_dim) * std::pow(1e4, -static_cast<double>(i % 64) / 64);
    rows[i] = static_cast<float>(i % head_dim < 64 ? std::cos(angle) : std::sin(angle));
  }

  std::printf("%-5s %-9s %6s  %-8s %12s %8s %8s\n", "dtype", "lanes", "tokens", "variant", "ns", "/limit",
              "/plain");
  for (const auto dtype : {DType::f32, DType::bf16, DType::f16}) {
    if (!only.empty() && name(dtype) != only) continue;
    for (const auto lanes : {impl::Lanes::halves, impl::Lanes::adjacent}) {
      for (const std::int64_t tokens : {1, 256, 4096}) {
        impl::RotateArgs args{};
        args.operands = 2;
        args.dtype = dtype;
        args.in_lanes = args.out_lanes = lanes;
        args.tokens = tokens;
        args.pairs = head_dim / 2;
        args.rows = rows;
        args.operand[0] = {q, q, q_heads, q_heads * head_dim, head_dim, 1, q_heads * head_dim, head_dim, 1};
        args.operand[1] = {k, k, k_heads, k_heads * head_dim, head_dim, 1, k_heads * head_dim, head_dim, 1};
        const bool adjacent = lanes == impl::Lanes::adjacent;
        volatile float one = 1;
        std::vector<Variant> variants;
        variants.push_back({"limit",
                            [&] {
                              bench::native::scale_in_place(q, dtype, tokens * q_heads * head_dim, one);
                              bench::native::scale_in_place(k, dtype, tokens * k_heads * head_dim, one);
                            },
                            {}});
        const auto plain_c = [&](auto rotate) {
          return [&, rotate] {
            rotate(q, dtype, adjacent, tokens, q_heads, rows);
            rotate(k, dtype, adjacent, tokens, k_heads, rows);
          };
        };
        variants.push_back({"plain C", plain_c(bench::release::rotate_plain), {}});
        variants.push_back({"native C", plain_c(bench::native::rotate_plain), {}});
        for (const auto& kernel : impl::kernel_list()) {
          if (!kernel.unavailable().empty() || kernel.name == "reference" || kernel.name == "scalar")
            continue;
          variants.push_back({std::string(kernel.name), [&args, &kernel] { kernel.rotate(args); }, {}});
        }
        const int calls = tokens == 1 ? 4000 : tokens == 256 ? 30 : 2;
        for (auto& variant : variants) time_of(variant.run, calls);
        for (int round = 0; round < rounds; ++round) {
          for (auto& variant : variants) variant.times.push_back(time_of(variant.run, calls));
        }
        const double limit = median(variants[0].times), plain = median(variants[1].times),
                     native = median(variants[2].times);
        for (const auto& variant : variants) {
          const double ns = median(variant.times);
          std::printf("%-5s %-9s %6ld  %-8s %12.1f %8.2f %8.2f %8.2f\n", std::string(name(dtype)).c_str(),
                      adjacent ? "adjacent" : "halves", static_cast<long>(tokens), variant.name.c_str(), ns,
                      ns / limit, ns / plain, ns / native);
        }
      }
    }
  }
}
