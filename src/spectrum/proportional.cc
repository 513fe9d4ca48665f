// SPDX-License-Identifier: Apache-2.0
#include "spectrum/scaling_rules.hpp"

namespace rotary::impl {

Result<Frequencies> frequencies(const scaling::Proportional& s, const SpectrumOptions& o) {
  if (Status status = check_positive(s.name, "factor", s.factor); !status.ok()) return status;
  if (!(s.partial_rotary_factor >= 0 && s.partial_rotary_factor <= 1)) {
    return invalid(s.name, ": partial_rotary_factor ", s.partial_rotary_factor, ": must be from 0 to 1");
  }
  const auto turning =
      static_cast<std::int64_t>(s.partial_rotary_factor * static_cast<double>(o.rotary_dim)) / 2;
  return evaluate(o.rotary_dim, o.base, [&]<class Real>(Real power, std::int64_t pair) {
    return pair < turning ? Real{1} / power / static_cast<Real>(s.factor) : Real{0};
  });
}

}  // namespace rotary::impl
