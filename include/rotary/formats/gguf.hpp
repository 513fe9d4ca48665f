// SPDX-License-Identifier: Apache-2.0
/// @file
/// GGUF: the metadata and the tensor table of a llama.cpp model file. Quantised data is located, not decoded.
///
///     auto file = rotary::formats::Gguf::open("model.gguf").value();
///     auto arch = file.text("general.architecture");              // optional<string_view>
///     auto base = file.number("gemma3.rope.freq_base");           // optional<double>
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <rotary/export.hpp>
#include <rotary/formats/file_tensor.hpp>
#include <rotary/status.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rotary::formats {

/// A metadata array: only its element type and length are kept for text; numbers are kept.
struct GgufArray {
  std::uint32_t element_type = 0;  ///< GGUF's code: 0 u8 ... 6 f32, 7 bool, 8 string, 10 u64, 11 i64, 12 f64
  std::uint64_t length = 0;
  std::vector<double> numbers;  ///< empty for strings and nested arrays
};

using GgufValue = std::variant<std::uint64_t, std::int64_t, double, bool, std::string, GgufArray>;

struct GgufKey {
  std::string name;
  GgufValue value;
};

struct GgufTensor {
  std::string name;
  std::uint32_t type = 0;            ///< ggml's code: 0 f32, 1 f16, 30 bf16, others quantised
  std::vector<std::int64_t> shape;   ///< slowest axis first (the file stores the fastest first)
  std::uint64_t offset = 0;          ///< bytes from the beginning of the file
  std::span<const std::byte> bytes;  ///< for f64, f32, f16, bf16 and integer types; empty for quantised ones
};

class ROTARY_API Gguf {
 public:
  /// Versions 2 and 3, little- and big-endian (numbers are converted, tensor bytes are not). Errors:
  /// unreadable, wrong magic or version, counts and lengths larger than the file, duplicate keys or tensors,
  /// unknown types, a tensor that leaves the file.
  static Result<Gguf> open(const std::string& path);
  static Result<Gguf> from_bytes(std::span<const std::byte> bytes, const std::string& origin);

  std::uint32_t version() const noexcept { return version_; }
  bool big_endian() const noexcept { return big_endian_; }
  std::span<const GgufKey> keys() const noexcept { return keys_; }
  std::span<const GgufTensor> tensors() const noexcept { return tensors_; }
  const GgufValue* find(std::string_view key) const noexcept;
  const GgufTensor* find_tensor(std::string_view name) const noexcept;

  /// The key's value if it is there and is a number (or bool), text, or an array of numbers.
  std::optional<double> number(std::string_view key) const noexcept;
  std::optional<std::string_view> text(std::string_view key) const noexcept;
  std::optional<std::span<const double>> numbers(std::string_view key) const noexcept;

 private:
  std::shared_ptr<const void> mapping_;
  std::uint32_t version_ = 0;
  bool big_endian_ = false;
  std::vector<GgufKey> keys_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace rotary::formats
