// SPDX-License-Identifier: Apache-2.0
// A cursor over untrusted bytes: nothing is read beyond their end, and a failed read moves nothing.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rotary::impl {

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  std::uint64_t position() const noexcept { return position_; }
  std::uint64_t remaining() const noexcept { return bytes_.size() - position_; }
  std::span<const std::byte> rest() const noexcept { return bytes_.subspan(position_); }
  void set_big_endian(bool big_endian) noexcept { big_endian_ = big_endian; }

  /// The next `count` bytes.
  std::optional<std::span<const std::byte>> take(std::uint64_t count) noexcept {
    if (count > remaining()) return std::nullopt;
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }

  /// The next number of the byte order set; little-endian to begin with.
  template <std::unsigned_integral T>
  std::optional<T> number() noexcept {
    const auto taken = take(sizeof(T));
    if (!taken) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value = value << 8 | std::to_integer<std::uint64_t>((*taken)[big_endian_ ? i : sizeof(T) - 1 - i]);
    }
    return static_cast<T>(value);
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  bool big_endian_ = false;
};

}  // namespace rotary::impl
