// SPDX-License-Identifier: Apache-2.0
// One element to the type it is computed in and back.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <rotary/dtype.hpp>

namespace rotary::impl {

inline double load(double value) noexcept { return value; }
inline float load(float value) noexcept { return value; }
inline float load(f16 value) noexcept { return to_float(value); }
inline float load(bf16 value) noexcept { return to_float(value); }

/// To float by "round to odd": an inexact result gets its last bit set, so that rounding it again to 16 bits
/// gives what rounding the double once would.
inline float to_odd_float(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !std::isfinite(nearest)) return nearest;
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (bits & 1u) return nearest;
  return std::nextafter(nearest, nearest < value ? HUGE_VALF : -HUGE_VALF);
}

inline float to_odd_float(float value) noexcept { return value; }

inline void store(double& out, double value) noexcept { out = value; }
inline void store(float& out, double value) noexcept { out = static_cast<float>(value); }
inline void store(float& out, float value) noexcept { out = value; }
inline void store(f16& out, float value) noexcept { out = std::isnan(value) ? f16{0x7E00} : to_f16(value); }
inline void store(bf16& out, float value) noexcept {
  out = std::isnan(value) ? bf16{0x7FC0} : to_bf16(value);
}
inline void store(f16& out, double value) noexcept { store(out, to_odd_float(value)); }
inline void store(bf16& out, double value) noexcept { store(out, to_odd_float(value)); }

}  // namespace rotary::impl
