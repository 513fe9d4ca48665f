// SPDX-License-Identifier: Apache-2.0
// rotary explain MODEL
#include <iostream>
#include <memory>

#include "commands.hpp"
#include "model_argument.hpp"
#include "render.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

struct Options {
  ModelArgument model;
  bool json = false;
};

void explain(const Options& options) {
  const Model stated = options.model.stated();
  const Model model = options.model.as_asked(stated);
  const auto length = options.model.length();
  const auto as = options.model.as();
  const auto reports = peer_reports(stated, length);
  std::cout << (options.json ? pretty(explain_json(model, length, reports, as))
                             : printable(explain_text(model, length, reports, as)));
}

constexpr const char* footer = R"(Examples:
  rotary explain llama-3.1-8b
  rotary explain ./my-model/config.json --length 65536
  rotary explain gpt-oss-20b --as llama.cpp
  rotary explain model.gguf --json | jq '.ropes[0].inv_freq'
  rotary explain --base 500000 --head-dim 128 --scaling llama3 --factor 8)";

}  // namespace

void add_explain(CLI::App& app) {
  auto options = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("explain",
                         "What a model says about its rope, in plain words: which ropes on which layers,\n"
                         "pairing, scaling, wavelengths, where each value came from, what is doubtful");
  command->footer(footer);
  options->model.add_to(*command);
  command->add_flag("--json", options->json, "Print schema rotary.explain/1 instead");
  command->callback([options] { explain(*options); });
}

}  // namespace rotary::tool
