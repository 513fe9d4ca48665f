// SPDX-License-Identifier: Apache-2.0
// What the command answers to a person who asks for help or gets it wrong.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <rotary/kernels.hpp>
#include <rotary/model.hpp>
#include <rotary/scaling.hpp>
#include <rotary/version.hpp>

#include "run_command.hpp"
#include "support/files.hpp"

namespace rotary::testing {
namespace {

TEST(Usage, VersionAndHelpGoToStdout) {
  const Ran version = run_command({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out, "rotary " ROTARY_VERSION "\n");
  EXPECT_EQ(version.err, "");
  const Ran help = run_command({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  for (const char* word :
       {"explain", "apply", "table", "presets", "bench", "doctor", "--version", "Exit codes", "70"})
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
}

TEST(Usage, HelpOfEveryCommandNamesItsFlagsAndShowsAnExample) {
  const std::vector<std::string> model = {
      "MODEL",           "--base",       "--head-dim", "--rotary-dim", "--rotary-offset",
      "--axis-sections", "--axis-order", "--scaling",  "--pairing",    "--angles",
      "--length",        "--strict",     "--json"};
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands = {
      {"explain", {}},
      {"table", {"--layer", "--rope", "--positions", "--out"}},
      {"apply",
       {"--layer", "--rope", "--positions", "--in", "--out", "--tensors", "--layout", "--direction",
        "--kernel", "--threads"}}};
  for (const auto& [command, flags] : commands) {
    const Ran help = run_command({command, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    for (const auto& flag : flags)
      EXPECT_NE(help.out.find("  " + flag + " "), std::string::npos) << command << flag;
    for (const auto& flag : model)
      EXPECT_NE(help.out.find("  " + flag + " "), std::string::npos) << command << flag;
    EXPECT_NE(help.out.find("Examples:\n  rotary " + command), std::string::npos);
  }
  for (const char* command : {"presets", "doctor"})
    EXPECT_NE(run_command({command, "--help"}).out.find("--json"), std::string::npos);
}

// Every number of every scaling type can be given on the command line.
template <std::size_t I = 0>
void expect_scaling_flags(const std::string& help) {
  if constexpr (I < std::variant_size_v<Scaling>) {
    using Type = std::variant_alternative_t<I, Scaling>;
    EXPECT_NE(help.find(std::string(Type::name)), std::string::npos) << Type::name;
    const Type type{};
    Type::fields(type, [&](std::string_view field, const auto&) {
      std::string flag = "--" + std::string(field);
      for (char& c : flag) c = c == '_' ? '-' : c;
      EXPECT_NE(help.find(flag), std::string::npos) << flag;
    });
    expect_scaling_flags<I + 1>(help);
  }
}
TEST(Usage, EveryScalingTypeIsReachable) { expect_scaling_flags(run_command({"explain", "--help"}).out); }

TEST(Usage, WrongCommandLinesAreUsageErrors) {
  EXPECT_REFUSES(2, "a command is missing: explain, apply, table, presets, bench, doctor", {});
  EXPECT_REFUSES(2, "aply: no such command (did you mean \"apply\"?)", {"aply"});
  EXPECT_REFUSES(2, "--frob", {"explain", "--frob"});
  EXPECT_REFUSES(2, "`rotary explain --help`", {"explain", "--base", "ten"});
  EXPECT_REFUSES(2, "MODEL is missing", {"explain"});
  EXPECT_REFUSES(2, "--head-dim is missing", {"explain", "--base", "10000"});
  EXPECT_REFUSES(2, "--base describes a model by flags, but MODEL is \"llama-3.1-8b\"",
                 {"explain", "llama-3.1-8b", "--base", "10000"});
  EXPECT_REFUSES(2, "half not in {half_split,interleaved,interleaved_to_half}",
                 {"explain", "--head-dim", "8", "--pairing", "half"});
  EXPECT_REFUSES(2, "table not in", {"explain", "--head-dim", "8", "--angles", "table"});
  EXPECT_REFUSES(2, "rotary_dim 7: must be even", {"explain", "--head-dim", "7"});
  EXPECT_REFUSES(2, "rotary_dim -2", {"explain", "--rotary-dim", "-2"});
  EXPECT_REFUSES(2, "--rotary-offset -1", {"explain", "--head-dim", "8", "--rotary-offset", "-1"});
  EXPECT_REFUSES(2, "base 0", {"explain", "--head-dim", "8", "--base", "0"});
  EXPECT_REFUSES(2, "head_dim 8", {"explain", "--head-dim", "8", "--rotary-dim", "16"});
  for (const char* length : {"0", "-5", "99999999999999999999", "4k"})
    EXPECT_REFUSES(2, "--length: " + std::string(length) + ": expected a whole number from 1 to 2^63 - 1",
                   {"explain", "--head-dim", "8", "--length", length});
  EXPECT_REFUSES(2, "--head-dim: 99999999999999999999: expected a whole number of 64 bits",
                 {"explain", "--head-dim", "99999999999999999999"});
  EXPECT_REFUSES(2, "rotary_dim: not given, or -1; must be even, from 0 to 8192",
                 {"explain", "--rotary-dim", "-1"});
  EXPECT_REFUSES(2, "--axis-sections: \"\": expected whole numbers between commas, as 16,24,24",
                 {"explain", "--head-dim", "28", "--axis-sections", "6,,8"});
  EXPECT_REFUSES(2, "--axis-sections: \"\"", {"explain", "--head-dim", "28", "--axis-sections", "6,8,"});
  EXPECT_REFUSES(2, "--axis-order imrope: needs --axis-sections",
                 {"explain", "--head-dim", "8", "--axis-order", "imrope"});
  EXPECT_REFUSES(2, "--positions is required", {"table", "--head-dim", "8", "--out", "t.safetensors"});
  EXPECT_REFUSES(2, "--in is required", {"apply", "--head-dim", "8", "--out", "t.safetensors"});
}

TEST(Usage, ScalingFlagsMustFitTheirType) {
  EXPECT_REFUSES(2, "--factor needs --scaling TYPE", {"explain", "--head-dim", "8", "--factor", "4"});
  EXPECT_REFUSES(2, "unknown; expected one of default, linear, llama3, yarn",
                 {"explain", "--head-dim", "8", "--scaling", "yrn"});
  EXPECT_REFUSES(2, "(did you mean \"yarn\"?)", {"explain", "--head-dim", "8", "--scaling", "yrn"});
  EXPECT_REFUSES(2, "--beta-fast: not a number of scaling \"linear\", which has factor",
                 {"explain", "--head-dim", "8", "--scaling", "linear", "--beta-fast", "32"});
  EXPECT_REFUSES(2, "--factor four: expected a number",
                 {"explain", "--head-dim", "8", "--scaling", "linear", "--factor", "four"});
  EXPECT_REFUSES(2, "--truncate no: expected true or false",
                 {"explain", "--head-dim", "8", "--scaling", "yarn", "--truncate", "no"});
  EXPECT_REFUSES(2, "factor 0.5", {"explain", "--head-dim", "8", "--scaling", "linear", "--factor", "0.5"});
}

TEST(Usage, ModelsThatCannotBeReadAreInputErrors) {
  EXPECT_REFUSES(3, "nowhere/config.json: no such file", {"explain", "nowhere/config.json"});
  EXPECT_REFUSES(3, "(did you mean \"llama-3.1-8b\"?)", {"explain", "llama-3.1-8"});
  const TemporaryFolder folder;
  EXPECT_REFUSES(3, folder.path().string(), {"explain", folder.path().string()});
  write_file(folder / "config.json", "{\"rope_theta\": ");
  EXPECT_REFUSES(3, "config.json", {"explain", folder / "config.json"});
  write_file(folder / "model.gguf", "GGUF");
  EXPECT_REFUSES(3, "model.gguf", {"explain", folder / "model.gguf"});
}

TEST(Usage, AFullDiskIsNotSilent) {
  const TemporaryFolder folder;
  const std::string line =
      std::string(ROTARY_COMMAND) + " explain --head-dim 8 >/dev/full 2>" + (folder / "err");
  EXPECT_EQ(std::system(line.c_str()), 3 << 8);
  EXPECT_EQ(read_file(folder / "err"), "rotary: stdout: cannot be written\n");
}

TEST(Doctor, NamesEveryKernelWithAVerdict) {
  const Ran text = run_command({"doctor"}), json = run_command({"doctor", "--json"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(text.err + json.err, "");
  EXPECT_NE(json.out.find("\"schema\": \"rotary.doctor/1\""), std::string::npos);
  for (const auto& kernel : kernels()) {
    EXPECT_NE(text.out.find("  " + std::string(kernel.name) + " "), std::string::npos);
    EXPECT_NE(json.out.find("\"name\": \"" + std::string(kernel.name) + "\""), std::string::npos);
  }
  for (const char* word : {"rotary ", "Highway ", "nlohmann-json", "built without CUDA", "compiler"})
    EXPECT_NE(text.out.find(word), std::string::npos) << word;
}

TEST(Presets, EachIsListedAndExplained) {
  const Ran text = run_command({"presets"}), json = run_command({"presets", "--json"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(json.out.find("\"schema\": \"rotary.presets/1\""), std::string::npos);
  EXPECT_GE(presets().size(), 12U);
  for (const auto& preset : presets()) {
    const std::string name(preset.name);
    EXPECT_NE(text.out.find(name + " "), std::string::npos) << name;
    EXPECT_NE(json.out.find("\"" + name + "\""), std::string::npos) << name;
    const Ran explained = run_command({"explain", name});
    EXPECT_EQ(explained.exit_code, 0) << explained.err;
    EXPECT_EQ(explained.out.rfind(name + ": a preset", 0), 0U) << explained.out;
  }
}

TEST(Presets, ThePageIsWhatTheCommandPrints) {
  EXPECT_EQ(run_command({"presets", "--markdown"}).out, read_file(ROTARY_SOURCE "/docs/presets.md"))
      << "run: rotary presets --markdown > docs/presets.md";
  const auto json = nlohmann::json::parse(run_command({"presets", "--json"}).out);
  for (const auto& preset : json.at("presets")) {
    const auto model = Model::from_config(preset.at("config").dump());
    ASSERT_TRUE(model) << preset.at("name");
    EXPECT_EQ(model->ropes().size(),
              Model::from_preset(preset.at("name").get<std::string>())->ropes().size());
  }
}

TEST(Usage, AScalingThatScalesNothingIsRefused) {
  EXPECT_REFUSES(
      2, "--factor is missing: without it scaling \"yarn\" scales nothing (4 means four times the length)",
      {"explain", "--head-dim", "64", "--scaling", "yarn"});
  EXPECT_REFUSES(2, "--factor is missing", {"explain", "--head-dim", "64", "--scaling", "linear"});
  EXPECT_REFUSES(2, "--alpha is missing", {"explain", "--head-dim", "64", "--scaling", "ntk_alpha"});
  EXPECT_EQ(run_command({"explain", "--head-dim", "64", "--scaling", "yarn", "--factor", "1"}).exit_code, 0);
  EXPECT_EQ(run_command({"explain", "--head-dim", "64", "--scaling", "llama3"}).exit_code, 0);
}

}  // namespace
}  // namespace rotary::testing
