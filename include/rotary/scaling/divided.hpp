// SPDX-License-Identifier: Apache-2.0
/// @file
/// Divisors of the caller's own. Notation: scaling.hpp.
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace rotary::scaling {

/// W_i = w_i / divisors[i], A = 1: ggml's freq_factors and the rope_freqs tensor of a GGUF (llama3, p-RoPE).
/// One positive number a pair; infinity, and ggml's 1e30, stand for a pair that does not turn. A list that
/// falls from 1 holds multipliers, the inverse of divisors, and is refused.
struct Divided {
  static constexpr std::string_view name = "divided";
  static constexpr std::array<std::string_view, 1> required = {"divisors"};
  static constexpr double no_rotation = 1e30;
  std::vector<double> divisors = {};

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    visit("divisors", self.divisors);
  }
  friend bool operator==(const Divided&, const Divided&) = default;
};

}  // namespace rotary::scaling
