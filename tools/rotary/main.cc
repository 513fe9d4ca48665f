// SPDX-License-Identifier: Apache-2.0
// rotary: the command. Data on stdout, messages on stderr, an exit code that says what happened.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <rotary/version.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "exit_code.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

constexpr const char* footer =
    R"(A first look:
  rotary presets                          the models known by name
  rotary explain llama-3.1-8b             what a model says about its rope, in plain words
  rotary explain ./my-model --json        the same for programs
  rotary apply ./my-model --layer 0 --in qk.safetensors --out rotated.safetensors --positions 0:4096
  rotary table --base 10000 --head-dim 128 --positions 0:4096 --out table.safetensors

Exit codes: 0 done, 1 ran and the answer is no, 2 usage, 3 a file is unreadable or malformed,
4 not supported here, 70 a bug of ours. Data goes to stdout, messages to stderr.)";

int say(Exit code, const std::string& message) {
  note(message);
  return static_cast<int>(code);
}

// CLI11 would only say that a subcommand is required.
void check_command(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (argc < 2)
    throw Failure(Exit::usage, "a command is missing: " + list(names) + "\n`rotary --help` shows more.");
  const std::string word = argv[1];
  if (!word.starts_with('-') && std::find(names.begin(), names.end(), word) == names.end())
    throw Failure(Exit::usage,
                  word + ": no such command" + did_you_mean(word, names) + "; there are " + list(names));
}

int run(int argc, char** argv) {
  CLI::App app("Rotary position embeddings of real models: what they are, and applied.", "rotary");
  app.footer(footer);
  app.set_version_flag("--version", "rotary " ROTARY_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  add_explain(app);
  add_apply(app);
  add_table(app);
  add_presets(app);
  add_bench(app);
  add_doctor(app);
  check_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    app.exit(success);
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "rotary" : "rotary " + chosen.front()->get_name();
    return say(Exit::usage, std::string(error.what()) + "\n`" + command + " --help` shows what it takes.");
  }
  if (!std::cout.flush()) return say(Exit::input, "stdout: cannot be written");
  return static_cast<int>(Exit::done);
}

}  // namespace
}  // namespace rotary::tool

int main(int argc, char** argv) {
  using rotary::tool::Exit, rotary::tool::say;
  try {
    return rotary::tool::run(argc, argv);
  } catch (const rotary::tool::Failure& failure) {
    return say(failure.code(), failure.what());
  } catch (const std::bad_alloc&) {
    return say(Exit::unsupported, "not enough memory for this");
  } catch (const std::exception& error) {
    return say(Exit::bug, std::string("a bug of ours, please report it: ") + error.what());
  } catch (...) {
    return say(Exit::bug, "a bug of ours, please report it: an unknown exception");
  }
}
