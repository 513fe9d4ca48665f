// SPDX-License-Identifier: Apache-2.0
// A JSON document as a value: keys in the order of the file, no key twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <rotary/status.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rotary::impl {

struct Json {
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> value;  // null

  bool is_null() const noexcept { return value.index() == 0; }
  /// Null if it is of another kind.
  template <class T>
  const T* get() const noexcept {
    return std::get_if<T>(&value);
  }
  /// 1 and 1.0 are different values.
  friend bool operator==(const Json&, const Json&) = default;
};

struct Json::Member {
  std::string key;
  Json value;
  friend bool operator==(const Member&, const Member&) = default;
};

/// "a number", "NaN", "a list", ...: what a message says it got.
std::string_view kind(const Json& json) noexcept;

/// The value of a key, or null.
const Json* find(const Json::Object& object, std::string_view key) noexcept;

/// A bare NaN, Infinity or -Infinity, as Python writes them, is that number.
/// Errors (malformed): not JSON, not UTF-8, a key twice, nested deeper than 64, anything behind the document.
Result<Json> parse_json(std::string_view text);

}  // namespace rotary::impl
