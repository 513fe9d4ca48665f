// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/message.hpp"
#include "positions/fixed_point.hpp"

namespace rotary {

double to_double(Position position) noexcept {
  return static_cast<double>(impl::to_fixed(position)) * 0x1p-64;
}

Result<Position> to_position(double value) {
  if (!(std::fabs(value) <= 0x1p53)) {
    return impl::invalid("position ", value, ": must be finite and at most 2^53 in magnitude");
  }
  return impl::from_fixed(static_cast<impl::int128>(std::rint(std::ldexp(value, 64))));
}

}  // namespace rotary
