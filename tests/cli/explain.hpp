// SPDX-License-Identifier: Apache-2.0
// What the tests of `rotary explain` ask of it.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_command.hpp"

namespace rotary::testing {

using Json = nlohmann::json;

inline std::string explain(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "explain");
  const Ran ran = run_command(arguments);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  return ran.out;
}
inline Json explain_json(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  return Json::parse(explain(arguments));
}
/// Without the line breaks, which are for reading alone.
inline std::string flowing(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const char piece = c == '\n' ? ' ' : c;
    if (piece != ' ' || out.empty() || out.back() != ' ') out += piece;
  }
  return out;
}
inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace rotary::testing
