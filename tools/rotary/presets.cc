// SPDX-License-Identifier: Apache-2.0
// rotary presets
#include <algorithm>
#include <iostream>
#include <memory>
#include <rotary/model.hpp>

#include "commands.hpp"
#include "render.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

void show(bool json) {
  if (json) {
    auto all = nlohmann::ordered_json::array();
    for (const auto& preset : presets())
      all.push_back({{"name", preset.name}, {"description", preset.description}, {"source", preset.source}});
    std::cout << pretty({{"schema", "rotary.presets/1"}, {"presets", all}});
    return;
  }
  std::size_t indent = 0;
  for (const auto& preset : presets()) indent = std::max(indent, preset.name.size() + 2);
  for (const auto& preset : presets()) {
    std::cout << paragraph(preset.name, indent, preset.description)
              << paragraph("", indent, "from " + std::string(preset.source));
  }
}

}  // namespace

void add_presets(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  auto* command =
      app.add_subcommand("presets", "The models that are known by name, and where their numbers come from");
  command->footer("Each name can stand for MODEL in every command: rotary explain llama-3.1-8b");
  command->add_flag("--json", *json, "Print schema rotary.presets/1 instead");
  command->callback([json] { show(*json); });
}

}  // namespace rotary::tool
