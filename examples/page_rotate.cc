// SPDX-License-Identifier: Apache-2.0
// The code of docs/rotate.md.
#include <cstdio>
#include <numbers>
#include <rotary/kernels.hpp>
#include <rotary/rope.hpp>
#include <thread>
#include <vector>

namespace {

using namespace rotary;

/// One thread a range; a real one would keep its threads.
class Threads : public Executor {
 public:
  int workers() const noexcept override { return 2; }
  bool inside() const noexcept override { return inside_; }
  void run(std::int64_t tasks, Body body, void* context) noexcept override {
    std::thread other([=] {
      inside_ = true;
      body(context, 0, tasks / 2);
    });
    inside_ = true;
    body(context, tasks / 2, tasks);
    inside_ = false;
    other.join();
  }

 private:
  static inline thread_local bool inside_ = false;
};

void print(const char* what, const std::vector<float>& lanes) {
  std::printf("%-20s", what);
  for (const float lane : lanes) std::printf(" %5.4g", static_cast<double>(lane));
  std::printf("\n");
}

/// Every pair turns by a quarter a position.
Rope quarters(std::size_t pairs, RopeOptions options, double attention_factor = 1) {
  const std::vector<double> quarter(pairs, std::numbers::pi / 2);
  options.spectrum = Spectrum::from_inv_freq(quarter, attention_factor).value();
  return Rope::make(options).value();
}

}  // namespace

int main() {
  const Positions one = Positions::range(1, 2);
  std::vector<float> x;
  print("x", {1, 2, 3, 4, 5, 6, 7, 8});
  for (const auto pairing : {Pairing::half_split, Pairing::interleaved, Pairing::interleaved_to_half}) {
    const Rope rope = quarters(4, {.pairing = pairing});
    x = {1, 2, 3, 4, 5, 6, 7, 8};
    rope.rotate(rope.angles(one).value(), bthd(x.data(), 1, 1, 1, 8)).value();
    print(name(pairing).data(), x);
  }

  const Rope window = quarters(2, {.head_dim = 8, .rotary_offset = 2});
  x = {1, 2, 3, 4, 5, 6, 7, 8};
  window.rotate(window.angles(one).value(), bthd(x.data(), 1, 1, 1, 8)).value();
  print("lanes 2 to 5", x);

  const Rope forward = quarters(1, {}, 2);
  const auto angles = forward.angles(one).value();
  for (const Rope& rope : {forward, forward.inverse(), forward.gradient(), forward.inverse().gradient()}) {
    x = {1, 3};
    rope.rotate(angles, bthd(x.data(), 1, 1, 1, 2)).value();
    print(name(rope.direction()).data(), x);
  }

  const std::int64_t tokens = 512, heads = 4, kv_heads = 1, head_dim = 64;
  const Rope rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = 64}).value()}).value();
  const auto row = rope.angles(Positions::range(0, tokens)).value();

  const std::int64_t width = (heads + 2 * kv_heads) * head_dim;
  std::vector<float> qkv(tokens * width, 1);
  const auto q = thd(qkv.data(), tokens, heads, head_dim).with_token_stride(width);
  const auto k = thd(qkv.data() + heads * head_dim, tokens, kv_heads, head_dim).with_token_stride(width);
  rope.rotate(row, q, k).value();

  std::vector<float> q_out(tokens * heads * head_dim), k_out(tokens * kv_heads * head_dim);
  const auto to_q = thd(q_out.data(), tokens, heads, head_dim);
  const auto to_k = thd(k_out.data(), tokens, kv_heads, head_dim);
  rope.rotate(row, {q, to_q}, {k, to_k}).value();

  const auto one_lane_on = thd(qkv.data() + 1, tokens, heads, head_dim).with_token_stride(width);
  std::printf("%s\n", rope.rotate(row, {q, one_lane_on}).message().c_str());

  Threads threads;
  const auto plan = rope.plan(q.shape, k.shape, {.executor = &threads}).value();
  for (int layer = 0; layer < 4; ++layer) plan.run(row, q, k).value();
  std::printf("%s\n", plan.run(row, to_q, k).message().c_str());
}
