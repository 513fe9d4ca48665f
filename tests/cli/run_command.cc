// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "run_command.hpp"
#include "support/files.hpp"

namespace rotary::testing {
namespace {

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text += '\'';
}

std::string joined(const std::vector<std::string>& arguments) {
  std::string text = "rotary";
  for (const auto& argument : arguments) text.append(1, ' ').append(argument);
  return text;
}

}  // namespace

Ran run_command(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  std::string line = quoted(ROTARY_COMMAND);
  for (const auto& argument : arguments) line.append(1, ' ').append(quoted(argument));
  line += " </dev/null >" + quoted(folder / "out") + " 2>" + quoted(folder / "err");
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder / "out"), read_file(folder / "err")};
}

::testing::AssertionResult refuses(const std::vector<std::string>& arguments, int exit_code,
                                   const std::string& part) {
  const Ran ran = run_command(arguments);
  if (ran.exit_code == exit_code && ran.out.empty() && ran.err.find(part) != std::string::npos)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << joined(arguments) << "\nended with " << ran.exit_code << ", expected " << exit_code
         << "\nstderr: " << ran.err << "expected in it: " << part << "\nstdout: " << ran.out;
}

void expect_golden(const std::string& text, const std::string& file) {
  const std::string path = std::string(ROTARY_GOLDEN) + "/" + file;
  if (std::getenv("ROTARY_UPDATE_GOLDEN")) write_file(path, text);
  EXPECT_EQ(text, read_file(path)) << path;
}

}  // namespace rotary::testing
