// SPDX-License-Identifier: Apache-2.0
#include "spectrum/scaling_rules.hpp"

namespace rotary::impl {
namespace {

Status check(const scaling::LongRope& s, std::int64_t rotary_dim) {
  for (const auto& [key, list] :
       {std::pair{"short_factor", &s.short_factor}, {"long_factor", &s.long_factor}}) {
    if (Status status = check_list(s.name, key, *list, rotary_dim); !status.ok()) return status;
  }
  for (const auto& [key, value] :
       {std::pair{"original_max_position_embeddings", s.original_max_position_embeddings},
        {"max_position_embeddings", s.max_position_embeddings.value_or(1)},
        {"factor", s.factor.value_or(1)},
        {"attention_factor", s.attention_factor.value_or(1)},
        {"short_mscale", s.short_mscale.value_or(1)},
        {"long_mscale", s.long_mscale.value_or(1)}}) {
    if (Status status = check_positive(s.name, key, value); !status.ok()) return status;
  }
  return {};
}

Result<double> attention_factor(const scaling::LongRope& s, bool is_long) {
  if (const auto& given = is_long ? s.long_mscale : s.short_mscale) return *given;
  if (s.attention_factor) return *s.attention_factor;
  const double original = s.original_max_position_embeddings;
  if (!s.factor && !s.max_position_embeddings) {
    return invalid(s.name, ": factor: missing, and neither max_position_embeddings nor attention_factor",
                   " replaces it");
  }
  const double factor = s.factor ? *s.factor : *s.max_position_embeddings / original;
  if (factor <= 1) return 1.0;
  if (original <= 1) {
    return invalid(s.name, ": original_max_position_embeddings ", original, ": must be over 1");
  }
  return std::sqrt(1 + std::log(factor) / std::log(original));
}

}  // namespace

Result<Frequencies> frequencies(const scaling::LongRope& s, const SpectrumOptions& o) {
  if (Status status = check(s, o.rotary_dim); !status.ok()) return status;
  const bool is_long = static_cast<double>(o.length.value_or(0)) > s.original_max_position_embeddings;
  const auto attention = attention_factor(s, is_long);
  if (!attention) return attention.status();
  const auto& divisors = is_long ? s.long_factor : s.short_factor;
  Frequencies result = evaluate(o.rotary_dim, o.base, [&]<class Real>(Real power, std::int64_t pair) {
    return Real{1} / (static_cast<Real>(divisors[static_cast<std::size_t>(pair)]) * power);
  });
  result.attention_factor = *attention;
  return result;
}

}  // namespace rotary::impl
