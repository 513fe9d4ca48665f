// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "spectrum/scaling_rules.hpp"

namespace rotary::impl {
namespace {

constexpr double pi = std::numbers::pi;

/// The pair's place among all of them, from 0 to 1.
template <class Real>
Real place(std::int64_t pair, const SpectrumOptions& o) {
  const std::int64_t last = o.rotary_dim / 2 - 1;
  return last == 0 ? Real{0} : static_cast<Real>(pair) / static_cast<Real>(last);
}

template <class Real>
Real raise(double base, Real exponent) {
  return static_cast<Real>(std::pow(base, static_cast<double>(exponent)));
}

}  // namespace

Result<Frequencies> frequencies(const scaling::Windows& s, const SpectrumOptions& o) {
  if (Status status = check_positive(s.name, "min_window", s.min_window); !status.ok()) return status;
  if (!(std::isfinite(s.max_window) && s.max_window >= s.min_window)) {
    return invalid(s.name, ": max_window ", s.max_window, ": must be finite and at least min_window ",
                   s.min_window);
  }
  return evaluate(o.rotary_dim, s.max_window / s.min_window, [&]<class Real>(Real power, std::int64_t) {
    return Real{1} / (static_cast<Real>(s.min_window) * power);
  });
}

Result<Frequencies> frequencies(const scaling::Pixel& s, const SpectrumOptions& o) {
  if (!(std::isfinite(s.max_freq) && s.max_freq >= 2)) {
    return invalid(s.name, ": max_freq ", s.max_freq, ": must be finite and at least 2");
  }
  return evaluate(o.rotary_dim, o.base, [&]<class Real>(Real, std::int64_t pair) {
    const Real at = place<Real>(pair, o);
    const Real band = s.linear_bands ? Real{1} + at * static_cast<Real>(s.max_freq / 2 - 1)
                                     : raise(2, at * static_cast<Real>(std::log2(s.max_freq) - 1));
    return band * static_cast<Real>(pi);
  });
}

Result<Frequencies> frequencies(const scaling::Constant&, const SpectrumOptions& o) {
  return evaluate(o.rotary_dim, o.base, []<class Real>(Real, std::int64_t) { return Real{1}; });
}

Result<Frequencies> frequencies(const scaling::Ltx&, const SpectrumOptions& o) {
  return evaluate(o.rotary_dim, o.base, [&]<class Real>(Real, std::int64_t pair) {
    return raise(o.base, place<Real>(pair, o)) * static_cast<Real>(pi / 2);
  });
}

Result<Frequencies> frequencies(const scaling::Dinov3&, const SpectrumOptions& o) {
  return evaluate(o.rotary_dim, o.base, [](auto power, std::int64_t) {
    using Real = decltype(power);
    return static_cast<Real>(2 * pi) * (Real{1} / power);
  });
}

Result<Frequencies> frequencies(const scaling::Periods& s, const SpectrumOptions& o) {
  if (Status status = check_positive(s.name, "min_period", s.min_period); !status.ok()) return status;
  if (!(std::isfinite(s.max_period) && s.max_period >= s.min_period)) {
    return invalid(s.name, ": max_period ", s.max_period, ": must be finite and at least min_period ",
                   s.min_period);
  }
  return evaluate(o.rotary_dim, o.base, [&]<class Real>(Real, std::int64_t pair) {
    const Real period =
        static_cast<Real>(s.min_period) * raise(s.max_period / s.min_period, place<Real>(pair, o));
    return static_cast<Real>(2 * pi) / period;
  });
}

}  // namespace rotary::impl
