// SPDX-License-Identifier: Apache-2.0
#include "scaling.hpp"

#include <algorithm>

namespace rotary::python {
namespace {

template <class Visit>
void each_type(Visit&& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (visit(std::variant_alternative_t<I, Scaling>()), ...); }
  (std::make_index_sequence<std::variant_size_v<Scaling>>());
}

template <class T>
T number(std::string_view key, nb::handle value, const char* expected) {
  T out;
  if (nb::try_cast(value, out)) return out;
  raise_type("scaling: " + std::string(key) + ": " + kind_of(value) + ", expected " + expected);
}
void read(std::string_view key, nb::handle value, double& out) {
  out = number<double>(key, value, "a number");
}
void read(std::string_view key, nb::handle value, bool& out) { out = number<bool>(key, value, "a bool"); }
void read(std::string_view key, nb::handle value, std::optional<double>& out) {
  out = value.is_none() ? std::nullopt : std::optional(number<double>(key, value, "a number"));
}
void read(std::string_view key, nb::handle value, std::vector<double>& out) {
  out = number<std::vector<double>>(key, value, "a list of numbers");
}

template <class Type>
Type filled(const nb::dict& dict) {
  Type type;
  std::vector<std::string> known;
  Type::fields(type, [&](std::string_view key, auto& field) {
    known.emplace_back(key);
    const nb::str word = text(key);
    if (dict.contains(word)) {
      read(key, dict[word], field);
    } else if (std::ranges::find(Type::required, key) != Type::required.end()) {
      raise_value("scaling " + std::string(Type::name) + ": " + std::string(key) + " is missing");
    }
  });
  for (const auto& [key, value] : dict) {
    const auto word = nb::cast<std::string>(nb::str(key));
    if (word == "rope_type" || word == "type" || std::ranges::find(known, word) != known.end()) continue;
    std::string has;
    for (const auto& each : known) has += (has.empty() ? "" : ", ") + each;
    raise_value("scaling " + std::string(Type::name) + ": unknown key \"" + word + "\"" +
                (has.empty() ? ", it has none" : ", it has " + has));
  }
  return type;
}

}  // namespace

Scaling to_scaling(nb::handle object) {
  if (object.is_none()) return scaling::None{};
  nb::dict dict;
  if (nb::isinstance<nb::str>(object)) {
    dict["rope_type"] = object;
  } else if (nb::isinstance<nb::dict>(object)) {
    dict = nb::borrow<nb::dict>(object);
  } else {
    raise_type("scaling: " + kind_of(object) + ", expected a dict with rope_type, a str or None");
  }
  const char* key = dict.contains("rope_type") ? "rope_type" : "type";
  if (!dict.contains(key)) raise_value("scaling: rope_type is missing");
  const auto wanted = nb::cast<std::string>(nb::str(dict[key]));
  std::optional<Scaling> found;
  std::string names;
  each_type([&]<class Type>(const Type&) {
    names += (names.empty() ? "" : ", ") + std::string(Type::name);
    if (wanted == Type::name) found = filled<Type>(dict);
  });
  if (!found) raise_value("scaling \"" + wanted + "\": unknown, expected one of " + names);
  return *found;
}

nb::dict to_dict(const Scaling& scaling) {
  nb::dict dict;
  dict["rope_type"] = text(name(scaling));
  std::visit(
      [&](const auto& type) {
        type.fields(type, [&](std::string_view key, const auto& value) {
          if constexpr (requires { *value; }) {
            if (value) dict[text(key)] = nb::cast(*value);
          } else {
            dict[text(key)] = nb::cast(value);
          }
        });
      },
      scaling);
  return dict;
}

}  // namespace rotary::python
