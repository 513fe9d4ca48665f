// SPDX-License-Identifier: Apache-2.0
// Typed reading of an object's keys. A key that is absent or null is nothing; one of the wrong type is a
// failure of the builder that names the whole path.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/builder.hpp"
#include "model/json.hpp"

namespace rotary::impl {

class Keys {
 public:
  Keys(const Json::Object* object, std::string path, ModelBuilder& builder)
      : object_(object), path_(std::move(path)), builder_(&builder) {}

  bool present() const noexcept { return object_ != nullptr; }
  const Json::Object& object() const noexcept;
  /// "rope_scaling"; empty at the top.
  const std::string& path() const noexcept { return path_; }
  /// "rope_scaling.factor"
  std::string path_of(std::string_view key) const;

  const Json* find(std::string_view key) const noexcept;
  /// A number, or text that is one ("4.0").
  std::optional<Sourced<double>> number(std::string_view key) const;
  std::optional<Sourced<std::int64_t>> integer(std::string_view key) const;
  std::optional<Sourced<bool>> boolean(std::string_view key) const;
  std::optional<Sourced<std::string>> text(std::string_view key) const;
  const Json::Array* list(std::string_view key) const;
  std::optional<Sourced<std::vector<double>>> numbers(std::string_view key) const;
  Keys child(std::string_view key) const;

 private:
  void warn_of_text(std::string_view key, const Json& got) const;
  void wrong(std::string_view key, std::string_view expected, const Json& got) const;

  const Json::Object* object_;
  std::string path_;
  ModelBuilder* builder_;
};

/// One value from several places: the first that states it, and a failure where two places disagree.
template <class T>
class Agreed {
 public:
  explicit Agreed(ModelBuilder& builder) : builder_(builder) {}

  void add(std::optional<Sourced<T>> candidate) {
    if (!candidate) return;
    if (!value_) {
      value_ = std::move(candidate);
    } else if (!(value_->value == candidate->value)) {
      builder_.malformed(value_->from, " ", value_->value, " and ", candidate->from, " ", candidate->value,
                         ": must agree");
    }
  }
  const std::optional<Sourced<T>>& value() const noexcept { return value_; }

 private:
  ModelBuilder& builder_;
  std::optional<Sourced<T>> value_;
};

/// Letters, digits, '_', '-' and '.', 64 at most: fit to be printed as it is.
bool is_word(std::string_view text) noexcept;

/// Letters to put in, leave out or change to get from one word to the other.
std::size_t edits(std::string_view a, std::string_view b);

/// " (did you mean "x"?)" with the word that this one begins, or else is a part of, or is nearest to; or empty.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

/// The first of `known` that is spelled almost like `word`, or empty.
std::string_view similar(std::string_view word, std::span<const std::string_view> known);

}  // namespace rotary::impl
