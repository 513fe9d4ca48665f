// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <limits>
#include <rotary/dtype.hpp>

#include "base/names.hpp"

namespace rotary {
namespace {

constexpr std::string_view names[] = {"f64", "f32", "f16", "bf16", "f8_e4m3", "f8_e5m2", "i64",    "i32",
                                      "i16", "i8",  "u64", "u32",  "u16",     "u8",      "boolean"};
constexpr std::size_t sizes[] = {8, 4, 2, 2, 1, 1, 8, 4, 2, 1, 8, 4, 2, 1, 1};

}  // namespace

std::string_view name(DType type) noexcept { return impl::name_at(names, type); }

std::optional<DType> dtype_from_name(std::string_view word) noexcept {
  return impl::find_name<DType>(names, word);
}

std::size_t size_of(DType type) noexcept { return sizes[static_cast<std::size_t>(type)]; }

float to_float(bf16 value) noexcept {
  const auto bits = static_cast<std::uint32_t>(value.bits) << 16;
  const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  return std::bit_cast<float>(nan ? bits | 0x00400000u : bits);
}

bf16 to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x0040u)};
  // Adding 0x7FFF, plus one more if the kept last bit is odd, rounds to nearest even and carries into the
  // exponent.
  return {static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16)};
}

float to_float(f16 value) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = value.bits & 0x7FFFu;
  if (magnitude >= 0x7C00u) {  // infinity or NaN
    const std::uint32_t payload = (magnitude & 0x03FFu) << 13;
    return std::bit_cast<float>(sign | 0x7F800000u | payload | (payload ? 0x00400000u : 0u));
  }
  if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  // Subnormal: magnitude * 2^-24 is exact in float.
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f));
}

f16 to_f16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  std::uint32_t half;
  if (magnitude > 0x7F800000u) {  // NaN: the payload's top bits, quiet
    half = 0x7E00u | ((magnitude >> 13) & 0x01FFu);
  } else if (magnitude >= 0x477FF000u) {  // 65520 and above round to infinity
    half = 0x7C00u;
  } else if (magnitude >= 0x38800000u) {  // normal in half precision
    const std::uint32_t rebiased = magnitude - (112u << 23);
    half = (rebiased + 0x0FFFu + ((rebiased >> 13) & 1u)) >> 13;
  } else {  // subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    half = std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

namespace {

/// An 8-bit float: `fraction` bits of fraction, and an exponent of 0 means 2^(1 - bias).
template <int fraction, int bias>
float widen(std::uint8_t code) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80u) << 24;
  const std::uint32_t magnitude = code & 0x7Fu;
  const std::uint32_t bits =
      magnitude >= 1u << fraction
          ? (magnitude << (23 - fraction)) + (static_cast<std::uint32_t>(127 - bias) << 23)
          : std::bit_cast<std::uint32_t>(
                static_cast<float>(magnitude) *
                std::bit_cast<float>(static_cast<std::uint32_t>(128 - bias - fraction) << 23));
  return std::bit_cast<float>(sign | bits);
}

/// `limit`: what larger magnitudes count as; it must round to a code below 0x80.
template <int fraction, int bias>
std::uint8_t narrow(float value, float limit) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return 0x7F;
  magnitude = std::min(magnitude, std::bit_cast<std::uint32_t>(limit));
  constexpr int dropped = 23 - fraction;
  constexpr auto least_normal = static_cast<std::uint32_t>(128 - bias) << 23;
  if (magnitude >= least_normal) {
    const std::uint32_t rebiased = magnitude - (static_cast<std::uint32_t>(127 - bias) << 23);
    const std::uint32_t half = (1u << (dropped - 1)) - 1;
    return static_cast<std::uint8_t>(sign | ((rebiased + half + ((rebiased >> dropped) & 1u)) >> dropped));
  }
  // Added to this number, a subnormal is rounded to a whole one in the lowest bits.
  constexpr auto whole = static_cast<std::uint32_t>(128 - bias - fraction + 23) << 23;
  const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(whole);
  return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - whole));
}

}  // namespace

float to_float(f8_e4m3 value) noexcept {
  const bool nan = (value.bits & 0x7Fu) == 0x7Fu;
  return nan ? std::numeric_limits<float>::quiet_NaN() : widen<3, 7>(value.bits);
}
float to_float(f8_e5m2 value) noexcept {
  const std::uint32_t sign = value.bits & 0x80u ? 0x80000000u : 0;
  const std::uint32_t magnitude = value.bits & 0x7Fu;
  if (magnitude >= 0x7Cu)
    return std::bit_cast<float>(sign | (magnitude == 0x7Cu ? 0x7F800000u : 0x7FC00000u));
  return widen<2, 15>(value.bits);
}

f8_e4m3 to_f8_e4m3(float value, Overflow overflow) noexcept {
  return {narrow<3, 7>(value, overflow == Overflow::saturate ? 448.0f : 480.0f)};
}
f8_e5m2 to_f8_e5m2(float value, Overflow overflow) noexcept {
  return {narrow<2, 15>(value, overflow == Overflow::saturate ? 57344.0f : 65536.0f)};
}

std::int8_t to_i8(float value) noexcept {
  const float kept = value >= -128.0f ? std::min(value, 127.0f) : value < -128.0f ? -128.0f : 0.0f;
  // Added to this number, a float is rounded to a whole one in the lowest bits.
  const auto bits = std::bit_cast<std::uint32_t>(kept + 0x1.8p23f);
  return static_cast<std::int8_t>(static_cast<std::uint8_t>(bits & 0xFFu));
}

}  // namespace rotary
