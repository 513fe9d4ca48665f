// SPDX-License-Identifier: Apache-2.0
#include "scaling_flags.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "exit_code.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

std::string default_text(double value) { return digits(value); }
std::string default_text(bool value) { return value ? "true" : "false"; }
std::string default_text(const std::optional<double>& value) { return value ? digits(*value) : "not set"; }
std::string default_text(const std::vector<double>&) { return "not set"; }

void read(std::string_view text, std::string_view flag, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size())
    throw Failure(Exit::usage, std::string(flag) + " " + std::string(text) + ": expected a number");
}
void read(std::string_view text, std::string_view flag, std::optional<double>& out) {
  read(text, flag, out.emplace());
}
void read(std::string_view text, std::string_view flag, bool& out) {
  if (text != "true" && text != "false")
    throw Failure(Exit::usage, std::string(flag) + " " + std::string(text) + ": expected true or false");
  out = text == "true";
}
void read(std::string_view text, std::string_view flag, std::vector<double>& out) {
  for (bool more = true; more;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    more = comma < text.size();
    read(text.substr(0, comma), flag, out.emplace_back());
    text.remove_prefix(comma + (more ? 1 : 0));
  }
}

/// A factor of 1 stretches nothing, so nobody who names a scaling means it by saying nothing.
template <class Type>
bool is_missing(const Type& type, std::string_view field) {
  const bool stretches = field == "factor" || field == "alpha";
  bool by_nothing = false;
  type.fields(type, [&](std::string_view key, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
      by_nothing |= key == field && value == 1;
  });
  return stretches && by_nothing &&
         std::find(type.required.begin(), type.required.end(), field) != type.required.end();
}

template <class Type>
std::vector<std::string> fields_of(const Type& type) {
  std::vector<std::string> names;
  Type::fields(type, [&](std::string_view field, const auto&) { names.emplace_back(field); });
  return names;
}

}  // namespace

std::vector<std::string> scaling_names() {
  std::vector<std::string> names;
  each_scaling_type([&](const auto& type) { names.emplace_back(type.name); });
  return names;
}

std::string flag_of(std::string field) {
  std::replace(field.begin(), field.end(), '_', '-');
  return "--" + field;
}

void add_scaling_flags(CLI::App& command, std::map<std::string, std::string>& fields) {
  std::vector<std::string> order;
  std::map<std::string, std::string> help;
  each_scaling_type([&](const auto& type) {
    type.fields(type, [&](std::string_view name, const auto& value) {
      const std::string field(name);
      std::string& text = help[field];
      if (text.empty()) order.push_back(field);
      text += (text.empty() ? "Of " : "; ") + std::string(type.name) + ", default " + default_text(value);
    });
  });
  for (const auto& field : order)
    command.add_option(flag_of(field), fields[field], help[field])->option_text("X")->group("Scaling");
}

Scaling scaling_from_flags(const std::string& type, const std::map<std::string, std::string>& fields) {
  std::optional<Scaling> scaling;
  each_scaling_type([&](auto chosen) {
    if (chosen.name != (type.empty() ? scaling::None::name : type)) return;
    const auto known = fields_of(chosen);
    for (const auto& [field, text] : fields) {
      if (text.empty() || std::find(known.begin(), known.end(), field) != known.end()) continue;
      if (type.empty()) throw Failure(Exit::usage, flag_of(field) + " needs --scaling TYPE");
      throw Failure(Exit::usage, flag_of(field) + ": not a number of scaling \"" + type + "\"" +
                                     (known.empty() ? ", which has none" : ", which has " + list(known)));
    }
    chosen.fields(chosen, [&](std::string_view field, auto& value) {
      const std::string& text = fields.at(std::string(field));
      if (!text.empty()) read(text, flag_of(std::string(field)), value);
    });
    for (const auto& field : known) {
      if (!fields.at(field).empty() || !is_missing(chosen, field)) continue;
      throw Failure(Exit::usage, flag_of(field) + " is missing: without it scaling \"" + type +
                                     "\" scales nothing (4 means four times the length)");
    }
    scaling = chosen;
  });
  const auto names = scaling_names();
  if (!scaling)
    throw Failure(Exit::usage, "--scaling \"" + type + "\": unknown; expected one of " + list(names) +
                                   did_you_mean(type, names));
  return *scaling;
}

}  // namespace rotary::tool
