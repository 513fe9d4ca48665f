// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace rotary::impl {

/// Bytes of the last-level cache, or a usual size where the system does not say.
std::int64_t last_level_cache() noexcept;

}  // namespace rotary::impl
