// SPDX-License-Identifier: Apache-2.0
// The time of a rotation against the time of one pass over the same memory: load, scale, store.
//
//     demo_speed MODEL [TOKENS]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <rotary/model.hpp>
#include <vector>

namespace {

constexpr int rounds = 30;

template <class Call>
double seconds(Call call) {
  const auto began = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// Out of line, so that the compiler sees no more than a pass over memory. -1 keeps every length as it was.
[[gnu::noinline]] void scale(float* values, std::size_t count, float by) {
  for (std::size_t i = 0; i < count; ++i) values[i] *= by;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || count > 3) {
    std::cerr << "usage: demo_speed MODEL [TOKENS]\n";
    return 2;
  }
  const auto model = rotary::Model::from_path(arguments[1]);
  if (!model || model->ropes().empty()) {
    std::cerr << (model ? "the model has no rope" : model.status().message()) << '\n';
    return 3;
  }
  const rotary::Rope& rope = model->ropes().front().rope;
  const std::int64_t tokens = count == 3 ? std::atoll(arguments[2]) : 4096, heads = 4, kv_heads = 1;

  std::vector<float> q(static_cast<std::size_t>(tokens * heads * rope.head_dim()), 1.0f);
  std::vector<float> k(static_cast<std::size_t>(tokens * kv_heads * rope.head_dim()), 1.0f);
  const auto q_heads = rotary::bthd(q.data(), 1, tokens, heads, rope.head_dim());
  const auto k_heads = rotary::bthd(k.data(), 1, tokens, kv_heads, rope.head_dim());
  auto angles = rope.angles(rotary::Positions::range(0, tokens));
  const auto plan = rope.plan(q_heads.shape, k_heads.shape);
  if (!angles || !plan) {
    std::cerr << (angles ? plan.status() : angles.status()).message() << '\n';
    return 3;
  }

  // The fastest of several rounds; every round times all three, so that a busy moment hits all alike.
  double pass = HUGE_VAL, rotation = HUGE_VAL, rows = HUGE_VAL;
  for (int round = 0; round < rounds; ++round) {
    pass = std::min(pass, seconds([&] { scale(q.data(), q.size(), -1), scale(k.data(), k.size(), -1); }));
    rotation = std::min(rotation, seconds([&] { plan->run(*angles, q_heads, k_heads).value(); }));
    rows = std::min(rows, seconds([&] { angles->refill(rotary::Positions::range(0, tokens)).value(); }));
  }
  const double megabytes = static_cast<double>((q.size() + k.size()) * sizeof(float)) / 1e6;
  std::printf("  %.1f MB of f32 q and k, %lld tokens, one thread, kernel %.*s\n", megabytes,
              static_cast<long long>(tokens), static_cast<int>(plan->kernel().size()), plan->kernel().data());
  std::printf("  one pass (load, scale, store)  %7.3f ms\n", pass * 1e3);
  std::printf("  rotation of q and k, in place  %7.3f ms   %.2f of a pass\n", rotation * 1e3,
              rotation / pass);
  std::printf("  angles, once a forward pass    %7.3f ms\n", rows * 1e3);
  return 0;
}
