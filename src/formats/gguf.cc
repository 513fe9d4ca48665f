// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <rotary/formats/gguf.hpp>

#include "base/mapped_file.hpp"
#include "formats/gguf_parser.hpp"

namespace rotary::formats {
namespace {

template <class Named>
const Named* find_named(const std::vector<Named>& all, std::string_view name) noexcept {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

Result<Gguf> Gguf::from_bytes(std::span<const std::byte> bytes, const std::string& origin) {
  impl::GgufParser parser(bytes, origin);
  if (!parser.run()) return parser.status();
  Gguf file;
  file.version_ = parser.version;
  file.big_endian_ = parser.big_endian;
  file.keys_ = std::move(parser.keys);
  file.tensors_ = std::move(parser.tensors);
  return file;
}

Result<Gguf> Gguf::open(const std::string& path) {
  auto mapped = impl::map_file(path);
  if (!mapped) return mapped.status();
  auto file = from_bytes(mapped->bytes, path);
  if (file) file->mapping_ = mapped->owner;
  return file;
}

const GgufTensor* Gguf::find_tensor(std::string_view name) const noexcept {
  return find_named(tensors_, name);
}

const GgufValue* Gguf::find(std::string_view key) const noexcept {
  const GgufKey* found = find_named(keys_, key);
  return found ? &found->value : nullptr;
}

std::optional<double> Gguf::number(std::string_view key) const noexcept {
  const GgufValue* value = find(key);
  return value ? impl::as_double(*value) : std::nullopt;
}

std::optional<std::string_view> Gguf::text(std::string_view key) const noexcept {
  const auto* text = std::get_if<std::string>(find(key));
  return text ? std::optional<std::string_view>(*text) : std::nullopt;
}

std::optional<std::span<const double>> Gguf::numbers(std::string_view key) const noexcept {
  const auto* array = std::get_if<GgufArray>(find(key));
  constexpr std::uint32_t string = 8, nested = 9;
  if (!array || array->element_type == string || array->element_type == nested) return std::nullopt;
  return array->numbers;
}

}  // namespace rotary::formats
