// SPDX-License-Identifier: Apache-2.0
// Steps of the fp32 policies, each rounded once and the same on every machine.
#pragma once

#include <cmath>
#include <rotary/positions.hpp>

namespace rotary::impl {

/// Nearest float; a whole position is rounded once whatever its size.
inline float to_float(Position position) noexcept {
  return position.fraction == 0 ? static_cast<float>(position.whole)
                                : static_cast<float>(to_double(position));
}

/// In double first: cosf and sinf differ between C libraries.
inline float cos_fp32(float angle) noexcept {
  return static_cast<float>(std::cos(static_cast<double>(angle)));
}
inline float sin_fp32(float angle) noexcept {
  return static_cast<float>(std::sin(static_cast<double>(angle)));
}

}  // namespace rotary::impl
