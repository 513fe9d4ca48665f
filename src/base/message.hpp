// SPDX-License-Identifier: Apache-2.0
// Messages from pieces: message("k: head_dim ", 64, ", expected ", 128). Independent of the locale.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <new>
#include <rotary/status.hpp>
#include <string>
#include <string_view>

namespace rotary::impl {

inline void append(std::string& text, std::string_view piece) { text.append(piece); }
inline void append(std::string& text, char piece) { text.push_back(piece); }
/// Only for bool itself: a char pointer would convert to it.
template <std::same_as<bool> Bool>
void append(std::string& text, Bool piece) {
  text.append(piece ? "true" : "false");
}

/// Shortest form that reads back as the same number.
template <std::integral Number>
requires(!std::same_as<Number, bool>) void append(std::string& text, Number piece) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, piece).ptr;
  text += std::string_view(digits, static_cast<std::size_t>(end - digits));
}
template <std::floating_point Number>
void append(std::string& text, Number piece) {
  char digits[64];
  // 500000, not 5e+05
  const bool whole = std::abs(piece) < Number(1e15) && piece == std::trunc(piece);
  const auto end = whole ? std::to_chars(digits, digits + sizeof digits, piece, std::chars_format::fixed)
                         : std::to_chars(digits, digits + sizeof digits, piece);
  text += std::string_view(digits, static_cast<std::size_t>(end.ptr - digits));
}

template <class... Pieces>
std::string message(const Pieces&... pieces) {
  std::string text;
  (append(text, pieces), ...);
  return text;
}

/// What cannot be said for want of memory fails all the same, so that functions which allocate nothing unless
/// they fail do not throw either.
template <class... Pieces>
Status failure(StatusCode code, const Pieces&... pieces) noexcept {
  try {
    return Status(code, message(pieces...));
  } catch (const std::bad_alloc&) {
    return Status(code, "no memory");  // short enough to need none
  }
}
template <class... Pieces>
Status invalid(const Pieces&... pieces) noexcept {
  return failure(StatusCode::invalid_argument, pieces...);
}

}  // namespace rotary::impl
