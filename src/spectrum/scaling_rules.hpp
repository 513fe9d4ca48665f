// SPDX-License-Identifier: Apache-2.0
// What a scaling type owes a Spectrum: one overload of frequencies() each, in a file of its own.
//
// A rule is written once, over the real type, and evaluated twice: in double, and in float with every step
// rounded as Transformers rounds it. It takes base^(2i/rotary_dim), as published code does, rather than its
// reciprocal.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <rotary/spectrum.hpp>
#include <rotary/status.hpp>
#include <string_view>
#include <vector>

#include "base/message.hpp"

namespace rotary::impl {

struct Frequencies {
  std::vector<double> inv_freq;
  std::vector<float> inv_freq_fp32;
  double attention_factor = 1;
  double softmax_factor = 1;
};

// The registry. Spectrum::make has checked rotary_dim, base and length of the options.
Result<Frequencies> frequencies(const scaling::None&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Linear&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Llama3&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Yarn&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::DynamicNtk&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::NtkAlpha&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Ntk&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::LongRope&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Proportional&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Divided&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::DeepseekYarn&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Telechat3Yarn&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Windows&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Pixel&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Constant&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Ltx&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Dinov3&, const SpectrumOptions&);
Result<Frequencies> frequencies(const scaling::Periods&, const SpectrumOptions&);

/// A base for each of the two evaluations: a rule that changes it rounds on the way.
struct Base {
  Base(double both) : exact(both), fp32(static_cast<float>(both)) {}
  Base(double exact_base, float fp32_base) : exact(exact_base), fp32(fp32_base) {}
  double exact;
  float fp32;
};

/// base^(2i/rotary_dim), exponent and power each rounded to Real.
template <class Real>
Real power(Real base, std::int64_t pair, std::int64_t rotary_dim) {
  const Real exponent = static_cast<Real>(2 * pair) / static_cast<Real>(rotary_dim);
  return static_cast<Real>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
}

/// Rule: template <class Real> Real operator()(Real power, std::int64_t pair), the inverse frequency of the
/// pair.
template <class Rule>
Frequencies evaluate(std::int64_t rotary_dim, Base base, const Rule& rule) {
  Frequencies result;
  const std::int64_t pairs = rotary_dim / 2;
  result.inv_freq.reserve(static_cast<std::size_t>(pairs));
  result.inv_freq_fp32.reserve(static_cast<std::size_t>(pairs));
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    result.inv_freq.push_back(rule(power<double>(base.exact, pair, rotary_dim), pair));
    result.inv_freq_fp32.push_back(rule(power<float>(base.fp32, pair, rotary_dim), pair));
  }
  return result;
}

inline bool is_positive(double value) { return std::isfinite(value) && value > 0; }

/// Positive, and neither zero, subnormal nor infinite once rounded to fp32.
inline bool is_normal_in_fp32(double value) {
  using Limits = std::numeric_limits<float>;
  return value >= Limits::min() && value <= Limits::max();
}

inline Status check_positive(std::string_view type, std::string_view key, double value) {
  if (is_positive(value)) return {};
  return invalid(type, ": ", key, " ", value, ": must be positive and finite");
}

inline Status check_factor(std::string_view type, double factor) {
  if (std::isfinite(factor) && factor >= 1) return {};
  return invalid(type, ": factor ", factor,
                 ": must be finite and at least 1 (4 means four times the length)");
}

/// One positive number a pair.
inline Status check_list(std::string_view type, std::string_view key, const std::vector<double>& list,
                         std::int64_t rotary_dim) {
  if (list.size() != static_cast<std::size_t>(rotary_dim / 2)) {
    return invalid(type, ": ", key, ": ", list.size(), " numbers, must be one a pair, rotary_dim ",
                   rotary_dim, " / 2 = ", rotary_dim / 2);
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!is_positive(list[i])) {
      return invalid(type, ": ", key, "[", i, "] ", list[i], ": must be positive and finite");
    }
  }
  return {};
}

}  // namespace rotary::impl
