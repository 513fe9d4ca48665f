// SPDX-License-Identifier: Apache-2.0
// Rows of consecutive positions by the addition theorem, with the bits that each row has when made alone:
//
//     cos(a + b) = cos a cos b - sin a sin b      sin(a + b) = sin a cos b + cos a sin b
//
// a is the angle of the run's first row, b that of up to 15 steps. Cosines and sines are off by at most 2^-43 of
// themselves (sine_series.hpp), those of a, of b and of the row made alone; so the sums are off by 2^-42 and some
// roundings of their terms' sizes, and both ways are less than 2^-41 of these apart. The terms of a cosine add up to at
// most 1, those of a sine to |sin a| + |sin b|. Each of the three phases is off by less than two units, 2^-58 radians
// together. A number is taken where it rounds to one float from run_error of its terms, and 2^-58, below to as much
// above it; any other is made alone: about one vector of 8 in 500, more only near a quarter turn of a slow pair.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/wide_sines.hpp"

namespace rotary::impl {

inline constexpr std::int64_t run_rows = 16;
/// Twice what was shown.
inline constexpr double run_error = 0x1p-40;
/// Of a pair that turns at all.
inline constexpr double run_phase_error = 0x1p-58;

/// How far each pair turns in a step.
struct PairTurns {
  std::int64_t count;
  const std::uint64_t *fraction, *guard;  ///< fraction_i + guard_i / 2^32; guards below 2^32
  const double* steps;                    ///< [run_rows, 2, count]: cos and sin of 0, 1, ... steps
  const double* slack;  ///< [count]: run_error times the largest sine of steps, and the phase error
};

/// Memory for the steps and the slack of PairTurns.
struct Steps {
  std::vector<double> steps, slack;

  Steps() = default;
  Steps(std::span<const std::uint64_t> fraction, std::span<const std::uint64_t> guard)
      : steps(run_rows * 2 * fraction.size()), slack(fraction.size()) {
    const std::size_t pairs = fraction.size();
    for (std::size_t t = 0; t < run_rows; ++t) {
      double *const cos = steps.data() + t * 2 * pairs, *const sin = cos + pairs;
      for (std::size_t i = 0; i < pairs; ++i) {
        const CosSin turn = sincos_of_phase(t * fraction[i] + ((t * guard[i]) >> 32));
        cos[i] = turn.cos;
        sin[i] = turn.sin;
        slack[i] = std::max(slack[i], run_error * std::fabs(turn.sin));
      }
    }
    for (std::size_t i = 0; i < pairs; ++i) {
      if ((fraction[i] | guard[i]) != 0) slack[i] += run_phase_error;
    }
  }
};

/// `rows` rows, at most run_rows, of distance, distance + 1, ..., below 2^32.
struct RowRun {
  std::uint64_t distance;
  std::int64_t rows;
  std::int64_t stride;  ///< floats from one row to the next
};

}  // namespace rotary::impl
