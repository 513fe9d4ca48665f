// SPDX-License-Identifier: Apache-2.0
// Split GGUF: NAME-00001-of-00003.gguf and so on, each with split.no (from 0) and split.count; the first has the keys,
// the tensors lie anywhere. Source: llama.cpp's gguf-split.
#include "base/in_quotes.hpp"
#include "model/gguf_values.hpp"

namespace rotary::impl {
namespace {

using formats::Gguf;

constexpr std::size_t digits = 5;

/// "-00002-of-00003.gguf"
std::string suffix(std::uint64_t number, std::uint64_t count) {
  const auto padded = [](std::uint64_t n) {
    const std::string text = message(n);
    return std::string(digits - std::min(digits, text.size()), '0') + text;
  };
  return message("-", padded(number), "-of-", padded(count), ".gguf");
}

/// split.no or split.count: absent, or a number that a name can hold.
Result<std::uint64_t> split_number(const Gguf& file, const std::string& path, std::string_view key,
                                   std::uint64_t otherwise) {
  const auto* value = file.find(key);
  if (value == nullptr) return otherwise;
  const auto number = file.number(key);
  constexpr double most = 99999;
  if (!number || std::holds_alternative<bool>(*value) || !(*number >= 0 && *number <= most)) {
    return failure(StatusCode::malformed, path, ": ", key, ": must be a number from 0 to ", most);
  }
  return static_cast<std::uint64_t>(*number);
}

Status check_part(const Gguf& file, const std::string& path, std::uint64_t number, std::uint64_t count) {
  const auto no = split_number(file, path, "split.no", 0), of = split_number(file, path, "split.count", 1);
  if (!no) return no.status();
  if (!of) return of.status();
  if (*no == number && *of == count) return {};
  return failure(StatusCode::malformed, path, ": split.no ", *no, " of ", *of, ": must be ", number, " of ",
                 count);
}

}  // namespace

Result<std::vector<Gguf>> open_gguf_parts(const std::string& path) {
  auto first = Gguf::open(path);
  if (!first) return first.status();
  const auto count = split_number(*first, path, "split.count", 1);
  const auto number = split_number(*first, path, "split.no", 0);
  if (!count) return count.status();
  if (!number) return number.status();
  std::vector<Gguf> parts;
  parts.push_back(*std::move(first));
  if (*count <= 1) return parts;
  if (*number != 0) {
    return failure(StatusCode::malformed, path, ": part ", *number + 1, " of ", *count,
                   ": only the first has the description, the file that ends in ", suffix(1, *count));
  }
  const std::string ending = suffix(1, *count);
  if (!path.ends_with(ending)) {
    return failure(StatusCode::malformed, path, ": part 1 of ", *count, ", but the name does not end in ",
                   ending, ", so the other parts cannot be found");
  }
  const std::string stem = path.substr(0, path.size() - ending.size());
  for (std::uint64_t i = 1; i < *count; ++i) {
    const std::string name = stem + suffix(i + 1, *count);
    auto part = Gguf::open(name);
    if (!part) {
      return failure(part.status().code(), path, ": part ", i + 1, " of ", *count, ": ",
                     part.status().message());
    }
    if (auto status = check_part(*part, name, i, *count); !status.ok()) return status;
    parts.push_back(*std::move(part));
  }
  return parts;
}

}  // namespace rotary::impl
