// SPDX-License-Identifier: Apache-2.0
// Pieces of plain text: numbers, lists, near misses. Independent of the locale.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::tool {

/// "rotary: MESSAGE" on stderr.
void note(std::string_view message);
/// Text that may come from a file, harmless to a terminal: control characters but the newline as \xNN.
std::string printable(std::string_view text);

/// The shortest digits that read back as the same number.
std::string digits(double value);
/// For reading, not for computing: so many significant digits, but every whole number up to 1e15 in full.
std::string rounded(double value, int significant = 4);

/// A number of decimal digits and perhaps a minus; nothing for other text and for what 64 bits do not hold.
std::optional<std::int64_t> whole(std::string_view text);

/// "a, b, c".
std::string list(std::span<const std::string> words, std::string_view between = ", ");
/// "0-4, 6-10, 12", "0, 3, ... 57, 60-63": ascending numbers, runs of equal steps joined.
std::string ranges(std::span<const std::int64_t> numbers);
/// "[2, 12, 4, 64]".
std::string shape_text(std::span<const std::int64_t> shape);

/// " (did you mean "yarn"?)", or empty if no candidate is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// `text` broken into lines of at most 100 columns after a label column of `indent`; ends with a newline.
std::string paragraph(std::string_view label, std::size_t indent, std::string_view text);

}  // namespace rotary::tool
