// SPDX-License-Identifier: Apache-2.0
// rotary table MODEL
#include <iostream>
#include <memory>
#include <rotary/angles.hpp>

#include "commands.hpp"
#include "model_argument.hpp"
#include "position_argument.hpp"
#include "render.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

constexpr std::int64_t most_numbers = std::int64_t{1} << 30;  // a tensor: 4 GiB

struct Options {
  ModelArgument model;
  RopeChoice choice;
  PositionArgument positions;
  std::string out;
  bool json = false;
};

formats::FileTensor tensor(const std::string& name, std::int64_t tokens, std::int64_t pairs,
                           const std::vector<float>& numbers) {
  return {name, DType::f32, {tokens, pairs}, std::as_bytes(std::span(numbers))};
}

void table(const Options& options) {
  check_output(options.out, 2);
  const Model model = options.model.load();
  const ModelRope* entry = options.choice.choose(model);
  if (!entry) throw Failure(Exit::usage, "the chosen layer has no rope, so there is no table of it");
  const GivenPositions given = options.positions.load(entry->rope.spectrum().axes(), nullptr);
  const std::int64_t tokens = given.positions.tokens(), pairs = entry->rope.pairs();
  if (given.positions.batch() != 1)
    throw Failure(given.blame, given.from + ": " + std::to_string(given.positions.batch()) +
                                   " rows; a table is made of one");
  if (pairs > 0 && tokens > most_numbers / pairs)
    throw Failure(Exit::unsupported, given.from + ": " + std::to_string(tokens) + " positions of " +
                                         std::to_string(pairs) +
                                         " pairs are more than 4 GiB a tensor; make the "
                                         "table in parts");

  const Angles angles =
      take(entry->rope.angles(given.positions, Rows::on_the_way), given.blame, given.from + ": ");
  const auto width = static_cast<std::size_t>(pairs);
  std::vector<float> cos(static_cast<std::size_t>(tokens) * width), sin(cos.size());
  for (std::size_t t = 0; t < static_cast<std::size_t>(tokens); ++t) {
    check(angles.row(0, static_cast<std::int64_t>(t), std::span(cos).subspan(t * width, width),
                     std::span(sin).subspan(t * width, width)),
          Exit::bug);
  }
  const std::string policy(name(angles.policy()));
  formats::Metadata metadata = {{"angles", policy}, {"model", model.origin()}, {"rope", entry->name}};
  const auto as = options.model.as();
  if (as) metadata.insert(metadata.begin() + 1, {"as", std::string(name(*as))});
  save(options.out, std::vector{tensor("cos", tokens, pairs, cos), tensor("sin", tokens, pairs, sin)},
       metadata);

  const double a = entry->rope.spectrum().attention_factor();
  if (options.json) {
    std::cout << pretty({{"schema", "rotary.table/1"},
                         {"out", options.out},
                         {"rope", entry->name},
                         {"angles", policy},
                         {"attention_factor", a},
                         {"tokens", tokens},
                         {"pairs", pairs}});
  }
  note(options.out + ": cos and sin, " + shape_text(std::vector{tokens, pairs}) + " f32, rope \"" +
       entry->name + "\"" + (as ? ", as " + std::string(name(*as)) : "") + ", angles " + policy +
       ", A = " + digits(a) + " included");
}

constexpr const char* footer = R"(Examples:
  rotary table llama-3.1-8b --positions 0:4096 --out table.safetensors
  rotary table --base 10000 --head-dim 128 --positions ids.npy --angles fp32 --out table.safetensors)";

}  // namespace

void add_table(CLI::App& app) {
  auto options = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("table",
                         "Writes cos and sin as the rotation uses them: [tokens, pairs] float32,\n"
                         "the attention factor A included");
  command->footer(footer);
  options->model.add_to(*command);
  options->choice.add_to(*command);
  options->positions.add_to(*command)->required();
  command->add_option("--out", options->out, "The .safetensors to write")
      ->required()
      ->option_text("FILE REQUIRED");
  command->add_flag("--json", options->json, "Print schema rotary.table/1, a summary");
  command->callback([options] { table(*options); });
}

}  // namespace rotary::tool
