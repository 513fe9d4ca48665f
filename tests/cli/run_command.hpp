// SPDX-License-Identifier: Apache-2.0
// Runs the built command as a shell would.
#pragma once

#include <string>
#include <vector>

namespace rotary::testing {

struct Ran {
  int exit_code = -1;
  std::string out, err;
};

/// `rotary` with these arguments; the working folder is the test's.
Ran run_command(const std::vector<std::string>& arguments);

/// Passes if the command ended with `exit_code`, said nothing on stdout and `part` on stderr.
::testing::AssertionResult refuses(const std::vector<std::string>& arguments, int exit_code,
                                   const std::string& part);

/// Compares with a file in tests/cli/golden; with ROTARY_UPDATE_GOLDEN in the environment, writes it instead.
void expect_golden(const std::string& text, const std::string& file);

}  // namespace rotary::testing

#define EXPECT_REFUSES(exit_code, part, ...) \
  EXPECT_TRUE(::rotary::testing::refuses(std::vector<std::string> __VA_ARGS__, exit_code, part))
