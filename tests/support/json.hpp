// SPDX-License-Identifier: Apache-2.0
// Recorded numbers of other people's code that are no tensors.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "support/data.hpp"

namespace rotary::testing {

/// A JSON file of tests/data; what is missing throws, which fails the test.
inline nlohmann::json data_json(std::string_view name) {
  return nlohmann::json::parse(std::ifstream(data_path(name)));
}

}  // namespace rotary::testing
