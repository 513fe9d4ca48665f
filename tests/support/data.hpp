// SPDX-License-Identifier: Apache-2.0
// Where the committed test data lie.
#pragma once

#include <string>
#include <string_view>

namespace rotary::testing {

/// The path of a file of tests/data.
std::string data_path(std::string_view name);

}  // namespace rotary::testing
