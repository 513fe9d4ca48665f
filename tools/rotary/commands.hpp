// SPDX-License-Identifier: Apache-2.0
// Each adds its subcommand, which runs while the command line is parsed and throws Failure if it cannot.
#pragma once

#include <CLI/CLI.hpp>

namespace rotary::tool {

void add_explain(CLI::App& app);
void add_apply(CLI::App& app);
void add_table(CLI::App& app);
void add_bench(CLI::App& app);
void add_doctor(CLI::App& app);
void add_presets(CLI::App& app);

}  // namespace rotary::tool
