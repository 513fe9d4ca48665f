// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "spectrum/scaling_rules.hpp"

namespace rotary::impl {
namespace {

/// Divisors grow with the pair, from 1 at the fastest; their inverses fall.
bool are_multipliers(const std::vector<double>& list) {
  return !list.empty() && list.front() == 1 && list.back() < 1 &&
         std::is_sorted(list.begin(), list.end(), std::greater<>());
}

}  // namespace

Result<Frequencies> frequencies(const scaling::Divided& s, const SpectrumOptions& o) {
  std::vector<double> divisors = s.divisors;
  for (double& divisor : divisors) divisor = std::min(divisor, s.no_rotation);
  if (Status status = check_list(s.name, "divisors", divisors, o.rotary_dim); !status.ok()) return status;
  if (are_multipliers(divisors)) {
    return invalid(s.name, ": divisors: fall from 1 to ", divisors.back(),
                   ", as multipliers do: give their inverses (8 turns a pair 8 times slower)");
  }
  return evaluate(o.rotary_dim, o.base, [&]<class Real>(Real power, std::int64_t pair) {
    const double divisor = divisors[static_cast<std::size_t>(pair)];
    return divisor >= s.no_rotation ? Real{0} : Real{1} / power / static_cast<Real>(divisor);
  });
}

}  // namespace rotary::impl
