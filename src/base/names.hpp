// SPDX-License-Identifier: Apache-2.0
// Enumerators by name: one table serves both directions.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace rotary::impl {

/// A caller may cast any number to an enumeration.
template <class Enum, std::size_t N>
constexpr std::string_view name_at(const std::string_view (&names)[N], Enum value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "unknown";
}

/// names[i] belongs to the enumerator with value i.
template <class Enum, std::size_t N>
std::optional<Enum> find_name(const std::string_view (&names)[N], std::string_view word) noexcept {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace rotary::impl
