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

/// Returns how many commands the page shows.
int expect_shows_what_the_command_prints(const std::filesystem::path& file) {
  SCOPED_TRACE(file);
  const TemporaryFolder folder;
  std::filesystem::create_directory_symlink(ROTARY_SOURCE "/tests", folder.path() / "tests");
  std::istringstream page(read_file(file.string()));
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
  return commands;
}

TEST(Pages, ShowWhatTheCommandPrints) {
  const std::filesystem::path source = ROTARY_SOURCE;
  EXPECT_GE(expect_shows_what_the_command_prints(source / "README.md"), 1);
  int commands = 0;
  for (const auto& file : std::filesystem::directory_iterator(source / "docs")) {
    if (file.path().extension() == ".md") commands += expect_shows_what_the_command_prints(file.path());
  }
  EXPECT_GE(commands, 9);
}

}  // namespace
}  // namespace rotary::testing
