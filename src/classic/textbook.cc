// SPDX-License-Identifier: Apache-2.0
#include "classic/table.hpp"

namespace rotary::classic::textbook {

Result<RoPE> RoPE::make(std::int64_t dim, double base) {
  const auto formula = Spectrum::make({.rotary_dim = dim, .base = base});
  if (!formula) return formula.status();
  // base^(-2i/dim) rounded to fp32 once, as written here; the others divide 1 by a rounded power.
  const auto spectrum = Spectrum::from_inv_freq(formula->inv_freq());
  if (!spectrum) return spectrum.status();
  auto rope =
      Rope::make({.spectrum = *spectrum, .pairing = Pairing::interleaved, .policy = AnglePolicy::fp32});
  if (!rope) return rope.status();
  return RoPE(*std::move(rope));
}

Status RoPE::operator()(const Positions& positions, const Operand& x) const {
  const auto angles = rope_.angles(positions, Rows::on_the_way);
  if (!angles) return angles.status();
  return rope_.rotate(*angles, x);
}

Status rotate_every_two(const Operand& x) {
  return impl::quarter_turn("rotate_every_two", Pairing::interleaved, x);
}

}  // namespace rotary::classic::textbook
