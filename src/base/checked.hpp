// SPDX-License-Identifier: Apache-2.0
// Arithmetic that says when it would overflow.
#pragma once

#include <concepts>
#include <optional>

namespace rotary::impl {

template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) noexcept {
  T sum{};
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::integral T>
constexpr std::optional<T> checked_mul(T a, T b) noexcept {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace rotary::impl
