// SPDX-License-Identifier: Apache-2.0
#include "model/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/in_quotes.hpp"
#include "base/message.hpp"

namespace rotary::impl {
namespace {

constexpr std::size_t max_depth = 64;

/// The event interface, because the tree of the library keeps one of two equal keys and says nothing.
class Builder {
 public:
  bool null() { return place(nullptr); }
  bool boolean(bool value) { return place(value); }
  bool number_integer(std::int64_t value) { return place(value); }
  bool number_unsigned(std::uint64_t value) {
    return std::in_range<std::int64_t>(value) ? place(static_cast<std::int64_t>(value))
                                              : place(static_cast<double>(value));
  }
  bool number_float(double value, const std::string&) { return place(value); }
  bool string(std::string& value) { return place(std::move(value)); }
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

  std::vector<Json*> open_;  // an element never moves while one inside it is open
  std::string message_;
};

}  // namespace

std::string_view kind(const Json& json) noexcept {
  constexpr std::string_view kinds[] = {"null", "a truth value", "a number", "a number",
                                        "text", "a list",        "an object"};
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
  Builder builder;
  if (!nlohmann::json::sax_parse(text, &builder)) return failure(StatusCode::malformed, builder.problem());
  return std::move(builder.root);
}

}  // namespace rotary::impl
