// SPDX-License-Identifier: Apache-2.0
/// @file
/// NTK-aware rules: they change the base, so that slow pairs are stretched and fast ones hardly. A = 1.
/// Notation: scaling.hpp. Source: the posts of u/bloc97 and u/emozilla, as Transformers and vLLM have them.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace rotary::scaling {

/// Dynamic NTK, by the length s of the sequence (SpectrumOptions::length), with M = max_position_embeddings:
/// base' = base * (factor * max(s, M) / M - (factor - 1))^(d / (d - 2)), W_i = base'^(-2i/d), d = rotary_dim.
/// Up to M tokens, and without a length, the frequencies are the unscaled ones.
struct DynamicNtk {
  static constexpr std::string_view name = "dynamic";
  static constexpr std::array<std::string_view, 2> required = {"factor", "max_position_embeddings"};
  double factor = 1;
  double max_position_embeddings = 4096;  ///< M, tokens; the length the model was trained for

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    visit("factor", self.factor);
    visit("max_position_embeddings", self.max_position_embeddings);
  }
  friend bool operator==(const DynamicNtk&, const DynamicNtk&) = default;
};

/// NTK alpha, the same at every length: base' = base * alpha^(d / (d - 2)). config.json says "dynamic" with a
/// key alpha (Hunyuan), or "xdrope"; lucidrains' theta_rescale_factor is the same number.
struct NtkAlpha {
  static constexpr std::string_view name = "ntk_alpha";
  static constexpr std::array<std::string_view, 1> required = {"alpha"};
  double alpha = 1;

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    visit("alpha", self.alpha);
  }
  friend bool operator==(const NtkAlpha&, const NtkAlpha&) = default;
};

/// vLLM's fixed NTK: W_i = (base * factor)^(-2i/d) / factor^(2/d). With mixed_b, its mixed form on the base
/// as it is: W_i = w_i / exp(a (i + 1)^mixed_b), a = ln(factor) / (d/2)^mixed_b.
struct Ntk {
  static constexpr std::string_view name = "ntk";
  static constexpr std::array<std::string_view, 1> required = {"factor"};
  double factor = 1;
  std::optional<double> mixed_b = {};

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    visit("factor", self.factor);
    visit("mixed_b", self.mixed_b);
  }
  friend bool operator==(const Ntk&, const Ntk&) = default;
};

}  // namespace rotary::scaling
