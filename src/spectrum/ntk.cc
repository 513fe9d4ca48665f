// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "spectrum/scaling_rules.hpp"

namespace rotary::impl {
namespace {

template <class Real>
Real raise(Real value, Real exponent) {
  return static_cast<Real>(std::pow(static_cast<double>(value), static_cast<double>(exponent)));
}

/// base * growth^(d / (d - 2)): stretches the slowest pair by growth and leaves the fastest.
template <class Real>
Real grown(double base, Real growth, std::int64_t rotary_dim) {
  // One pair turns by base^0 whatever the base is.
  if (rotary_dim <= 2) return static_cast<Real>(base);
  const auto d = static_cast<double>(rotary_dim);
  return static_cast<Real>(base) * raise(growth, static_cast<Real>(d / (d - 2)));
}

template <class Real>
Real dynamic_base(const scaling::DynamicNtk& s, const SpectrumOptions& o) {
  const auto length = static_cast<double>(o.length.value_or(0));
  if (length <= s.max_position_embeddings) return static_cast<Real>(o.base);
  const auto real = [](double value) { return static_cast<Real>(value); };
  const Real growth = real(s.factor) * real(length) / real(s.max_position_embeddings) - real(s.factor - 1);
  return grown(o.base, growth, o.rotary_dim);
}

Frequencies with_base(const SpectrumOptions& o, Base base) {
  return evaluate(o.rotary_dim, base, []<class Real>(Real power, std::int64_t) { return Real{1} / power; });
}

}  // namespace

Result<Frequencies> frequencies(const scaling::DynamicNtk& s, const SpectrumOptions& o) {
  if (Status status = check_factor(s.name, s.factor); !status.ok()) return status;
  if (Status status = check_positive(s.name, "max_position_embeddings", s.max_position_embeddings);
      !status.ok()) {
    return status;
  }
  return with_base(o, {dynamic_base<double>(s, o), dynamic_base<float>(s, o)});
}

Result<Frequencies> frequencies(const scaling::NtkAlpha& s, const SpectrumOptions& o) {
  if (Status status = check_positive(s.name, "alpha", s.alpha); !status.ok()) return status;
  return with_base(o, grown(o.base, s.alpha, o.rotary_dim));
}

Result<Frequencies> frequencies(const scaling::Ntk& s, const SpectrumOptions& o) {
  if (Status status = check_factor(s.name, s.factor); !status.ok()) return status;
  const auto d = static_cast<double>(o.rotary_dim);
  if (!s.mixed_b) {
    return evaluate(o.rotary_dim, o.base * s.factor, [&]<class Real>(Real power, std::int64_t) {
      return Real{1} / power / static_cast<Real>(std::pow(s.factor, 2 / d));
    });
  }
  if (!std::isfinite(*s.mixed_b)) return invalid(s.name, ": mixed_b ", *s.mixed_b, ": must be finite");
  return evaluate(o.rotary_dim, o.base, [&]<class Real>(Real power, std::int64_t pair) {
    const auto mixed_b = static_cast<Real>(*s.mixed_b);
    const Real a = static_cast<Real>(std::log(s.factor)) / static_cast<Real>(std::pow(d / 2, *s.mixed_b));
    const Real lambda = a * raise(static_cast<Real>(pair + 1), mixed_b);
    return Real{1} / power / static_cast<Real>(std::exp(static_cast<double>(lambda)));
  });
}

}  // namespace rotary::impl
