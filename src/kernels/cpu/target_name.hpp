// SPDX-License-Identifier: Apache-2.0
// Names of SIMD targets, and whether this processor has one.
#pragma once

#include <hwy/targets.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace rotary::impl {

/// "N_AVX2" to "avx2", which ends with a zero as a literal does.
template <std::size_t size>
constexpr std::array<char, size - 2> target_name(const char (&space)[size]) {
  std::array<char, size - 2> name{};
  for (std::size_t i = 0; i + 3 < size; ++i) {
    const char letter = space[i + 2];
    name[i] = 'A' <= letter && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return name;
}

/// What the compiler may use anyway is there: Highway would miss NEON where the processor lacks AES, which no
/// kernel uses.
template <std::int64_t target>
bool is_supported() noexcept {
  static const bool supported = ((HWY_BASELINE_TARGETS | hwy::SupportedTargets()) & target) != 0;
  return supported;
}

}  // namespace rotary::impl
