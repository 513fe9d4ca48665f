// SPDX-License-Identifier: Apache-2.0
// What every file of the module shares: nanobind, and how a Status becomes a Python exception.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <rotary/rotary.hpp>
#include <string>
#include <utility>

namespace rotary::python {

namespace nb = nanobind;
using namespace nb::literals;

/// Sets ValueError for wrong values, OSError for unreadable files, NotImplementedError for what this build
/// cannot do, and throws it.
[[noreturn]] void raise(const Status& failure);
[[noreturn]] void raise_value(const std::string& message);
[[noreturn]] void raise_type(const std::string& message);

inline void check(const Status& status) {
  if (!status.ok()) raise(status);
}
template <class T>
T take(Result<T> result) {
  if (!result.ok()) raise(result.status());
  return std::move(result).value();
}

/// The value of a word that names one, or ValueError: `from_name` is the library's reverse of name().
template <class T>
T word(const char* what, std::string_view text, std::optional<T> (*from_name)(std::string_view) noexcept,
       const char* expected) {
  if (const auto value = from_name(text)) return *value;
  raise_value(std::string(what) + " \"" + std::string(text) + "\": expected " + expected);
}

inline Pairing pairing_of(std::string_view text) {
  return word("pairing", text, &pairing_from_name, "half_split, interleaved or interleaved_to_half");
}
inline Direction direction_of(std::string_view text) {
  return word("direction", text, &direction_from_name, "forward, inverse, gradient or inverse_gradient");
}
inline AxisOrder axis_order_of(std::string_view text) {
  return word("axis_order", text, &axis_order_from_name,
              "contiguous, interleaved, imrope, round_robin, spread or space_then_time");
}
inline AnglePolicy policy_of(std::string_view text) {
  return word("angles", text, &angle_policy_from_name, "exact, fp32 or ggml");
}

/// "module.Class" of an object's type, for messages.
std::string kind_of(nb::handle object);

/// An argument of that type. TypeError with its name, what it is and what was expected: nanobind's own message is the
/// whole signature.
template <class T>
T argument(nb::handle given, const char* name, const char* expected) {
  T value;
  if (nb::try_cast(given, value)) return value;
  raise_type(std::string(name) + ": " + kind_of(given) + ", expected " + expected);
}
inline std::int64_t whole_of(nb::handle given, const char* name) {
  return argument<std::int64_t>(given, name, "an int of 64 bits");
}
inline double number_of(nb::handle given, const char* name) {
  return argument<double>(given, name, "a number");
}
inline bool truth_of(nb::handle given, const char* name) { return argument<bool>(given, name, "a bool"); }
inline std::string text_of(nb::handle given, const char* name) {
  return argument<std::string>(given, name, "a str");
}
inline std::optional<std::int64_t> whole_or_none(nb::handle given, const char* name) {
  if (given.is_none()) return std::nullopt;
  return argument<std::int64_t>(given, name, "an int of 64 bits or None");
}
inline std::optional<std::string> text_or_none(nb::handle given, const char* name) {
  if (given.is_none()) return std::nullopt;
  return argument<std::string>(given, name, "a str or None");
}

/// One of the plain types that the module hands out (rotary/_types.py).
inline nb::object plain_data(const char* type) { return nb::module_::import_("rotary._types").attr(type); }

inline nb::str text(std::string_view s) { return nb::str(s.data(), s.size()); }

}  // namespace rotary::python
