// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <numeric>
#include <utility>

namespace rotary::tool {
namespace {

constexpr std::size_t line_width = 100;

template <class... Format>
std::string formatted(double value, Format... format) {
  char buffer[400];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, format...).ptr);
}

// Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

}  // namespace

void note(std::string_view message) { std::cerr << "rotary: " << printable(message) << '\n'; }

std::string printable(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n' || (byte >= 0x20 && byte != 0x7f)) {
      out += c;
    } else {
      out.append("\\x").append(1, hex[byte >> 4]).append(1, hex[byte & 15]);
    }
  }
  return out;
}

std::string digits(double value) {
  const bool whole = std::fabs(value) < 1e15 && value == std::trunc(value);  // 500000, not 5e+05
  return whole ? formatted(value, std::chars_format::fixed) : formatted(value);
}

std::string rounded(double value, int significant) {
  const double size = std::fabs(value);
  if (size < 1e15 && size >= std::pow(10, significant - 1)) return digits(std::round(value));
  return formatted(value, std::chars_format::general, significant);
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string list(std::span<const std::string> words, std::string_view between) {
  std::string text;
  for (const auto& word : words) {
    if (&word != words.data()) text += between;
    text += word;
  }
  return text;
}

std::string ranges(std::span<const std::int64_t> numbers) {
  constexpr std::size_t short_enough = 12;  // to be written out
  const auto end_of_run = [&](std::size_t i, std::int64_t step) {
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + step) ++i;
    return i + 1;
  };
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < numbers.size();) {
    runs.push_back(std::to_string(numbers[i]));
    const std::int64_t step = i + 1 < numbers.size() ? numbers[i + 1] - numbers[i] : 1;
    std::size_t end = end_of_run(i, step);
    if (step > 1 && end_of_run(end - 1, 1) > end) --end;  // its last number begins a run of neighbours
    if (step == 1 && end - i > 1) {
      runs.back().append(1, '-').append(std::to_string(numbers[end - 1]));
    } else if (end - i > short_enough) {
      runs.push_back(std::to_string(numbers[i + 1]));
      runs.push_back("... " + std::to_string(numbers[end - 1]));
    } else {
      end = i + 1;
    }
    i = end;
  }
  return list(runs);
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::vector<std::string> extents;
  for (const auto extent : shape) extents.push_back(std::to_string(extent));
  return list(extents).insert(0, 1, '[') + "]";
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string* nearest = nullptr;
  std::size_t best = word.size() < 3 ? 0 : word.size() / 3 + 1;  // in so short a word everything is near
  for (const auto& candidate : candidates) {
    const bool inside = candidate.find(word) != std::string::npos;
    const std::size_t gap = inside ? 1 : distance(word, candidate);
    if (gap < best) best = gap, nearest = &candidate;
  }
  return nearest ? " (did you mean \"" + *nearest + "\"?)" : "";
}

std::string paragraph(std::string_view label, std::size_t indent, std::string_view text) {
  std::string out(label);
  out.resize(std::max(indent, label.size()), ' ');
  std::size_t column = out.size();
  bool first = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (!first && column + 1 + word.size() > line_width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) out += ' ', ++column;
    out += word;
    column += word.size();
    first = false;
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return out + '\n';
}

}  // namespace rotary::tool
