// SPDX-License-Identifier: Apache-2.0
#include "spectrum/scaling_rules.hpp"

namespace rotary::impl {

Result<Frequencies> frequencies(const scaling::Linear& s, std::int64_t rotary_dim, double base) {
  if (Status status = check_factor(s.name, s.factor); !status.ok()) return status;
  return evaluate(rotary_dim, base, [&]<class Real>(Real power, std::int64_t) {
    return Real{1} / power / static_cast<Real>(s.factor);
  });
}

}  // namespace rotary::impl
