// SPDX-License-Identifier: Apache-2.0
// A frequency in turns a step, as a binary fraction wide enough that no position in 64 bits loses any of it.
#pragma once

#include <cstdint>

namespace rotary::impl {

/// turns + (fraction + guard / 2^64) / 2^64, modulo 2^64 turns; negative frequencies in two's complement.
struct Frequency {
  std::uint64_t turns = 0;
  std::uint64_t fraction = 0;
  std::uint64_t guard = 0;
};

/// inv_freq / 2 pi to the last bit of the guard, for every finite double.
Frequency frequency_in_turns(double inv_freq) noexcept;

}  // namespace rotary::impl
