// SPDX-License-Identifier: Apache-2.0
#include "model/gguf_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace rotary::impl {
namespace {

using formats::Gguf;

std::string_view kind(const formats::GgufValue& value) noexcept {
  constexpr std::string_view kinds[] = {"a number",      "a number", "a number",
                                        "a truth value", "text",     "a list"};
  return kinds[value.index()];
}

}  // namespace

void GgufValues::wrong(const std::string& path, std::string_view expected) const {
  builder_.malformed(path, ": expected ", expected, ", got ", kind(*file().find(path)));
}

std::optional<Sourced<double>> GgufValues::number(std::string_view name) const {
  const std::string path = key(name);
  const auto* value = file().find(path);
  if (value == nullptr) return std::nullopt;
  const auto number = file().number(path);
  if (number && !std::holds_alternative<bool>(*value)) return Sourced<double>{*number, path};
  wrong(path, "a number");
  return std::nullopt;
}

std::optional<Sourced<std::int64_t>> GgufValues::integer(std::string_view name, double most) const {
  const auto value = number(name);
  if (!value) return std::nullopt;
  check_whole(*value, 0, std::min(most, 9e15));
  if (builder_.failed()) return std::nullopt;
  return Sourced<std::int64_t>{static_cast<std::int64_t>(value->value), value->from};
}

std::optional<Sourced<bool>> GgufValues::boolean(std::string_view name) const {
  const std::string path = key(name);
  const auto* value = file().find(path);
  if (value == nullptr) return std::nullopt;
  if (const auto* truth = std::get_if<bool>(value)) return Sourced<bool>{*truth, path};
  wrong(path, "true or false");
  return std::nullopt;
}

std::optional<Sourced<std::string>> GgufValues::text(std::string_view name) const {
  const std::string path = key(name);
  if (file().find(path) == nullptr) return std::nullopt;
  if (const auto text = file().text(path)) return Sourced<std::string>{std::string(*text), path};
  wrong(path, "text");
  return std::nullopt;
}

std::optional<std::span<const double>> GgufValues::numbers(std::string_view name) const {
  return file().numbers(key(name));
}

void GgufValues::check(const Sourced<double>& value, double least, double most) const {
  if (std::isfinite(value.value) && value.value >= least && value.value <= most) return;
  builder_.malformed(value.from, " ", value.value, ": must be finite and from ", least, " to ", most);
}

void GgufValues::check_whole(const Sourced<double>& value, double least, double most) const {
  check(value, least, most);
  if (std::trunc(value.value) != value.value)
    builder_.malformed(value.from, " ", value.value, ": must be a whole number");
}

bool GgufValues::has_tensor(std::string_view name) const {
  return std::ranges::any_of(parts_, [&](const Gguf& part) { return part.find_tensor(name) != nullptr; });
}

std::optional<std::vector<double>> GgufValues::divisors(const std::string& name, std::int64_t pairs) const {
  const auto part =
      std::ranges::find_if(parts_, [&](const Gguf& p) { return p.find_tensor(name) != nullptr; });
  if (part == parts_.end()) return std::nullopt;
  const auto* tensor = part->find_tensor(name);
  std::vector<double> divisors;
  const auto count = static_cast<std::size_t>(pairs);
  if (tensor->type != 0 || tensor->bytes.size() != count * sizeof(float)) {
    builder_.malformed(name, ": expected ", pairs, " numbers of type f32, one a pair");
    return divisors;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, tensor->bytes.data() + i * sizeof bits, sizeof bits);
    const auto divisor = std::bit_cast<float>(part->big_endian() ? __builtin_bswap32(bits) : bits);
    if (!std::isfinite(divisor) || divisor <= 0) {
      builder_.malformed(name, "[", i, "] ", divisor, ": must be positive and finite");
      return divisors;
    }
    divisors.push_back(static_cast<double>(divisor));
  }
  return divisors;
}

}  // namespace rotary::impl
