// SPDX-License-Identifier: Apache-2.0
// The bounds of packed sequences: 0, then the end of each.
#pragma once

#include <cstdint>
#include <rotary/status.hpp>
#include <span>

#include "base/message.hpp"

namespace rotary::impl {

inline Status check_cu_seqlens(std::span<const std::int64_t> cu_seqlens) {
  if (cu_seqlens.empty()) return invalid("cu_seqlens: empty, expected at least a 0");
  if (cu_seqlens[0] != 0) return invalid("cu_seqlens[0]: ", cu_seqlens[0], ", expected 0");
  for (std::size_t s = 1; s < cu_seqlens.size(); ++s) {
    if (cu_seqlens[s] >= cu_seqlens[s - 1]) continue;
    return invalid("cu_seqlens[", s, "]: ", cu_seqlens[s], ", expected at least ", cu_seqlens[s - 1],
                   " as before it");
  }
  return {};
}

}  // namespace rotary::impl
