// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element types of tensors, and storage for the 16-bit and 8-bit floats that C++20 lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <rotary/export.hpp>
#include <string_view>

namespace rotary {

/// Every element type that a file may name. The rotation takes the four floats f64, f32, f16, bf16, and writes
/// f8_e4m3, f8_e5m2 and i8 too, where it casts on the way into a cache.
enum class DType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8_e4m3,
  f8_e5m2,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
};

/// "f32", "bf16", ...
ROTARY_API std::string_view name(DType type) noexcept;
/// The reverse of name(); empty for an unknown word.
ROTARY_API std::optional<DType> dtype_from_name(std::string_view word) noexcept;
/// Bytes of one element.
ROTARY_API std::size_t size_of(DType type) noexcept;
/// True for f64, f32, f16 and bf16.
constexpr bool is_rotatable(DType type) noexcept { return type <= DType::bf16; }
/// True of what a rotation can be stored as: those, f8_e4m3, f8_e5m2 and i8.
constexpr bool is_storable(DType type) noexcept { return type <= DType::f8_e5m2 || type == DType::i8; }

/// IEEE half precision: 1 sign, 5 exponent, 10 fraction bits. Storage only; convert to compute.
struct f16 {
  std::uint16_t bits = 0;
  friend bool operator==(f16, f16) = default;
};

/// The upper half of a float: 1 sign, 8 exponent, 7 fraction bits. Storage only; convert to compute.
struct bf16 {
  std::uint16_t bits = 0;
  friend bool operator==(bf16, bf16) = default;
};

/// OCP E4M3 ("fn": no infinities): 1 sign, 4 exponent, 3 fraction bits, to +-448; NaN is 0x7F and 0xFF.
struct f8_e4m3 {
  std::uint8_t bits = 0;
  friend bool operator==(f8_e4m3, f8_e4m3) = default;
};

/// OCP E5M2: 1 sign, 5 exponent, 2 fraction bits, to +-57344; infinities and NaNs as in IEEE formats.
struct f8_e5m2 {
  std::uint8_t bits = 0;
  friend bool operator==(f8_e5m2, f8_e5m2) = default;
};

/// What an 8-bit float makes of a number that rounds beyond its largest, infinity among them.
enum class Overflow : std::uint8_t {
  saturate,  ///< the largest: what caches want, OCP's saturating mode
  special,   ///< infinity in E5M2, NaN in E4M3 which has none: what ml_dtypes and PyTorch do
};

/// Exact widening. A NaN stays a NaN with its payload's top bits, made quiet.
ROTARY_API float to_float(f16 value) noexcept;
ROTARY_API float to_float(bf16 value) noexcept;
/// Rounded to nearest, ties to even; subnormals kept, overflow to infinity, NaN stays NaN.
ROTARY_API f16 to_f16(float value) noexcept;
ROTARY_API bf16 to_bf16(float value) noexcept;

/// Exact widening.
ROTARY_API float to_float(f8_e4m3 value) noexcept;
ROTARY_API float to_float(f8_e5m2 value) noexcept;
/// Rounded to nearest, ties to even; subnormals kept; a NaN becomes the positive one, 0x7F.
ROTARY_API f8_e4m3 to_f8_e4m3(float value, Overflow overflow = Overflow::saturate) noexcept;
ROTARY_API f8_e5m2 to_f8_e5m2(float value, Overflow overflow = Overflow::saturate) noexcept;
/// Rounded to the nearest whole number, ties to even; beyond -128 ... 127 the nearer of the two; NaN becomes 0.
ROTARY_API std::int8_t to_i8(float value) noexcept;

/// `dtype_of<float>` is DType::f32, and so on for every C++ type that has one.
template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0,
                "this type has no DType; HeadsShape in rotary/tensor.hpp shows how to describe its data");
  return DType::f32;
}();
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<f16> = DType::f16;
template <>
inline constexpr DType dtype_of<bf16> = DType::bf16;
template <>
inline constexpr DType dtype_of<f8_e4m3> = DType::f8_e4m3;
template <>
inline constexpr DType dtype_of<f8_e5m2> = DType::f8_e5m2;
template <>
inline constexpr DType dtype_of<std::int8_t> = DType::i8;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;

}  // namespace rotary
