// SPDX-License-Identifier: Apache-2.0
#include "model/keys.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/in_quotes.hpp"

namespace rotary::impl {
namespace {

std::optional<double> as_number(const Json& json) {
  if (const auto* integer = json.get<std::int64_t>()) return static_cast<double>(*integer);
  if (const auto* number = json.get<double>())
    return std::isfinite(*number) ? std::optional(*number) : std::nullopt;
  const auto* text = json.get<std::string>();
  double value = 0;
  if (text == nullptr) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

}  // namespace

const Json::Object& Keys::object() const noexcept {
  static const Json::Object none;
  return object_ == nullptr ? none : *object_;
}

bool is_word(std::string_view text) noexcept {
  constexpr std::size_t longest = 64;
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !text.empty() && text.size() <= longest && text.find_first_not_of(allowed) == text.npos;
}

std::string Keys::path_of(std::string_view key) const {
  const std::string word = is_word(key) ? std::string(key) : in_quotes(key);
  return path_.empty() ? word : message(path_, ".", word);
}

const Json* Keys::find(std::string_view key) const noexcept {
  const Json* found = impl::find(object(), key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

void Keys::wrong(std::string_view key, std::string_view expected, const Json& got) const {
  const auto* text = got.get<std::string>();
  builder_->malformed(path_of(key), ": expected ", expected, ", got ", kind(got),
                      text == nullptr ? "" : message(" ", in_quotes(*text)));
}

void Keys::warn_of_text(std::string_view key, const Json& got) const {
  if (const auto* text = got.get<std::string>())
    builder_->warn_once(message(path_of(key), " ", in_quotes(*text),
                                ": text, read as the number it spells; Transformers fails on it"));
}

std::optional<Sourced<double>> Keys::number(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (const auto value = as_number(*found)) {
    warn_of_text(key, *found);
    return Sourced<double>{*value, path_of(key)};
  }
  wrong(key, "a number", *found);
  return std::nullopt;
}

std::optional<Sourced<std::int64_t>> Keys::integer(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  constexpr double most = 1LL << 53;
  const auto value = as_number(*found);
  if (value && std::abs(*value) <= most && std::trunc(*value) == *value) {
    warn_of_text(key, *found);
    return Sourced<std::int64_t>{static_cast<std::int64_t>(*value), path_of(key)};
  }
  if (value) {
    builder_->malformed(path_of(key), " ", *value, ": must be a whole number");
  } else {
    wrong(key, "a whole number", *found);
  }
  return std::nullopt;
}

std::optional<Sourced<bool>> Keys::boolean(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (const auto* value = found->get<bool>()) return Sourced<bool>{*value, path_of(key)};
  wrong(key, "true or false", *found);
  return std::nullopt;
}

std::optional<Sourced<std::string>> Keys::text(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (const auto* value = found->get<std::string>()) return Sourced<std::string>{*value, path_of(key)};
  wrong(key, "text", *found);
  return std::nullopt;
}

const Json::Array* Keys::list(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) return nullptr;
  const auto* value = found->get<Json::Array>();
  if (value == nullptr) wrong(key, "a list", *found);
  return value;
}

std::optional<Sourced<std::vector<double>>> Keys::numbers(std::string_view key) const {
  const auto* entries = list(key);
  if (entries == nullptr) return std::nullopt;
  Sourced<std::vector<double>> result{{}, path_of(key)};
  for (const Json& entry : *entries) {
    const auto value = as_number(entry);
    if (!value) {
      wrong(key, "a list of numbers", entry);
      return std::nullopt;
    }
    result.value.push_back(*value);
  }
  return result;
}

Keys Keys::child(std::string_view key) const {
  const Json* found = find(key);
  const auto* object = found == nullptr ? nullptr : found->get<Json::Object>();
  if (found != nullptr && object == nullptr) wrong(key, "an object", *found);
  return Keys(object, path_of(key), *builder_);
}

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
    }
  }
  return row.back();
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t longest = 64;
  if (word.size() < 3 || word.size() > longest) return {};  // in so short a word everything is near
  std::string_view nearest;
  std::size_t best = word.size() / 3 + 2;
  for (const std::string_view candidate : known) {
    const std::size_t gap = candidate.starts_with(word)              ? 0
                            : candidate.find(word) != candidate.npos ? 1
                                                                     : 1 + edits(word, candidate);
    if (gap < best) best = gap, nearest = candidate;
  }
  return nearest.empty() ? "" : message(" (did you mean ", in_quotes(nearest), "?)");
}

std::string_view similar(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t longest = 64, most_edits = 4;
  if (word.size() > longest || known.empty()) return {};
  const auto best = std::min_element(known.begin(), known.end(),
                                     [&](auto a, auto b) { return edits(word, a) < edits(word, b); });
  return edits(word, *best) <= most_edits ? *best : std::string_view();
}

}  // namespace rotary::impl
