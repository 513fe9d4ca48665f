// SPDX-License-Identifier: Apache-2.0
/// @file
/// How a model stretches its frequencies beyond the length it was trained for. One struct a type; the member
/// names are the keys of config.json, the defaults are Transformers', `required` names the keys without one.
///
/// Notation: w_i = base^(-2i/rotary_dim), the unscaled inverse frequency of pair i; W_i the scaled one;
/// A the attention factor, which multiplies cos and sin; L the original context length.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace rotary::scaling {

/// W_i = w_i, A = 1.
struct None {
  static constexpr std::string_view name = "default";
  static constexpr std::array<std::string_view, 0> required = {};
  template <class Self, class Visit>
  static void fields(Self&&, Visit&&) {}
  friend bool operator==(const None&, const None&) = default;
};

/// Position interpolation: W_i = w_i / factor, A = 1. Source: Chen et al. 2023, arXiv:2306.15595.
struct Linear {
  static constexpr std::string_view name = "linear";
  static constexpr std::array<std::string_view, 1> required = {"factor"};
  double factor = 1;  ///< 4 means four times the length; llama.cpp's freq_scale is 1/4

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    visit("factor", self.factor);
  }
  friend bool operator==(const Linear&, const Linear&) = default;
};

/// Llama 3.1's rule. With the wavelength l_i = 2 pi / w_i:
/// l_i < L/high: kept; l_i > L/low: divided by factor; between, a blend that is linear in L/l_i. A = 1.
/// high == low is a step; high < low is an error. Source: Meta's llama-models and Transformers' `llama3`.
struct Llama3 {
  static constexpr std::string_view name = "llama3";
  static constexpr std::array<std::string_view, 4> required = {
      "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"};
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  double original_max_position_embeddings = 8192;  ///< L, tokens

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    visit("factor", self.factor);
    visit("low_freq_factor", self.low_freq_factor);
    visit("high_freq_factor", self.high_freq_factor);
    visit("original_max_position_embeddings", self.original_max_position_embeddings);
  }
  friend bool operator==(const Llama3&, const Llama3&) = default;
};

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
    visit("factor", self.factor);
    visit("original_max_position_embeddings", self.original_max_position_embeddings);
    visit("beta_fast", self.beta_fast);
    visit("beta_slow", self.beta_slow);
    visit("truncate", self.truncate);
    visit("attention_factor", self.attention_factor);
    visit("attn_factor", self.attn_factor);
    visit("mscale", self.mscale);
    visit("mscale_all_dim", self.mscale_all_dim);
    visit("softmax_factor", self.softmax_factor);
  }
  friend bool operator==(const Yarn&, const Yarn&) = default;
};

}  // namespace rotary::scaling

namespace rotary {

/// The registry of scaling types: every alternative here is reachable from config files and the command.
using Scaling = std::variant<scaling::None, scaling::Linear, scaling::Llama3, scaling::Yarn>;

/// "default", "linear", "llama3", "yarn": the word that config.json uses.
inline std::string_view name(const Scaling& scaling) {
  return std::visit([](const auto& s) { return s.name; }, scaling);
}

}  // namespace rotary
