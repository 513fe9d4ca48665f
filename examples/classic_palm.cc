// SPDX-License-Identifier: Apache-2.0
// The PaLM and Baichuan way: cos and sin as wide as the head, pairs of one lane from each half,
// [batch, heads, tokens, head_dim]. At the end, the lane order that makes it the LLaMA way.
#include <cstdio>
#include <numeric>
#include <rotary/classic.hpp>
#include <vector>

namespace palm = rotary::classic::palm;

namespace {

constexpr int batch = 1, heads = 1, tokens = 2, head_dim = 8;

void print(const char* what, const float* lanes) {
  std::printf("%-12s", what);
  for (int i = 0; i < head_dim; ++i) std::printf(" %9.4f", static_cast<double>(lanes[i]));
  std::printf("\n");
}

/// Both tokens at positions first and first + 1.
void rotate(const palm::RotaryEmbedding& rotary_emb, std::int64_t first, std::vector<float>& q,
            std::vector<float>& k) {
  const auto [cos, sin] = rotary_emb(first + tokens).value();
  const std::vector<std::int64_t> position_ids = {first, first + 1};
  palm::apply_rotary_pos_emb(rotary::bhtd(q.data(), batch, heads, tokens, head_dim),
                             rotary::bhtd(k.data(), batch, heads, tokens, head_dim), cos, sin,
                             rotary::Positions::ids(position_ids, batch, tokens).value())
      .value();
}

/// q . k of the first query and the second key.
double score(const std::vector<float>& q, const std::vector<float>& k) {
  return std::inner_product(q.begin(), q.begin() + head_dim, k.begin() + head_dim, 0.0);
}

/// P: the lanes x0 y0 x1 y1 ... of each head to x0 x1 ... y0 y1 ...
std::vector<float> to_halves(const std::vector<float>& x) {
  std::vector<float> halves(x.size());
  for (std::size_t head = 0; head < x.size(); head += head_dim) {
    for (std::size_t i = 0; i < head_dim / 2; ++i) {
      halves[head + i] = x[head + 2 * i];
      halves[head + i + head_dim / 2] = x[head + 2 * i + 1];
    }
  }
  return halves;
}

}  // namespace

int main() {
  const std::vector<float> xq = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> xk = {8, 7, 6, 5, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1};
  const auto rotary_emb = palm::RotaryEmbedding::make(head_dim).value();
  std::printf("rows of the cache: %d", static_cast<int>(rotary_emb.max_seq_len_cached()));
  const auto [cos, sin] = rotary_emb(3001).value();
  std::printf(", after a call with 3001 at least %d\n", static_cast<int>(cos.rows));
  print("cos 3000", cos[3000].data());
  print("sin 3000", sin[3000].data());

  auto q = xq, k = xk;
  rotate(rotary_emb, 1000, q, k);
  print("q at 1000", q.data());
  print("q at 1001", q.data() + head_dim);
  print("k at 1000", k.data());
  print("k at 1001", k.data() + head_dim);
  std::printf("score of 1000 and 1001: %.2f\n", score(q, k));
  q = xq, k = xk;
  rotate(rotary_emb, 0, q, k);
  std::printf("score of    0 and    1: %.2f\n", score(q, k));

  // The same model with its lanes in the other order, as a converted checkpoint has them.
  q = to_halves(xq), k = to_halves(xk);
  print("P q", q.data());
  rotate(rotary_emb, 1000, q, k);
  print("P q at 1000", q.data());
  print("P q at 1001", q.data() + head_dim);
  std::printf("score of 1000 and 1001: %.2f\n", score(q, k));
}
