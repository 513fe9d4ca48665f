// SPDX-License-Identifier: Apache-2.0
// The LLaMA way: complex numbers of magnitude 1 on adjacent lanes, [batch, tokens, heads, head_dim].
#include <cstdio>
#include <numeric>
#include <rotary/classic.hpp>
#include <vector>

namespace llama = rotary::classic::llama;

namespace {

constexpr int batch = 1, tokens = 2, heads = 1, head_dim = 8;

void print(const char* what, const float* lanes) {
  std::printf("%-12s", what);
  for (int i = 0; i < head_dim; ++i) std::printf(" %9.4f", static_cast<double>(lanes[i]));
  std::printf("\n");
}

/// q . k of the tokens at start_pos and start_pos + 1, both rotated.
double rotate(const llama::FreqsCis& freqs_cis, int start_pos, std::vector<float>& xq,
              std::vector<float>& xk) {
  xq = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8};
  xk = {8, 7, 6, 5, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1};
  const auto now = freqs_cis.slice(start_pos, start_pos + tokens).value();
  llama::apply_rotary_emb(rotary::bthd(xq.data(), batch, tokens, heads, head_dim),
                          rotary::bthd(xk.data(), batch, tokens, heads, head_dim), now)
      .value();
  return std::inner_product(xq.begin(), xq.begin() + head_dim, xk.begin() + head_dim, 0.0);
}

}  // namespace

int main() {
  const auto freqs_cis = llama::precompute_freqs_cis(head_dim, 4096).value();
  std::printf("freqs_cis %d x %d, row 1000:", static_cast<int>(freqs_cis.rows),
              static_cast<int>(freqs_cis.width));
  for (const std::complex<float>& turn : freqs_cis[1000]) {
    std::printf(" %.4f%+.4fi", static_cast<double>(turn.real()), static_cast<double>(turn.imag()));
  }
  std::printf("\n");

  std::vector<float> xq, xk;
  const double score = rotate(freqs_cis, 1000, xq, xk);
  print("xq at 1000", xq.data());
  print("xq at 1001", xq.data() + head_dim);
  print("xk at 1000", xk.data());
  print("xk at 1001", xk.data() + head_dim);
  std::printf("score of 1000 and 1001: %.2f\n", score);
  std::printf("score of    0 and    1: %.2f\n", rotate(freqs_cis, 0, xq, xk));
}
