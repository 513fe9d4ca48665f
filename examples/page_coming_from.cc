// SPDX-License-Identifier: Apache-2.0
// The code of docs/coming-from.md.
#include <cmath>
#include <cstdio>
#include <rotary/rotary.hpp>
#include <vector>

namespace {

using namespace rotary;

constexpr std::int64_t head_dim = 64, heads = 4, kv_heads = 1, tokens = 3;
constexpr std::int64_t lanes = (heads + 2 * kv_heads) * head_dim;

/// One token's packed qkv after the next: heads of q, one of k, one of v.
std::vector<float> packed_qkv() {
  std::vector<float> qkv(tokens * lanes);
  for (std::size_t i = 0; i < qkv.size(); ++i) qkv[i] = static_cast<float>(i % 7) - 3;
  return qkv;
}
float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

int main() {
  const std::vector<std::int64_t> position_ids = {6000, 6001, 6002};

  const Model model = Model::from_preset("llama-3.2-1b", {.policy = AnglePolicy::fp32}).value();
  const Rope rope = model.rope_for_layer(0).value();
  const Angles angles = rope.angles(Positions::ids(position_ids).value()).value();
  std::vector<float> qkv = packed_qkv();
  const auto q = thd(qkv.data(), tokens, heads, head_dim).with_token_stride(lanes);
  const auto k = thd(qkv.data() + heads * head_dim, tokens, kv_heads, head_dim).with_token_stride(lanes);
  rope.rotate(angles, q, k).value();

  std::vector<float> cos(tokens * head_dim / 2), sin(cos.size());
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::size_t at = static_cast<std::size_t>(t) * head_dim / 2;
    angles.row(0, t, std::span(cos).subspan(at, head_dim / 2), std::span(sin).subspan(at, head_dim / 2))
        .value();
  }
  const AngleTable table = {.cos = cos, .sin = sin, .rows = tokens, .width = head_dim / 2};
  const Rope by_table = Rope::from_table(table, {.pairing = Pairing::half_split}).value();
  std::vector<float> again = packed_qkv();
  const auto q2 = thd(again.data(), tokens, heads, head_dim).with_token_stride(lanes);
  const auto k2 = thd(again.data() + heads * head_dim, tokens, kv_heads, head_dim).with_token_stride(lanes);
  by_table.rotate(by_table.angles(Positions::range(0, tokens)).value(), q2, k2).value();
  std::printf("by the model's description and by its table: largest difference %g\n",
              static_cast<double>(largest_difference(qkv, again)));

  std::vector<float> sbhd(4 * 2 * heads * head_dim);  // [tokens 4, batch 2, heads, head_dim]
  const auto view = bthd(sbhd.data(), 2, 4, heads, head_dim)
                        .with_token_stride(2 * heads * head_dim)
                        .with_batch_stride(heads * head_dim);
  rope.rotate(rope.angles(Positions::range(0, 4)).value(), view).value();

  std::vector<double> periods(head_dim / 2);  // MLX's freqs: positions a radian
  for (std::size_t i = 0; i < periods.size(); ++i) periods[i] = std::pow(10000.0, 2.0 * i / head_dim);
  std::vector<double> inv_freq;
  for (const double period : periods) inv_freq.push_back(1 / period);
  const Spectrum own = Spectrum::from_inv_freq(inv_freq).value();
  std::printf("pair 31 turns %.6g radians a position\n", own.inv_freq()[31]);
}
