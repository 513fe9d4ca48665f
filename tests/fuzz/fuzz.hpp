// SPDX-License-Identifier: Apache-2.0
// What every fuzz target does with a reader's answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <rotary/status.hpp>
#include <span>

namespace rotary::fuzz {

inline std::span<const std::byte> bytes(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

/// Ends the process, which the fuzzer reports with the input.
inline void demand(bool holds) {
  if (!holds) __builtin_trap();
}

/// Reads every byte, so that a sanitizer sees a view that leaves its buffer.
inline void touch(std::span<const std::byte> view) {
  std::byte sum{};
  for (const std::byte byte : view) sum ^= byte;
  [[maybe_unused]] volatile std::byte kept = sum;
}

/// A refusal must say why, briefly and in one line.
inline void demand_reason(const Status& status) {
  demand(!status.message().empty() && status.message().size() < 2000);
  demand(status.message().find('\n') == status.message().npos);
  demand(status.code() == StatusCode::malformed || status.code() == StatusCode::unsupported);
}

}  // namespace rotary::fuzz
