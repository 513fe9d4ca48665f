// SPDX-License-Identifier: Apache-2.0
/// @file
/// A Spectrum says how fast each pair turns, and which position axis drives it.
///
///     auto plain  = rotary::Spectrum::make({.rotary_dim = 128, .base = 500000}).value();
///     auto llama3 = rotary::Spectrum::make({.rotary_dim = 128, .base = 500000,
///                                           .scaling = rotary::scaling::Llama3{.factor = 8}}).value();
///     llama3.inv_freq()[63];   // 3.06892599e-07 radians a position
#pragma once

#include <cstdint>
#include <optional>
#include <rotary/axes.hpp>
#include <rotary/export.hpp>
#include <rotary/scaling.hpp>
#include <rotary/status.hpp>
#include <span>
#include <vector>

namespace rotary {

/// From what a Spectrum is computed.
struct SpectrumOptions {
  std::int64_t rotary_dim = -1;  ///< lanes that turn, required; even; 0 is a rope that turns nothing
  double base = 10000;           ///< rope_theta, freq_base; > 0
  Scaling scaling = {};          ///< default: none
  /// Which position axis drives which pair: axis_sections[a] pairs take axis a, in this order. Empty: every pair
  /// takes axis 0. Qwen2-VL: {16, 24, 24} for (t, h, w), contiguous. Other maps: Spectrum::with_axis.
  std::vector<std::int64_t> axis_sections = {};
  AxisOrder axis_order = AxisOrder::contiguous;
  /// Tokens of the sequence, at most, for types whose frequencies depend on it (dynamic, longrope). Empty:
  /// those of the original length. Choose it once a sequence: keys that are cached keep their frequencies.
  std::optional<std::int64_t> length = {};
};

/// One schedule of a joined spectrum.
struct SpectrumPart {
  std::int64_t pairs = 0;
  std::optional<double> base = {};  ///< empty: frequencies of the caller's own
  Scaling scaling = {};

  friend bool operator==(const SpectrumPart&, const SpectrumPart&) = default;
};

class ROTARY_API Spectrum {
 public:
  /// The widest rotary window, lanes.
  static constexpr std::int64_t max_rotary_dim = 8192;
  /// The most axes that positions may have.
  static constexpr std::int64_t max_axes = 8;

  /// The named formula, in double. Errors: odd, negative or too large rotary_dim, base not positive and
  /// finite in fp32, a length under 1, sections that do not sum to the pairs or that the order cannot place
  /// (axis_map), and whatever the scaling type refuses.
  static Result<Spectrum> make(const SpectrumOptions& options);

  /// Inverse frequencies of the caller's own, radians per position step, one a pair; finite in fp32, may be 0
  /// or negative. Errors: none, a number that is not, a list that grows from 1 (the reciprocals), too many pairs,
  /// attention_factor not positive and finite in fp32.
  static Result<Spectrum> from_inv_freq(std::span<const double> inv_freq, double attention_factor = 1);

  /// The reciprocals of inverse frequencies, positions a radian, as MLX's `freqs` has them: positive, infinity for
  /// a pair that does not turn. Errors: those of from_inv_freq; a number that is not positive; a list that falls
  /// from 1, as inverse frequencies do.
  static Result<Spectrum> from_periods(std::span<const double> periods, double attention_factor = 1);

  /// One spectrum for several axes, each with a schedule of its own: the pairs of parts[a] follow axis a and
  /// lie, in their order, where axis_map has axis a (Cosmos: one NtkAlpha an axis, in runs; LTX-Video: three
  /// Ltx, in turns). The parts have one axis each and the same attention_factor and softmax_factor.
  static Result<Spectrum> join(std::span<const Spectrum> parts, AxisOrder order = AxisOrder::contiguous);

  /// Axes of equal standing: axis a has rotary_dims[a] lanes and the schedule base^(-2i / rotary_dims[a]) of
  /// its own. Flux: {16, 56, 56}, base 10000. Errors: as make and join.
  static Result<Spectrum> axial(std::span<const std::int64_t> rotary_dims, double base,
                                AxisOrder order = AxisOrder::contiguous);

  /// The same spectrum with a map of the caller's own: axis[i] in [0, max_axes) drives pair i.
  Result<Spectrum> with_axis(std::span<const std::uint8_t> axis) const;

  /// Each pair divided once more, after the scaling, which stays named: a GGUF's rope_freqs beside its YaRN. As
  /// scaling::Divided, which is the same without another scaling: one positive number a pair, 1e30 and more for one
  /// that does not turn. Errors: another number of them, one that is not positive.
  Result<Spectrum> divided_by(std::span<const double> divisors) const;

  std::int64_t pairs() const noexcept { return static_cast<std::int64_t>(inv_freq_.size()); }
  /// Radians per position step, one a pair, every scaling applied, in double.
  std::span<const double> inv_freq() const noexcept { return inv_freq_; }
  /// The same formula with each step rounded to fp32, as Transformers and vLLM compute it (angle policy
  /// fp32).
  std::span<const float> inv_freq_fp32() const noexcept { return inv_freq_fp32_; }
  /// The axis of each pair.
  std::span<const std::uint8_t> axis() const noexcept { return axis_; }
  /// Number of axes the positions must have: the largest of axis(), plus one.
  std::int64_t axes() const noexcept;

  /// A: multiplies cos and sin.
  double attention_factor() const noexcept { return attention_factor_; }
  /// Multiplies 1/sqrt(head_dim) on the attention side; never folded into A.
  double softmax_factor() const noexcept { return softmax_factor_; }

  /// The base; empty for frequencies of the caller's own, and of parts with several.
  std::optional<double> base() const noexcept { return base_; }
  /// Of joined parts, theirs where all have the same; else none, and parts() has each one's.
  const Scaling& scaling() const noexcept { return scaling_; }
  /// What join put together, in its order; empty for a spectrum of one formula or list.
  std::span<const SpectrumPart> parts() const noexcept { return parts_; }
  /// Of divided_by, or empty.
  std::span<const double> divisors() const noexcept { return divisors_; }

  friend bool operator==(const Spectrum&, const Spectrum&) = default;

 private:
  std::vector<double> inv_freq_;
  std::vector<float> inv_freq_fp32_;
  std::vector<std::uint8_t> axis_;
  double attention_factor_ = 1;
  double softmax_factor_ = 1;
  std::optional<double> base_;
  Scaling scaling_;
  std::vector<double> divisors_;
  std::vector<SpectrumPart> parts_;
};

}  // namespace rotary
