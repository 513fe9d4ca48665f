// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "spectrum/scaling_rules.hpp"

namespace rotary::impl {
namespace {

Status check(const scaling::Llama3& s) {
  if (Status status = check_factor(s.name, s.factor); !status.ok()) return status;
  for (const auto& [key, value] :
       {std::pair{"low_freq_factor", s.low_freq_factor},
        {"high_freq_factor", s.high_freq_factor},
        {"original_max_position_embeddings", s.original_max_position_embeddings}}) {
    if (Status status = check_positive(s.name, key, value); !status.ok()) return status;
  }
  if (s.high_freq_factor < s.low_freq_factor) {
    return invalid(s.name, ": high_freq_factor ", s.high_freq_factor, ": must be at least low_freq_factor ",
                   s.low_freq_factor);
  }
  return {};
}

}  // namespace

Result<Frequencies> frequencies(const scaling::Llama3& s, const SpectrumOptions& options) {
  if (Status status = check(s); !status.ok()) return status;
  const double length = s.original_max_position_embeddings;
  return evaluate(options.rotary_dim, options.base, [&]<class Real>(Real power, std::int64_t) {
    const auto real = [](double value) { return static_cast<Real>(value); };
    const Real inv_freq = Real{1} / power;
    const Real wavelength = real(2 * std::numbers::pi) / inv_freq;
    if (wavelength < real(length / s.high_freq_factor)) return inv_freq;
    // Equal factors are a step: nothing lies between, and the blend would divide by 0.
    if (wavelength > real(length / s.low_freq_factor) || s.low_freq_factor == s.high_freq_factor) {
      return inv_freq / real(s.factor);
    }
    const Real blend =
        (real(length) / wavelength - real(s.low_freq_factor)) / real(s.high_freq_factor - s.low_freq_factor);
    return (Real{1} - blend) * inv_freq / real(s.factor) + blend * inv_freq;
  });
}

}  // namespace rotary::impl
