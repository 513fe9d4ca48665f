// SPDX-License-Identifier: Apache-2.0
#include "spectrum/scaling_rules.hpp"

namespace rotary::impl {

Result<Frequencies> frequencies(const scaling::Linear& s, const SpectrumOptions& options) {
  if (Status status = check_factor(s.name, s.factor); !status.ok()) return status;
  return evaluate(options.rotary_dim, options.base, [&]<class Real>(Real power, std::int64_t) {
    return Real{1} / power / static_cast<Real>(s.factor);
  });
}

}  // namespace rotary::impl
