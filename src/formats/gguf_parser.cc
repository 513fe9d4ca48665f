// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf_parser.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/checked.hpp"
#include "base/in_quotes.hpp"
#include "formats/ggml_types.hpp"
#include "formats/tensor_size.hpp"

namespace rotary::impl {

using formats::GgufArray;
using formats::GgufKey;
using formats::GgufTensor;
using formats::GgufValue;

namespace {

enum Type : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, list, u64, i64, f64 };
constexpr std::uint64_t least_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
constexpr std::uint64_t least_key_bytes = 8 + 4 + 1;
constexpr std::uint64_t least_tensor_bytes = 8 + 4 + 4 + 8;
constexpr int max_depth = 4;
constexpr std::uint32_t max_ggml_axes = 4;

template <std::size_t Size>
using Unsigned =
    std::conditional_t<Size == 1, std::uint8_t,
                       std::conditional_t<Size == 2, std::uint16_t,
                                          std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

}  // namespace

bool GgufParser::run() {
  std::uint64_t tensor_count = 0, key_count = 0;
  if (!header(tensor_count, key_count)) return false;
  while (keys.size() < key_count) {
    where_ = message("key ", keys.size() + 1, " of ", key_count, ": ");
    if (!key()) return false;
  }
  while (tensors.size() < tensor_count) {
    where_ = message("tensor ", tensors.size() + 1, " of ", tensor_count, ": ");
    if (!tensor()) return false;
  }
  where_.clear();

  std::vector<std::string_view> names;
  for (const auto& key : keys) names.push_back(key.name);
  if (const auto twice = find_duplicate(std::move(names)))
    return fail("key ", in_quotes(*twice), " is stated twice");
  names.clear();
  for (const auto& tensor : tensors) names.push_back(tensor.name);
  if (const auto twice = find_duplicate(std::move(names))) {
    return fail("tensor ", in_quotes(*twice), " is stated twice");
  }

  std::uint64_t alignment = 32;
  if (!find_alignment(alignment)) return false;
  const std::uint64_t data_begin = (reader_.position() + alignment - 1) / alignment * alignment;
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](GgufTensor& tensor) { return locate(tensor, data_begin, alignment); });
}

bool GgufParser::header(std::uint64_t& tensor_count, std::uint64_t& key_count) {
  const auto magic = reader_.take(4);
  if (!magic || as_text(*magic) != "GGUF") return fail("does not begin as a GGUF file");
  if (!number(version)) return false;
  // Versions are small: a zero low half is a version in the other byte order.
  big_endian = (version & 0xFFFFu) == 0;
  if (big_endian) {
    version = version >> 24 | (version >> 8 & 0xFF00u);
    reader_.set_big_endian(true);
  }
  if (version != 2 && version != 3) {
    return fail_as(StatusCode::unsupported, "GGUF version ", version, ": only 2 and 3 are supported");
  }
  if (!number(tensor_count) || !number(key_count)) return false;
  if (key_count > reader_.remaining() / least_key_bytes ||
      tensor_count > reader_.remaining() / least_tensor_bytes) {
    return fail(key_count, " keys and ", tensor_count, " tensors do not fit into ", bytes_.size(), " bytes");
  }
  return true;
}

bool GgufParser::key() {
  std::string_view name;
  std::uint32_t type = 0;
  if (!text(name)) return false;
  where_ = message("key ", in_quotes(name), ": ");
  auto& key = keys.emplace_back(GgufKey{std::string(name), {}});
  return number(type) && value(type, key.value);
}

bool GgufParser::value(std::uint32_t type, GgufValue& out) {
  if (type == list) return array(out.emplace<GgufArray>(), 1);
  if (type != string) return scalar(type, out);
  std::string_view read;
  if (!text(read)) return false;
  out = std::string(read);
  return true;
}

bool GgufParser::scalar(std::uint32_t type, GgufValue& out) {
  switch (type) {
    case u8:
      return number_as<std::uint64_t, std::uint8_t>(out);
    case i8:
      return number_as<std::int64_t, std::int8_t>(out);
    case u16:
      return number_as<std::uint64_t, std::uint16_t>(out);
    case i16:
      return number_as<std::int64_t, std::int16_t>(out);
    case u32:
      return number_as<std::uint64_t, std::uint32_t>(out);
    case i32:
      return number_as<std::int64_t, std::int32_t>(out);
    case f32:
      return number_as<double, float>(out);
    case u64:
      return number_as<std::uint64_t, std::uint64_t>(out);
    case i64:
      return number_as<std::int64_t, std::int64_t>(out);
    case f64:
      return number_as<double, double>(out);
    case boolean: {
      std::uint8_t byte = 0;
      if (!number(byte)) return false;
      if (byte > 1) return fail("a bool must be 0 or 1, got ", byte);
      out = byte == 1;
      return true;
    }
    default:
      return fail("unknown type ", type);
  }
}

bool GgufParser::array(GgufArray& out, int depth) {
  if (depth > max_depth) return fail("arrays nested more than ", max_depth, " deep");
  if (!number(out.element_type) || !number(out.length)) return false;
  if (out.element_type > f64) return fail("unknown type ", out.element_type);
  if (out.length > reader_.remaining() / least_bytes[out.element_type]) {
    return fail("an array of ", out.length, " elements does not fit into the ", reader_.remaining(),
                " bytes that are left");
  }
  const bool numeric = out.element_type != string && out.element_type != list;
  if (numeric) out.numbers.reserve(out.length);
  for (std::uint64_t i = 0; i < out.length; ++i) {
    GgufValue element;
    std::string_view skipped;
    GgufArray inner;
    if (out.element_type == string ? !text(skipped)
        : out.element_type == list ? !array(inner, depth + 1)
                                   : !scalar(out.element_type, element)) {
      return false;
    }
    if (numeric) out.numbers.push_back(*as_double(element));
  }
  return true;
}

bool GgufParser::text(std::string_view& out) {
  std::uint64_t length = 0;
  if (!number(length)) return false;
  const auto taken = reader_.take(length);
  if (!taken) {
    return fail("text of ", length, " bytes does not fit into the ", reader_.remaining(), " that are left");
  }
  out = as_text(*taken);
  return true;
}

bool GgufParser::tensor() {
  std::string_view name;
  if (!text(name)) return false;
  where_ = message("tensor ", in_quotes(name), ": ");
  GgufTensor& tensor = tensors.emplace_back();
  tensor.name = name;
  std::uint32_t axes = 0;
  if (!number(axes)) return false;
  if (axes > max_ggml_axes) return fail(axes, " axes, at most ", max_ggml_axes, " are possible");
  tensor.shape.resize(axes);
  for (auto extent = tensor.shape.rbegin(); extent != tensor.shape.rend(); ++extent) {
    if (!number(*extent)) return false;
  }
  return number(tensor.type) && number(tensor.offset);
}

bool GgufParser::find_alignment(std::uint64_t& alignment) {
  const auto stated = std::find_if(keys.begin(), keys.end(),
                                   [](const GgufKey& key) { return key.name == "general.alignment"; });
  if (stated == keys.end()) return true;
  const auto* number = std::get_if<std::uint64_t>(&stated->value);
  if (!number || !std::has_single_bit(*number) || *number > UINT32_MAX) {
    return fail("key \"general.alignment\": must be a power of two of 32 bits");
  }
  alignment = *number;
  return true;
}

bool GgufParser::locate(GgufTensor& tensor, std::uint64_t data_begin, std::uint64_t alignment) {
  where_ = message("tensor ", in_quotes(tensor.name), ": ");
  const GgmlBlock block = ggml_block(tensor.type);
  if (block.elements == 0) {
    return fail_as(StatusCode::unsupported, "type ", tensor.type, " is not a known ggml type");
  }
  const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (row % block.elements != 0) return fail("a row of ", row, " is not made of blocks of ", block.elements);
  const auto elements = element_count(tensor.shape);
  const auto size =
      elements ? checked_mul(*elements / block.elements, std::uint64_t{block.bytes}) : std::nullopt;
  if (!size) return fail("shape ", shape_text(tensor.shape), " is negative or too large");
  if (tensor.offset % alignment != 0)
    return fail("offset ", tensor.offset, " is not a multiple of ", alignment);
  const auto begin = checked_add(data_begin, tensor.offset);
  const auto end = begin ? checked_add(*begin, *size) : std::nullopt;
  if (!end || *end > bytes_.size()) {
    return fail(*size, " bytes at offset ", tensor.offset, " of the data leave the file of ", bytes_.size(),
                " bytes");
  }
  tensor.offset = *begin;
  if (block.elements == 1) tensor.bytes = bytes_.subspan(*begin, *size);
  return true;
}

template <class T>
bool GgufParser::number(T& out) {
  const auto read = reader_.number<Unsigned<sizeof(T)>>();
  if (!read) return fail("the file ends here, after ", bytes_.size(), " bytes");
  out = std::bit_cast<T>(*read);
  return true;
}

template <class Kept, class Stored>
bool GgufParser::number_as(GgufValue& out) {
  Stored stored{};
  if (!number(stored)) return false;
  out = static_cast<Kept>(stored);
  return true;
}

std::optional<double> as_double(const GgufValue& value) noexcept {
  return std::visit(
      [](const auto& held) -> std::optional<double> {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>>) return static_cast<double>(held);
        return std::nullopt;
      },
      value);
}

}  // namespace rotary::impl
