// SPDX-License-Identifier: Apache-2.0
#include "spectrum/scaling_rules.hpp"

namespace rotary::impl {

Result<Frequencies> frequencies(const scaling::None&, const SpectrumOptions& options) {
  return evaluate(options.rotary_dim, options.base,
                  []<class Real>(Real power, std::int64_t) { return Real{1} / power; });
}

}  // namespace rotary::impl
