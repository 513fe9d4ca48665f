// SPDX-License-Identifier: Apache-2.0
// Counts calls of operator new. Include in exactly one source of an executable, or link its own object.
#pragma once

#include <cstddef>

namespace rotary::testing {

/// How often this thread has allocated so far.
std::size_t allocations() noexcept;
/// How many bytes it has asked for so far, given back or not.
std::size_t allocated_bytes() noexcept;

/// While one lives, this thread has no memory to allocate.
class NoMemory {
 public:
  NoMemory() noexcept;
  ~NoMemory();
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

}  // namespace rotary::testing
