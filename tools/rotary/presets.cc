// SPDX-License-Identifier: Apache-2.0
// rotary presets
#include <algorithm>
#include <iostream>
#include <memory>
#include <rotary/model.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "render.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

void show_json() {
  auto all = nlohmann::ordered_json::array();
  for (const auto& preset : presets())
    all.push_back({{"name", preset.name},
                   {"description", preset.description},
                   {"source", preset.source},
                   {"config", nlohmann::ordered_json::parse(preset.config)}});
  std::cout << pretty({{"schema", "rotary.presets/1"}, {"presets", all}});
}

void show_text() {
  std::size_t indent = 0;
  for (const auto& preset : presets()) indent = std::max(indent, preset.name.size() + 2);
  for (const auto& preset : presets()) {
    std::cout << paragraph(preset.name, indent, preset.description)
              << paragraph("", indent, "from " + std::string(preset.source));
  }
}

/// "local: 256 lanes half_split, base 10000; global: ..."
std::string rope_words(const Model& model) {
  std::vector<std::string> all;
  for (const ModelRope& entry : model.ropes()) {
    const Rope& rope = entry.rope;
    std::string text = model.ropes().size() == 1 ? "" : entry.name + ": ";
    text += std::to_string(rope.rotary_dim());
    if (rope.rotary_dim() != rope.head_dim()) text += " of " + std::to_string(rope.head_dim());
    text += " lanes " + std::string(rotary::name(rope.pairing()));
    if (rope.spectrum().base()) text += ", base " + digits(*rope.spectrum().base());
    const auto scaling = rotary::name(rope.spectrum().scaling());
    if (scaling != "default") text += ", " + std::string(scaling);
    if (rope.spectrum().axes() > 1) text += ", " + std::to_string(rope.spectrum().axes()) + " axes";
    all.push_back(std::move(text));
  }
  return list(all, "; ");
}

void show_page() {
  std::cout
      << "# Presets\n\n"
         "Every model the library knows by name, with the ropes it reads from the preset's config. The page "
         "is the\n"
         "output of `rotary presets --markdown`; a test compares the two. Where the source is a class of\n"
         "Transformers or diffusers, the numbers are that class's defaults: those of the family, not of one "
         "checkpoint.\n\n"
         "| preset | model | ropes | numbers from |\n"
         "| --- | --- | --- | --- |\n";
  for (const auto& preset : presets()) {
    std::cout << "| `" << preset.name << "` | " << preset.description << " | "
              << rope_words(take(Model::from_preset(preset.name), Exit::bug)) << " | " << preset.source
              << " |\n";
  }
}

}  // namespace

void add_presets(CLI::App& app) {
  auto json = std::make_shared<bool>(false), markdown = std::make_shared<bool>(false);
  auto* command =
      app.add_subcommand("presets", "The models that are known by name, and where their numbers come from");
  command->footer("Each name can stand for MODEL in every command: rotary explain llama-3.1-8b");
  auto* flag =
      command->add_flag("--json", *json, "Print schema rotary.presets/1 instead, with each preset's config");
  command->add_flag("--markdown", *markdown, "Print the page docs/presets.md instead")->excludes(flag);
  command->callback([json, markdown] { *json ? show_json() : *markdown ? show_page() : show_text(); });
}

}  // namespace rotary::tool
