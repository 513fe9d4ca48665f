// SPDX-License-Identifier: Apache-2.0
#include <rotary/length_rule.hpp>

#include <algorithm>

#include "base/message.hpp"
#include "base/names.hpp"

namespace rotary {
namespace {

constexpr std::string_view names[] = {"by_sequence", "by_batch", "by_maximum"};

}  // namespace

std::string_view name(LengthRule rule) noexcept { return impl::name_at(names, rule); }
std::optional<LengthRule> length_rule_from_name(std::string_view word) noexcept {
  return impl::find_name<LengthRule>(names, word);
}

Result<std::int64_t> length_for(LengthRule rule, std::span<const std::int64_t> tokens_of_row, std::size_t row,
                                std::int64_t maximum) {
  if (maximum < 1) return impl::invalid("maximum ", maximum, ": must be at least 1 token");
  if (row >= tokens_of_row.size()) {
    return impl::failure(StatusCode::out_of_range, "row ", row, ": there are ", tokens_of_row.size());
  }
  for (std::size_t i = 0; i < tokens_of_row.size(); ++i) {
    if (tokens_of_row[i] < 0 || tokens_of_row[i] > maximum) {
      return impl::invalid("tokens_of_row[", i, "] ", tokens_of_row[i], ": must be from 0 to the maximum, ",
                           maximum);
    }
  }
  std::int64_t tokens = maximum;
  if (rule == LengthRule::by_sequence) tokens = tokens_of_row[row];
  if (rule == LengthRule::by_batch) tokens = std::ranges::max(tokens_of_row);
  return std::max<std::int64_t>(tokens, 1);
}

}  // namespace rotary
