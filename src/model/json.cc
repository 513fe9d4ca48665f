// SPDX-License-Identifier: Apache-2.0
#include "model/json.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/in_quotes.hpp"
#include "base/message.hpp"

namespace rotary::impl {
namespace {

constexpr std::size_t max_depth = 64;

/// NaN, Infinity and -Infinity, which Python writes and JSON has not, as texts of the same length; which texts of the
/// document those are, counted from 0.
class BareWords {
 public:
  explicit BareWords(std::string_view text) {
    if (text.find("NaN") == text.npos && text.find("Infinity") == text.npos) return;
    std::size_t texts = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"') {
        i = end_of_text(text, i);
        ++texts;
        continue;
      }
      for (const auto& [word, value] : words) {
        if (!is_bare(text, i, word)) continue;
        if (copy_.empty()) copy_ = text;
        copy_[i] = copy_[i + word.size() - 1] = '"';
        found_.emplace_back(texts++, value);
        i += word.size() - 1;
        break;
      }
    }
  }
  std::string_view text_or(std::string_view original) const { return copy_.empty() ? original : copy_; }
  /// The number that the text of that index stands for.
  std::optional<double> number(std::size_t text) const {
    const auto found = std::ranges::lower_bound(found_, text, {}, &Found::first);
    return found == found_.end() || found->first != text ? std::nullopt : std::optional(found->second);
  }

 private:
  using Found = std::pair<std::size_t, double>;
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::pair<std::string_view, double> words[] = {
      {"NaN", std::numeric_limits<double>::quiet_NaN()}, {"Infinity", infinity}, {"-Infinity", -infinity}};

  static std::size_t end_of_text(std::string_view text, std::size_t quote) {
    std::size_t i = quote + 1;
    while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
    return i;
  }
  static bool is_bare(std::string_view text, std::size_t at, std::string_view word) {
    constexpr std::string_view before = ":[, \t\r\n", behind = ",]} \t\r\n";
    const std::size_t end = at + word.size();
    return text.substr(at, word.size()) == word && at > 0 && before.find(text[at - 1]) != before.npos &&
           end < text.size() && behind.find(text[end]) != behind.npos;
  }

  std::string copy_;
  std::vector<Found> found_;
};

/// The event interface, because the tree of the library keeps one of two equal keys and says nothing.
class Builder {
 public:
  explicit Builder(const BareWords& bare) : bare_(bare) {}

  bool null() { return place(nullptr); }
  bool boolean(bool value) { return place(value); }
  bool number_integer(std::int64_t value) { return place(value); }
  bool number_unsigned(std::uint64_t value) {
    return std::in_range<std::int64_t>(value) ? place(static_cast<std::int64_t>(value))
                                              : place(static_cast<double>(value));
  }
  bool number_float(double value, const std::string&) { return place(value); }
  bool string(std::string& value) {
    if (const auto number = bare_.number(texts_++)) return place(*number);
    return place(std::move(value));
  }
  bool binary(nlohmann::json::binary_t&) { return false; }

  bool start_object(std::size_t) { return open<Json::Object>(); }
  bool start_array(std::size_t) { return open<Json::Array>(); }
  bool end_array() { return close(); }
  bool end_object() {
    if (const std::string* twice = duplicate(std::get<Json::Object>(open_.back()->value))) {
      message_ = message("the key ", in_quotes(*twice), " appears twice in one object");
      return false;
    }
    return close();
  }
  bool key(std::string& name) {
    ++texts_;
    std::get<Json::Object>(open_.back()->value).emplace_back().key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    // Without the name of the exception, and what it last read, which may be long.
    std::string_view what = error.what();
    what.remove_prefix(std::min(what.find("] ") + 2, what.size()));
    message_ =
        message("not JSON at byte ", position, ": ", what.substr(0, what.find("; last read")).substr(0, 200));
    return false;
  }

  Json root;
  const std::string& problem() const { return message_; }

 private:
  /// Where the next value belongs.
  Json& slot() {
    if (open_.empty()) return root;
    if (auto* array = std::get_if<Json::Array>(&open_.back()->value)) return array->emplace_back();
    return std::get<Json::Object>(open_.back()->value).back().value;
  }
  template <class T>
  bool place(T value) {
    slot().value.emplace<T>(std::move(value));
    return true;
  }
  template <class Container>
  bool open() {
    if (open_.size() == max_depth) {
      message_ = message("nested deeper than ", max_depth, " levels");
      return false;
    }
    open_.push_back(&slot());
    open_.back()->value.emplace<Container>();
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  static const std::string* duplicate(const Json::Object& object) {
    std::vector<const std::string*> names;
    for (const auto& [name, value] : object) names.push_back(&name);
    std::sort(names.begin(), names.end(), [](const auto* a, const auto* b) { return *a < *b; });
    const auto twice =
        std::adjacent_find(names.begin(), names.end(), [](const auto* a, const auto* b) { return *a == *b; });
    return twice == names.end() ? nullptr : *twice;
  }

  const BareWords& bare_;
  std::size_t texts_ = 0;    // so far
  std::vector<Json*> open_;  // an element never moves while one inside it is open
  std::string message_;
};

}  // namespace

std::string_view kind(const Json& json) noexcept {
  constexpr std::string_view kinds[] = {"null", "a truth value", "a number", "a number",
                                        "text", "a list",        "an object"};
  if (const auto* number = json.get<double>(); number != nullptr && !std::isfinite(*number))
    return std::isnan(*number) ? "NaN" : *number > 0 ? "Infinity" : "-Infinity";
  return kinds[json.value.index()];
}

const Json* find(const Json::Object& object, std::string_view key) noexcept {
  const auto found = std::find_if(object.begin(), object.end(), [&](const auto& e) { return e.key == key; });
  return found == object.end() ? nullptr : &found->value;
}

Result<Json> parse_json(std::string_view text) {
  // The library would take a NUL for the end and skip what follows.
  if (const auto nul = text.find('\0'); nul != text.npos) {
    return failure(StatusCode::malformed, "not JSON at byte ", nul + 1, ": a NUL");
  }
  const BareWords bare(text);
  Builder builder(bare);
  if (!nlohmann::json::sax_parse(bare.text_or(text), &builder))
    return failure(StatusCode::malformed, builder.problem());
  return std::move(builder.root);
}

}  // namespace rotary::impl
