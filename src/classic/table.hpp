// SPDX-License-Identifier: Apache-2.0
// What the three ways share: memory for a table, and a rotation by one.
#pragma once

#include <memory>
#include <rotary/classic.hpp>

#include "base/allocate.hpp"
#include "base/message.hpp"

namespace rotary::impl {

/// A table's memory. The error names the count that asked for it: "end 1099511627776: ...".
template <class T>
Result<std::shared_ptr<T[]>> make_rows(std::string_view what, std::int64_t rows, std::int64_t width) {
  if (rows < 0) return invalid(what, " ", rows, ": must not be negative");
  std::shared_ptr<T[]> data = allocate<T>(rows, width);
  if (data == nullptr)
    return invalid(what, " ", rows, ": that many rows of ", width, " do not fit in memory");
  return data;
}

/// Whole heads turn by the rows of `table`; k may be null.
Status rotate_by(const AngleTable& table, Pairing pairing, const Positions& positions, const Operand& q,
                 const Operand* k = nullptr);

/// (x, y) -> (-y, x) for every pair of whole heads; `what` names the caller in messages.
Status quarter_turn(std::string_view what, Pairing pairing, const Operand& x);

}  // namespace rotary::impl
