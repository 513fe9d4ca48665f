// SPDX-License-Identifier: Apache-2.0
// Memory for counts that a caller names: refused, not thrown, when there is not that much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "base/checked.hpp"

namespace rotary::impl {

/// More than this is a mistake in a count, not work.
inline constexpr std::int64_t max_allocation = std::int64_t{1} << 40;  // bytes

/// rows * width numbers, or null where they do not fit in memory. The counts are not negative.
template <class T>
std::unique_ptr<T[]> allocate(std::int64_t rows, std::int64_t width) noexcept {
  const auto numbers = checked_mul(rows, width);
  const auto bytes = numbers ? checked_mul(*numbers, std::int64_t{sizeof(T)}) : std::nullopt;
  if (!bytes || *bytes > max_allocation) return nullptr;
  return std::unique_ptr<T[]>(new (std::nothrow) T[static_cast<std::size_t>(*numbers)]);
}

}  // namespace rotary::impl
