// SPDX-License-Identifier: Apache-2.0
#include "classic/table.hpp"

#include <vector>

namespace rotary {

template <class T>
Result<classic::Table<T>> classic::Table<T>::slice(std::int64_t first, std::int64_t last) const {
  if (first < 0 || last < first || last > rows) {
    return impl::failure(StatusCode::out_of_range, "rows ", first, ":", last, ": the table has 0:", rows);
  }
  return Table{{data, data.get() + first * width}, last - first, width};
}
template struct classic::Table<float>;
template struct classic::Table<std::complex<float>>;

namespace impl {

Status rotate_by(const AngleTable& table, Pairing pairing, const Positions& positions, const Operand& q,
                 const Operand* k) {
  // Without tokens there are no rows, yet the operands must fit: any row will do.
  const std::vector<float> any(static_cast<std::size_t>(table.rows == 0 ? table.width : 0));
  const AngleTable one_row{any, any, 1, table.width, table.rotary_dim};
  const auto rope = Rope::from_table(table.rows == 0 ? one_row : table, {.spectrum = {}, .pairing = pairing});
  if (!rope) return rope.status();
  const auto angles = rope->angles(positions, Rows::on_the_way);
  if (!angles) return angles.status();
  return k != nullptr ? rope->rotate(*angles, q, *k) : rope->rotate(*angles, q);
}

Status quarter_turn(std::string_view what, Pairing pairing, const Operand& x) {
  const std::int64_t head_dim = x.in.shape.head_dim;
  if (head_dim < 2 || head_dim % 2 != 0 || head_dim > Rope::max_rotary_dim) {
    return invalid(what, ": head_dim ", head_dim, ": must be even, from 2 to ", Rope::max_rotary_dim);
  }
  const std::vector<float> zero(static_cast<std::size_t>(head_dim / 2), 0.0f), one(zero.size(), 1.0f);
  const auto standing_still = Positions::spaced(0, 0, x.in.shape.tokens);
  if (!standing_still) return standing_still.status();
  return rotate_by({zero, one, 1, head_dim / 2, head_dim}, pairing, *standing_still, x);
}

}  // namespace impl
}  // namespace rotary
