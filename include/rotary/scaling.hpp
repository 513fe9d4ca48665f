// SPDX-License-Identifier: Apache-2.0
/// @file
/// How a model stretches its frequencies beyond the length it was trained for. One struct a type; the member
/// names are the keys of config.json, the defaults are Transformers', `required` names the keys without one.
///
/// Notation: w_i = base^(-2i/rotary_dim), the unscaled inverse frequency of pair i; W_i the scaled one;
/// A the attention factor, which multiplies cos and sin; L the original context length.
#pragma once

#include <rotary/scaling/basic.hpp>
#include <rotary/scaling/divided.hpp>
#include <rotary/scaling/longrope.hpp>
#include <rotary/scaling/ntk.hpp>
#include <rotary/scaling/schedules.hpp>
#include <rotary/scaling/yarn.hpp>
#include <string_view>
#include <variant>

namespace rotary {

/// The registry of scaling types: every alternative here is reachable from config files and the command.
using Scaling =
    std::variant<scaling::None, scaling::Linear, scaling::Llama3, scaling::Yarn, scaling::DynamicNtk,
                 scaling::NtkAlpha, scaling::Ntk, scaling::LongRope, scaling::Proportional, scaling::Divided,
                 scaling::DeepseekYarn, scaling::Telechat3Yarn, scaling::Windows, scaling::Pixel,
                 scaling::Constant, scaling::Ltx, scaling::Dinov3, scaling::Periods>;

/// "default", "linear", "llama3", "yarn", ...: the word that config.json uses.
inline std::string_view name(const Scaling& scaling) {
  return std::visit([](const auto& s) { return s.name; }, scaling);
}

}  // namespace rotary
