// SPDX-License-Identifier: Apache-2.0
// Whether this processor gains by being told what memory comes next.
#pragma once

namespace rotary::impl {

/// Measured: Zen 5 and Sapphire Rapids gain a seventh to a half past the second-level cache. Zen 3 and 4 fetch
/// well by themselves and lose a third, the pass that only scales as well.
inline bool fetching_pays() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  static const bool pays = !__builtin_cpu_is("amdfam19h");
  return pays;
#else
  return true;
#endif
}

}  // namespace rotary::impl
