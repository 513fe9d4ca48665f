// SPDX-License-Identifier: Apache-2.0
/// @file
/// How the library says that something went wrong: a code and a sentence, never an exception or an abort.
///
///     auto rope = rotary::Rope::make(options);
///     if (!rope) return rope.status();   // "rotary_dim 256 at rotary_offset 0: must end within ..."
///     return rope->rotate(angles, q, k);
///
/// Those who like exceptions write `rotary::Rope::make(options).value()`, which throws rotary::Error. The throw
/// is in the library: these headers may be compiled with -fno-exceptions.
#pragma once

#include <rotary/export.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace rotary {

enum class StatusCode {
  ok,
  invalid_argument,  ///< the caller's values do not fit together
  out_of_range,      ///< a position or row lies outside its table
  unreadable,        ///< a file cannot be opened, read or written
  malformed,         ///< a file's content is not what its format demands
  unsupported,       ///< well formed, but this build or machine cannot do it
  internal,          ///< a fault of the library
};

/// "invalid_argument", ...
ROTARY_API std::string_view name(StatusCode code) noexcept;

class Status;

namespace detail {
[[noreturn]] ROTARY_API void throw_error(const Status& failure);
}

/// Success, or a code with a message that says what, expected and got.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(StatusCode code, std::string message) noexcept : code_(code), message_(std::move(message)) {}

  bool ok() const noexcept { return code_ == StatusCode::ok; }
  StatusCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }

  /// Throws Error unless ok.
  void value() const {
    if (!ok()) detail::throw_error(*this);
  }

 private:
  StatusCode code_ = StatusCode::ok;
  std::string message_;
};

/// What `.value()` throws.
class ROTARY_API Error : public std::runtime_error {
 public:
  explicit Error(const Status& status);
  StatusCode code() const noexcept { return code_; }

 private:
  StatusCode code_;
};

/// A T, or the Status that says why there is none. Reading the T of a failed Result throws Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<1>, std::move(value)) {}  // NOLINT: implicit
  Result(Status failure) noexcept
      : content_(std::in_place_index<0>, std::move(failure)) {}  // NOLINT: implicit

  bool ok() const noexcept { return content_.index() == 1; }
  explicit operator bool() const noexcept { return ok(); }

  /// Ok, or what went wrong.
  Status status() const { return ok() ? Status() : std::get<0>(content_); }

  const T& value() const& { return check(), std::get<1>(content_); }
  T& value() & { return check(), std::get<1>(content_); }
  T&& value() && { return check(), std::get<1>(std::move(content_)); }

  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  void check() const {
    if (!ok()) detail::throw_error(std::get<0>(content_));
  }
  std::variant<Status, T> content_;
};

}  // namespace rotary
