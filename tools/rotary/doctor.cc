// SPDX-License-Identifier: Apache-2.0
// rotary doctor
#include <iostream>
#include <memory>
#include <rotary/kernels.hpp>
#include <rotary/version.hpp>
#include <string>

#include "commands.hpp"
#include "render.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

std::string compiler() {
#if defined(__clang__)
  return __VERSION__;
#else
  return "g++ " __VERSION__;
#endif
}

std::string nlohmann_version() {
  return std::to_string(NLOHMANN_JSON_VERSION_MAJOR) + "." + std::to_string(NLOHMANN_JSON_VERSION_MINOR) +
         "." + std::to_string(NLOHMANN_JSON_VERSION_PATCH);
}

constexpr const char* cuda = "built without CUDA";

void show_json() {
  auto all = nlohmann::ordered_json::array();
  for (const auto& kernel : kernels())
    all.push_back({{"name", kernel.name},
                   {"description", kernel.description},
                   {"accepted", kernel.accepted},
                   {"reason", kernel.reason}});
  std::cout << pretty({{"schema", "rotary.doctor/1"},
                       {"versions",
                        {{"rotary", ROTARY_VERSION},
                         {"highway", ROTARY_HIGHWAY_VERSION},
                         {"nlohmann_json", nlohmann_version()},
                         {"cli11", CLI11_VERSION}}},
                       {"compiler", compiler()},
                       {"cuda", {{"available", false}, {"reason", cuda}}},
                       {"kernels", all}});
}

void show_text() {
  constexpr std::size_t indent = 15;
  std::cout << paragraph("rotary", indent, ROTARY_VERSION) << paragraph("compiler", indent, compiler())
            << paragraph("Highway", indent, ROTARY_HIGHWAY_VERSION)
            << paragraph("nlohmann-json", indent, nlohmann_version())
            << paragraph("CLI11", indent, CLI11_VERSION) << paragraph("CUDA", indent, cuda)
            << "\nkernels, in order of preference; the first that accepts a piece of work is taken\n";
  for (const auto& kernel : kernels()) {
    std::cout << paragraph("  " + std::string(kernel.name), indent,
                           kernel.accepted ? "accepted" : "passed over: " + kernel.reason)
              << paragraph("", indent, kernel.description);
  }
}

}  // namespace

void add_doctor(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  auto* command = app.add_subcommand(
      "doctor", "What this build and this machine can do: kernels and why each was passed over, versions");
  command->footer("Force a kernel by its name: rotary apply ... --kernel reference");
  command->add_flag("--json", *json, "Print schema rotary.doctor/1 instead");
  command->callback([json] { *json ? show_json() : show_text(); });
}

}  // namespace rotary::tool
