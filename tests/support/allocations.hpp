// SPDX-License-Identifier: Apache-2.0
// Counts calls of operator new. Include in exactly one source of an executable, or link its own object.
#pragma once

#include <cstddef>

namespace rotary::testing {

/// How often this thread has allocated so far.
std::size_t allocations() noexcept;

}  // namespace rotary::testing
