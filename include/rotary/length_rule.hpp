// SPDX-License-Identifier: Apache-2.0
/// @file
/// For which length a row of a batch gets its frequencies, where they depend on it (dynamic, longrope). Systems
/// differ, and none says so: this names the choice.
///
///     auto n = rotary::length_for(rotary::LengthRule::by_sequence, tokens_of_row, row, 131072).value();
///     auto spectrum = rotary::Spectrum::make({.rotary_dim = 96, .scaling = longrope, .length = n});
///
/// Keys that are cached keep the frequencies they were turned with, so whichever the rule, choose once a
/// sequence and for all the tokens it may come to have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <rotary/export.hpp>
#include <rotary/status.hpp>
#include <span>
#include <string_view>

namespace rotary {

enum class LengthRule : std::uint8_t {
  by_sequence,  ///< the row's own tokens: neighbours in a batch do not matter
  by_batch,  ///< the longest row's: one list for all, so a long neighbour changes a short row (Transformers)
  by_maximum,  ///< what the system was configured for, whatever comes (vLLM, llama.cpp, exllamav3)
};
/// "by_sequence", "by_batch", "by_maximum".
ROTARY_API std::string_view name(LengthRule rule) noexcept;
ROTARY_API std::optional<LengthRule> length_rule_from_name(std::string_view word) noexcept;

/// SpectrumOptions::length for that row. tokens_of_row: of each row, past and to come; `maximum`: the configured
/// one. Errors: no such row, a row under 0 or over the maximum tokens, a maximum under 1.
ROTARY_API Result<std::int64_t> length_for(LengthRule rule, std::span<const std::int64_t> tokens_of_row,
                                           std::size_t row, std::int64_t maximum);

}  // namespace rotary
