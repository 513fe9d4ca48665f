// SPDX-License-Identifier: Apache-2.0
// The pages show real output: every ```console block is run again, in order, in one folder.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "support/files.hpp"

namespace rotary::testing {
namespace {

std::string output_of(const std::string& line, const TemporaryFolder& folder) {
  const std::string tool = std::filesystem::path(ROTARY_COMMAND).parent_path().string();
  const std::string script = "cd '" + folder.path().string() + "' && PATH='" + tool + "':$PATH && { " + line +
                             "; } >'" + (folder / "said") + "' 2>&1";
  EXPECT_NE(std::system(script.c_str()), -1);
  return read_file(folder / "said");
}

void expect_shows_what_the_command_prints(const std::string& file, int least) {
  const TemporaryFolder folder;
  std::filesystem::create_directory_symlink(ROTARY_SOURCE "/tests", folder.path() / "tests");
  std::istringstream page(read_file(ROTARY_SOURCE "/" + file));
  int commands = 0;
  bool inside = false;
  std::string shown, real, last;
  for (std::string line; std::getline(page, line);) {
    const bool starts = line == "```console", ends = inside && line == "```",
               command = inside && line[0] == '$';
    if (ends || command) {
      EXPECT_EQ(shown, real) << last;
      shown = real = "";
    }
    if (command) {
      last = line;
      real = output_of(line.substr(2), folder);
      ++commands;
    } else if (inside && !ends) {
      shown += line + '\n';
    }
    inside = starts || (inside && !ends);
  }
  EXPECT_GE(commands, least);
}

TEST(Pages, CommandShowsWhatTheCommandPrints) { expect_shows_what_the_command_prints("docs/command.md", 9); }
TEST(Pages, ReadmeShowsWhatTheCommandPrints) { expect_shows_what_the_command_prints("README.md", 1); }

}  // namespace
}  // namespace rotary::testing
