// SPDX-License-Identifier: Apache-2.0
// --scaling TYPE and one flag for every number of every type, made from the fields() visitors of scaling.hpp:
// a new type is reachable from the command without a change here.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <rotary/scaling.hpp>
#include <string>
#include <vector>

namespace rotary::tool {

/// Calls visit(type) with a default value of every scaling type.
template <class Visit, std::size_t I = 0>
void each_scaling_type(Visit&& visit) {
  if constexpr (I < std::variant_size_v<Scaling>) {
    visit(std::variant_alternative_t<I, Scaling>{});
    each_scaling_type<Visit, I + 1>(std::forward<Visit>(visit));
  }
}

std::vector<std::string> scaling_names();
/// "beta_fast" -> "--beta-fast".
std::string flag_of(std::string field);
/// Adds a flag for every field, bound to fields[NAME].
void add_scaling_flags(CLI::App& command, std::map<std::string, std::string>& fields);
/// The scaling that the flags describe; empty texts are fields not given. Throws Failure (usage).
Scaling scaling_from_flags(const std::string& type, const std::map<std::string, std::string>& fields);

}  // namespace rotary::tool
