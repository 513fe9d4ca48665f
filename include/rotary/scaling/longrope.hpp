// SPDX-License-Identifier: Apache-2.0
/// @file
/// LongRoPE: two lists of divisors found by search, chosen by the length. Notation: scaling.hpp.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace rotary::scaling {

/// W_i = w_i / short_factor[i] up to L tokens, and without a length; w_i / long_factor[i] for a sequence of
/// more (SpectrumOptions::length; the same list for all its positions). Each list has rotary_dim / 2 numbers.
/// Older files call the type "su". Source: Ding et al. 2024, arXiv:2402.13753.
///
/// A: short_mscale or long_mscale of the list in use if given (PhiMoE); else attention_factor; else
/// sqrt(1 + ln f / ln L), or 1 for f <= 1, where f is factor, or max_position_embeddings / L without one.
struct LongRope {
  static constexpr std::string_view name = "longrope";
  static constexpr std::array<std::string_view, 2> required = {"short_factor", "long_factor"};
  std::vector<double> short_factor = {};
  std::vector<double> long_factor = {};
  double original_max_position_embeddings = 4096;      ///< L, tokens
  std::optional<double> max_position_embeddings = {};  ///< tokens
  std::optional<double> factor = {};
  std::optional<double> attention_factor = {};
  std::optional<double> short_mscale = {};
  std::optional<double> long_mscale = {};

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    visit("short_factor", self.short_factor);
    visit("long_factor", self.long_factor);
    visit("original_max_position_embeddings", self.original_max_position_embeddings);
    visit("max_position_embeddings", self.max_position_embeddings);
    visit("factor", self.factor);
    visit("attention_factor", self.attention_factor);
    visit("short_mscale", self.short_mscale);
    visit("long_mscale", self.long_mscale);
  }
  friend bool operator==(const LongRope&, const LongRope&) = default;
};

}  // namespace rotary::scaling
