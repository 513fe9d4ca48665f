// SPDX-License-Identifier: Apache-2.0
// cos and sin of a row of angles as floats: the inner loop of making rows, once for each SIMD target, all with
// the same bits. An angle comes as a phase (a turn is 2^64) or as a float in radians.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/run.hpp"

namespace rotary::impl {

/// Where a row goes, and what becomes of its numbers before they are rounded to float.
struct RowOut {
  float *cos, *sin;
  double factor;          ///< of both
  bool mirrored = false;  ///< by -angle: the sines change sign
};

/// The same of doubles, for heads of f64.
struct WideRowOut {
  double *cos, *sin;
  double factor;  ///< of both
};

struct RowMaker {
  std::string_view name;
  bool (*available)() noexcept;
  /// Of phase_i = distance * (fraction_i + guard_i / 2^32); distance and guards below 2^32.
  void (*of_distance)(std::uint64_t distance, const std::uint64_t* fraction, const std::uint64_t* guard,
                      std::int64_t count, const RowOut& out) noexcept;
  /// Rows of a run, each with the bits that of_distance gives it; `first` is where that of run.distance goes.
  void (*of_run)(const RowRun& run, const PairTurns& turns, const RowOut& first) noexcept;
  void (*of_phases)(const std::uint64_t* phase, std::int64_t count, const RowOut& out) noexcept;
  /// Of floats of a size up to max_radians; each number is rounded, multiplied by the factor in float and
  /// rounded again. Never mirrored: the sign is in the angle.
  void (*of_radians)(const float* radians, std::int64_t count, const RowOut& out) noexcept;
  /// By the operations of sincos_of_phase.
  void (*wide_of_phases)(const std::uint64_t* phase, std::int64_t count, const WideRowOut& out) noexcept;
};

inline constexpr float max_radians = 0x1p30f;

/// The fastest first. The last is the scalar one, which every machine has: the definition of the bits.
std::span<const RowMaker> row_makers() noexcept;
/// The first that this machine has.
const RowMaker& best_row_maker() noexcept;

}  // namespace rotary::impl
