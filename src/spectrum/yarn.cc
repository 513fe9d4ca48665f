// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numbers>

#include "spectrum/scaling_rules.hpp"

namespace rotary::impl {
namespace {

/// The ends of the ramp, in pairs: up to `begin` kept, from `end` on divided by the factor.
struct Ramp {
  double begin, end;
};

/// The pair, as a fraction, that turns `turns` times within the original length.
double pair_with_turns(double turns, const scaling::Yarn& s, std::int64_t rotary_dim, double base) {
  return static_cast<double>(rotary_dim) *
         std::log(s.original_max_position_embeddings / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
}

/// The end is clamped to the lanes, not to the pairs, as in all published code.
Ramp ramp(const scaling::Yarn& s, std::int64_t rotary_dim, double base) {
  Ramp r{pair_with_turns(s.beta_fast, s, rotary_dim, base),
         pair_with_turns(s.beta_slow, s, rotary_dim, base)};
  if (s.truncate) r = {std::floor(r.begin), std::ceil(r.end)};
  r = {std::max(r.begin, 0.0), std::min(r.end, static_cast<double>(rotary_dim - 1))};
  if (r.begin == r.end) r.end += 0.001;
  return r;
}

/// g of the header.
double magnitude(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

double attention_factor(const scaling::Yarn& s) {
  if (s.attention_factor) return *s.attention_factor;
  const double mscale = s.mscale.value_or(0), all_dim = s.mscale_all_dim.value_or(0);
  if (mscale != 0 && all_dim != 0) {
    return s.attn_factor * magnitude(s.factor, mscale) / magnitude(s.factor, all_dim);
  }
  return s.attn_factor * magnitude(s.factor, 1);
}

double softmax_factor(const scaling::Yarn& s) {
  if (s.softmax_factor) return *s.softmax_factor;
  const double g = magnitude(s.factor, s.mscale_all_dim.value_or(0));
  return g * g;
}

Status check(const scaling::Yarn& s, std::string_view name, double base) {
  if (Status status = check_factor(name, s.factor); !status.ok()) return status;
  for (const auto& [key, value] :
       {std::pair{"original_max_position_embeddings", s.original_max_position_embeddings},
        {"beta_fast", s.beta_fast},
        {"beta_slow", s.beta_slow},
        {"attn_factor", s.attn_factor},
        {"attention_factor", s.attention_factor.value_or(1)},
        {"softmax_factor", s.softmax_factor.value_or(1)}}) {
    if (Status status = check_positive(name, key, value); !status.ok()) return status;
  }
  for (const auto& [key, value] : {std::pair{"mscale", s.mscale}, {"mscale_all_dim", s.mscale_all_dim}}) {
    if (value && !(std::isfinite(*value) && *value >= 0)) {
      return invalid(name, ": ", key, " ", *value, ": must be finite and not negative");
    }
  }
  if (s.beta_fast < s.beta_slow) {
    return invalid(name, ": beta_fast ", s.beta_fast, ": must be at least beta_slow ", s.beta_slow);
  }
  if (base <= 1) return invalid(name, ": base ", base, ": must be over 1");
  return {};
}

/// `name` is that of the type whose numbers these are.
Result<Frequencies> ramped(const scaling::Yarn& s, std::string_view name, const SpectrumOptions& options) {
  const std::int64_t rotary_dim = options.rotary_dim;
  const double base = options.base;
  if (Status status = check(s, name, base); !status.ok()) return status;
  const Ramp r = ramp(s, rotary_dim, base);
  if (rotary_dim > 0 && r.begin > r.end) {
    return invalid(name, ": original_max_position_embeddings ", s.original_max_position_embeddings,
                   ": leaves no room between beta_fast ", s.beta_fast, " and beta_slow ", s.beta_slow,
                   " turns (ramp from pair ", r.begin, " to ", r.end, ")");
  }
  Frequencies result = evaluate(rotary_dim, base, [&]<class Real>(Real power, std::int64_t pair) {
    const Real position =
        (static_cast<Real>(pair) - static_cast<Real>(r.begin)) / static_cast<Real>(r.end - r.begin);
    const Real kept = Real{1} - std::clamp(position, Real{0}, Real{1});
    const Real divided = Real{1} / (static_cast<Real>(s.factor) * power);
    return divided * (Real{1} - kept) + Real{1} / power * kept;
  });
  result.attention_factor = attention_factor(s);
  result.softmax_factor = softmax_factor(s);
  return result;
}

}  // namespace

Result<Frequencies> frequencies(const scaling::Yarn& s, const SpectrumOptions& options) {
  return ramped(s, s.name, options);
}

Result<Frequencies> frequencies(const scaling::DeepseekYarn& s, const SpectrumOptions& options) {
  auto result = ramped({.factor = s.factor,
                        .original_max_position_embeddings = s.original_max_position_embeddings,
                        .beta_fast = s.beta_fast,
                        .beta_slow = s.beta_slow,
                        .attn_factor = s.attn_factor,
                        .mscale = s.mscale,
                        .mscale_all_dim = s.mscale_all_dim},
                       s.name, options);
  if (!result) return result;
  // Unlike plain YaRN's, these two numbers count where they are 0.
  result->attention_factor =
      s.attn_factor * magnitude(s.factor, s.mscale) / magnitude(s.factor, s.mscale_all_dim);
  if (!s.apply_yarn_scaling) result->softmax_factor = 1;
  return result;
}

Result<Frequencies> frequencies(const scaling::Telechat3Yarn& s, const SpectrumOptions& options) {
  const auto& context = s.max_position_embeddings;
  const auto& original = s.original_max_position_embeddings ? s.original_max_position_embeddings : context;
  if (!original) {
    return invalid(s.name, ": original_max_position_embeddings: missing, and max_position_embeddings too");
  }
  if (Status status = check_positive(s.name, "attn_factor", s.attn_factor); !status.ok()) return status;
  if (Status status = check_factor(s.name, s.factor); !status.ok()) return status;
  const double factor = context && s.original_max_position_embeddings ? *context / *original : s.factor;
  return ramped({.factor = factor,
                 .original_max_position_embeddings = *original,
                 .beta_fast = s.beta_fast,
                 .beta_slow = s.beta_slow,
                 .attention_factor = s.attn_factor * (factor <= 1 ? 1 : 0.07 * std::log(factor) + 1)},
                s.name, options);
}

}  // namespace rotary::impl
