// SPDX-License-Identifier: Apache-2.0
// The code of docs/fused.md.
#include <cmath>
#include <cstdio>
#include <random>
#include <rotary/rope.hpp>
#include <rotary/store.hpp>
#include <vector>

namespace {

using namespace rotary;

std::vector<float> random_lanes(std::int64_t count) {
  std::minstd_rand random(1);
  std::uniform_real_distribution<float> lane(-2, 2);
  std::vector<float> lanes(static_cast<std::size_t>(count));
  for (auto& each : lanes) each = lane(random);
  return lanes;
}

void print(const char* type, const std::vector<float>& lanes) {
  std::printf("%-10s", type);
  for (const float lane : lanes) std::printf(" %9g", static_cast<double>(lane));
  std::printf("\n");
}

float number(std::int8_t code) { return code; }
template <class Element>
float number(Element element) {
  return to_float(element);
}

}  // namespace

int main() {
  const std::int64_t tokens = 4, heads = 8, kv_heads = 2, head_dim = 64;
  const Rope rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = head_dim}).value()}).value();
  const Angles angles = rope.angles(Positions::range(1000, 1000 + tokens)).value();
  const std::vector<float> q_weight(head_dim, 0.8f), k_weight(head_dim, 1.2f);
  std::vector<float> qkv = random_lanes(tokens * (heads + 2 * kv_heads) * head_dim);
  std::vector<float> q_out(tokens * heads * head_dim);
  std::vector<f8_e4m3> k_cached(tokens * kv_heads * head_dim), v_cached(tokens * kv_heads * head_dim);
  const float k_scale = 0.02f, v_scale = 0.01f;

  const std::int64_t width = (heads + 2 * kv_heads) * head_dim;
  const auto q = thd(qkv.data(), tokens, heads, head_dim).with_token_stride(width);
  const auto k = thd(qkv.data() + heads * head_dim, tokens, kv_heads, head_dim).with_token_stride(width);
  const auto v =
      thd(qkv.data() + (heads + kv_heads) * head_dim, tokens, kv_heads, head_dim).with_token_stride(width);
  const auto to_q = thd(q_out.data(), tokens, heads, head_dim);
  const auto k_cache = thd(k_cached.data(), tokens, kv_heads, head_dim);
  const auto v_cache = thd(v_cached.data(), tokens, kv_heads, head_dim);

  const RmsNorm q_norm(q_weight.data(), 1e-6f), k_norm(k_weight.data(), 1e-6f);
  const float query_scale = 1 / std::sqrt(static_cast<float>(head_dim));
  rope.rotate(angles, {q, to_q, {.norm = q_norm, .scale = query_scale}},  // RMS norm, rotation, query scale
              {k, k_cache, {.norm = k_norm, .scale = 1 / k_scale}})       // RMS norm, rotation, cast
      .value();
  store({v, v_cache, {.scale = 1 / v_scale}}).value();  // cast

  // The same, a step at a time.
  std::vector<float> steps(tokens * kv_heads * head_dim);
  std::vector<f8_e4m3> stored(steps.size());
  const auto to_steps = thd(steps.data(), tokens, kv_heads, head_dim);
  store({k, to_steps, {.norm = k_norm}}).value();
  rope.rotate(angles, to_steps).value();
  for (auto& lane : steps) lane *= 1 / k_scale;
  store({to_steps, thd(stored.data(), tokens, kv_heads, head_dim)}).value();
  std::printf("%s\n", stored == k_cached ? "the same bytes" : "other bytes");

  const std::vector<float> x = {0.1f, 0.30f, 2.5f, -17, 126.5f, 460, 1e6f, NAN};
  print("x", x);
  const auto row = thd(x.data(), 1, 1, 8);
  const auto show = [&](const char* type, auto element, Overflow overflow) {
    std::vector<decltype(element)> codes(8);
    store({row, thd(codes.data(), 1, 1, 8), {.overflow = overflow}}).value();
    std::vector<float> back;
    for (const auto code : codes) back.push_back(number(code));
    print(type, back);
  };
  show("f16", f16(), {});
  show("bf16", bf16(), {});
  show("f8_e4m3", f8_e4m3(), Overflow::saturate);
  show("  special", f8_e4m3(), Overflow::special);
  show("f8_e5m2", f8_e5m2(), Overflow::saturate);
  show("  special", f8_e5m2(), Overflow::special);
  show("i8", std::int8_t(), {});

  std::printf("%s\n", rope.rotate(angles, k_cache).message().c_str());
  std::printf("%s\n", rope.rotate(angles, {q, to_q, {.scale = INFINITY}}).message().c_str());
}
