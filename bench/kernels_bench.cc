// SPDX-License-Identifier: Apache-2.0
// Time of every exact kernel over one pass of the same bytes (the limit) and over plain C, in interleaved
// rounds.
//
//     kernels_bench [ROUNDS [DTYPE]]      32 q heads and 8 k heads of 128 lanes, in place, one thread
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <rotary/rotary.hpp>
#include <string>
#include <vector>

#include "plain_c.hpp"

namespace {

using namespace rotary;
using bench::head_dim;

constexpr std::int64_t q_heads = 32, k_heads = 8, max_tokens = 4096;

/// Zeroed memory, in large pages where the system gives them.
void* allocate(std::size_t bytes) {
  constexpr std::size_t page = 2 << 20;
  void* memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (!memory) std::abort();
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
  const auto spectrum = Spectrum::make({.rotary_dim = head_dim}).value();

  std::printf("%-5s %-11s %6s  %-8s %12s %8s %8s\n", "dtype", "pairing", "tokens", "variant", "ns", "/limit",
              "/plain");
  for (const auto dtype : {DType::f32, DType::bf16, DType::f16}) {
    if (!only.empty() && name(dtype) != only) continue;
    for (const auto pairing : {Pairing::half_split, Pairing::interleaved}) {
      const auto rope = Rope::make({.spectrum = spectrum, .pairing = pairing}).value();
      for (const std::int64_t tokens : {std::int64_t{1}, std::int64_t{256}, max_tokens}) {
        const auto angles = rope.angles(Positions::range(0, tokens)).value();
        for (std::int64_t token = 0; token < tokens; ++token) {
          float* row = rows + token * head_dim;
          angles.row(0, token, {row, head_dim / 2}, {row + head_dim / 2, head_dim / 2}).value();
        }
        const Heads q_view{q, HeadsShape::contiguous(Layout::thd, dtype, 1, tokens, q_heads, head_dim)};
        const Heads k_view{k, HeadsShape::contiguous(Layout::thd, dtype, 1, tokens, k_heads, head_dim)};
        const bool adjacent = pairing == Pairing::interleaved;
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
        for (const auto& kernel : kernels()) {
          if (!kernel.accepted || kernel.name == "reference" || kernel.name == "scalar") continue;
          const auto plan = rope.plan(q_view.shape, k_view.shape, {.kernel = kernel.name}).value();
          variants.push_back(
              {std::string(kernel.name), [&, plan] { plan.run(angles, q_view, k_view).value(); }, {}});
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
          std::printf("%-5s %-11s %6ld  %-8s %12.1f %8.2f %8.2f %8.2f\n", std::string(name(dtype)).c_str(),
                      std::string(name(pairing)).c_str(), static_cast<long>(tokens), variant.name.c_str(), ns,
                      ns / limit, ns / plain, ns / native);
        }
      }
    }
  }
}
