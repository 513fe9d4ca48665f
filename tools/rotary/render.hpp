// SPDX-License-Identifier: Apache-2.0
// What `rotary explain` shows, for people and for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <rotary/model.hpp>
#include <string>

namespace rotary::tool {

/// The report in plain words; what is doubtful comes first.
std::string explain_text(const Model& model, std::optional<std::int64_t> length);

/// Schema rotary.explain/1.
nlohmann::ordered_json explain_json(const Model& model, std::optional<std::int64_t> length);

/// Objects indented, arrays of numbers on one line; ends with a newline.
std::string pretty(const nlohmann::ordered_json& json);

}  // namespace rotary::tool
