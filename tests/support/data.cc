// SPDX-License-Identifier: Apache-2.0
#include "support/data.hpp"

namespace rotary::testing {

std::string data_path(std::string_view name) { return std::string(ROTARY_TEST_DATA "/").append(name); }

}  // namespace rotary::testing
