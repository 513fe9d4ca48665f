// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "classic/table.hpp"

namespace rotary::classic::llama {

Result<FreqsCis> precompute_freqs_cis(std::int64_t dim, std::int64_t end, double base) {
  const auto spectrum = Spectrum::make({.rotary_dim = dim, .base = base});
  if (!spectrum) return spectrum.status();
  const auto rope =
      Rope::make({.spectrum = *spectrum, .pairing = Pairing::interleaved, .policy = AnglePolicy::fp32});
  if (!rope) return rope.status();
  const auto pairs = static_cast<std::size_t>(rope->pairs());
  auto rows = impl::make_rows<std::complex<float>>("end", end, rope->pairs());
  if (!rows) return rows.status();
  const auto angles = rope->angles(Positions::range(0, end), Rows::on_the_way);
  if (!angles) return angles.status();
  std::vector<float> cos(pairs), sin(pairs);
  for (std::int64_t t = 0; t < end; ++t) {
    if (Status status = angles->row(0, t, std::span(cos), std::span(sin)); !status.ok()) return status;
    std::complex<float>* row = rows->get() + t * rope->pairs();
    for (std::size_t i = 0; i < pairs; ++i) row[i] = {cos[i], sin[i]};
  }
  return FreqsCis{{*rows, rows->get()}, end, rope->pairs()};
}

Result<Broadcast> reshape_for_broadcast(const FreqsCis& freqs_cis, const HeadsShape& x) {
  if (x.head_dim % 2 != 0 || freqs_cis.rows != x.tokens || freqs_cis.width != x.head_dim / 2) {
    return impl::invalid("freqs_cis [", freqs_cis.rows, ", ", freqs_cis.width,
                         "]: expected [tokens, head_dim / 2] of x, whose tokens are ", x.tokens,
                         " and head_dim ", x.head_dim);
  }
  return Broadcast{freqs_cis, {1, freqs_cis.rows, 1, freqs_cis.width}};
}

Status apply_rotary_emb(const Operand& xq, const Operand& xk, const FreqsCis& freqs_cis) {
  if (auto fits = reshape_for_broadcast(freqs_cis, xq.in.shape); !fits) return fits.status();
  std::vector<float> cos, sin;
  const auto numbers = static_cast<std::size_t>(freqs_cis.rows * freqs_cis.width);
  cos.reserve(numbers);
  sin.reserve(numbers);
  for (const std::complex<float>& turn : std::span(freqs_cis.data.get(), numbers)) {
    cos.push_back(turn.real());
    sin.push_back(turn.imag());
  }
  return impl::rotate_by({cos, sin, freqs_cis.rows, freqs_cis.width, 2 * freqs_cis.width},
                         Pairing::interleaved, Positions::range(0, freqs_cis.rows), xq, &xk);
}

}  // namespace rotary::classic::llama
