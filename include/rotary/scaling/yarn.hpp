// SPDX-License-Identifier: Apache-2.0
/// @file
/// YaRN: a ramp over the pairs between kept and divided frequencies. Notation: scaling.hpp.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace rotary::scaling {
namespace detail {

/// What every form of YaRN says about its ramp.
template <class Self, class Visit>
void ramp_fields(Self&& self, Visit&& visit) {
  visit("factor", self.factor);
  visit("original_max_position_embeddings", self.original_max_position_embeddings);
  visit("beta_fast", self.beta_fast);
  visit("beta_slow", self.beta_slow);
}

}  // namespace detail

/// YaRN: pairs that turn more than beta_fast times within L are kept, those under beta_slow are divided by
/// factor, a ramp over the pair index lies between. Source: Peng et al. 2023, arXiv:2309.00071.
///
/// A, by Transformers' rule: attention_factor if given; else g(mscale)/g(mscale_all_dim) if both are given
/// and not 0; else g(1); where g(m) = 0.1 m ln(factor) + 1 for factor > 1, else 1. attn_factor multiplies the
/// formula. softmax_factor is g(mscale_all_dim)^2, which DeepSeek's attention multiplies into
/// 1/sqrt(head_dim); it is reported beside A and never folded into it.
struct Yarn {
  static constexpr std::string_view name = "yarn";
  static constexpr std::array<std::string_view, 1> required = {"factor"};
  double factor = 1;
  double original_max_position_embeddings = 4096;  ///< L, tokens
  double beta_fast = 32;                           ///< turns within L
  double beta_slow = 1;                            ///< turns within L
  bool truncate = true;                            ///< round the ends of the ramp outwards (gpt-oss: false)
  std::optional<double> attention_factor = {};     ///< replaces the formula of A
  double attn_factor = 1;                          ///< multiplies the formula of A
  std::optional<double> mscale = {};
  std::optional<double> mscale_all_dim = {};
  std::optional<double> softmax_factor = {};  ///< replaces g(mscale_all_dim)^2; Ministral 3: 1

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    detail::ramp_fields(self, visit);
    visit("truncate", self.truncate);
    visit("attention_factor", self.attention_factor);
    visit("attn_factor", self.attn_factor);
    visit("mscale", self.mscale);
    visit("mscale_all_dim", self.mscale_all_dim);
    visit("softmax_factor", self.softmax_factor);
  }
  friend bool operator==(const Yarn&, const Yarn&) = default;
};

/// The frequencies of YaRN, with DeepSeek's defaults for A as vLLM and mlx-lm have them:
/// A = attn_factor * g(mscale) / g(mscale_all_dim), g as above. softmax_factor = g(mscale_all_dim)^2, or 1
/// without apply_yarn_scaling, which vLLM calls deepseek_llama_scaling.
struct DeepseekYarn {
  static constexpr std::string_view name = "deepseek_yarn";
  static constexpr std::array<std::string_view, 1> required = {"factor"};
  double factor = 1;
  double original_max_position_embeddings = 4096;  ///< L, tokens
  double beta_fast = 32;                           ///< turns within L
  double beta_slow = 1;                            ///< turns within L
  double attn_factor = 1;
  double mscale = 1;
  double mscale_all_dim = 0;
  bool apply_yarn_scaling = true;

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    detail::ramp_fields(self, visit);
    visit("attn_factor", self.attn_factor);
    visit("mscale", self.mscale);
    visit("mscale_all_dim", self.mscale_all_dim);
    visit("apply_yarn_scaling", self.apply_yarn_scaling);
  }
  friend bool operator==(const DeepseekYarn&, const DeepseekYarn&) = default;
};

/// The frequencies of YaRN by f = max_position_embeddings / L where both are given, else by factor;
/// A = attn_factor * (0.07 ln f + 1). As vLLM has it; mlx-lm takes the same files for plain YaRN, with 0.1.
struct Telechat3Yarn {
  static constexpr std::string_view name = "telechat3-yarn";
  static constexpr std::array<std::string_view, 1> required = {"factor"};
  double factor = 1;
  std::optional<double> original_max_position_embeddings = {};  ///< L, tokens; else max_position_embeddings
  std::optional<double> max_position_embeddings = {};           ///< tokens
  double beta_fast = 32;                                        ///< turns within L
  double beta_slow = 1;                                         ///< turns within L
  double attn_factor = 1;

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    detail::ramp_fields(self, visit);
    visit("max_position_embeddings", self.max_position_embeddings);
    visit("attn_factor", self.attn_factor);
  }
  friend bool operator==(const Telechat3Yarn&, const Telechat3Yarn&) = default;
};

}  // namespace rotary::scaling
