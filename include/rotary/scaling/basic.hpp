// SPDX-License-Identifier: Apache-2.0
/// @file
/// The plain frequencies, and rules that divide them one by one. Notation: scaling.hpp.
#pragma once

#include <array>
#include <string_view>

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

/// p-RoPE (Gemma 4): the window is the whole head of D lanes, W_i = w_i / factor with D in the exponent for
/// the first int(partial_rotary_factor * D) / 2 pairs, and 0 for the others. A = 1. Not the same as a window
/// of partial_rotary_factor * D lanes: exponents and, where pairs are half-split, lanes differ.
struct Proportional {
  static constexpr std::string_view name = "proportional";
  static constexpr std::array<std::string_view, 0> required = {};
  double partial_rotary_factor = 1;
  double factor = 1;

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    visit("partial_rotary_factor", self.partial_rotary_factor);
    visit("factor", self.factor);
  }
  friend bool operator==(const Proportional&, const Proportional&) = default;
};

}  // namespace rotary::scaling
