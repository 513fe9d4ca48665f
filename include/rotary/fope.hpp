// SPDX-License-Identifier: Apache-2.0
/// @file
/// FoPE: cos and sin of the frequencies that a training length shows whole, mixed by learned matrices, one pair of
/// them a key head. Source: Hua et al. 2024, arXiv:2412.17739, as vLLM and SGLang compute it.
///
///     auto kept   = rotary::fope_spectrum({.rotary_dim = 128, .base = 500000}, 4096).value();
///     auto tables = rotary::fope_tables(kept, {.cos = c, .sin = s, .heads = kv_heads}, tokens, 64).value();
///     auto rope   = rotary::Rope::from_table(tables[h].view(), {}).value();   // for key head h and its queries
///
/// The rows are not on the unit circle: Rope::inverse() divides by their length, pair by pair.
#pragma once

#include <cstdint>
#include <optional>
#include <rotary/angles.hpp>
#include <rotary/export.hpp>
#include <rotary/spectrum.hpp>
#include <rotary/status.hpp>
#include <span>
#include <vector>

namespace rotary {

/// Of the pairs of a spectrum, those that FoPE keeps: the first num_inv_freq, or, without one, those that turn at
/// least once within max_position_embeddings tokens. Errors: those of Spectrum::make, no pair kept.
ROTARY_API Result<Spectrum> fope_spectrum(const SpectrumOptions& options,
                                          std::int64_t max_position_embeddings,
                                          std::optional<std::int64_t> num_inv_freq = {});

/// The learned matrices, [heads, kept, kept]: the sum over D of cos(p W_D) cos[h][D][d] is the cosine of pair d. One
/// head where all share them (fope_sep_head false).
struct FopeCoefficients {
  std::span<const float> cos, sin;
  std::int64_t heads = 1;
};

/// Positions 0 to rows - 1 of one head, [rows, pairs] each.
struct FopeTable {
  std::vector<float> cos, sin;
  std::int64_t rows = 0, pairs = 0;

  /// Valid as long as the table is.
  AngleTable view() const noexcept { return {.cos = cos, .sin = sin, .rows = rows, .width = pairs}; }
};

/// One table a head; summed in double, rounded once. Pairs behind the kept ones do not turn (cosine 1, sine 0).
/// Errors: matrices of another size, fewer pairs than are kept, several axes, more numbers than memory holds.
ROTARY_API Result<std::vector<FopeTable>> fope_tables(const Spectrum& kept,
                                                      const FopeCoefficients& coefficients, std::int64_t rows,
                                                      std::int64_t pairs);

}  // namespace rotary
