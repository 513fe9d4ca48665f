// SPDX-License-Identifier: Apache-2.0
#include "spectrum/scaling_rules.hpp"

namespace rotary::impl {

Result<Frequencies> frequencies(const scaling::None&, std::int64_t rotary_dim, double base) {
  return evaluate(rotary_dim, base, []<class Real>(Real power, std::int64_t) { return Real{1} / power; });
}

}  // namespace rotary::impl
