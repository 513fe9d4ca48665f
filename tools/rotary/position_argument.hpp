// SPDX-License-Identifier: Apache-2.0
// --positions: a range a:b, or the ids in a file.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <rotary/positions.hpp>
#include <string>

#include "exit_code.hpp"
#include "tensor_file.hpp"

namespace rotary::tool {

/// Positions, and who gave them.
struct GivenPositions {
  Positions positions;
  std::string from;          ///< for messages: "--positions 0:4", "tensor \"positions\" of qk.safetensors"
  Exit blame = Exit::usage;  ///< the exit code if they do not fit
};

class PositionArgument {
 public:
  CLI::Option* add_to(CLI::App& command);

  /// The flag, or else the tensor `positions` of `input` (may be null). A range counts the same on every
  /// axis. Throws Failure.
  GivenPositions load(std::int64_t axes, const TensorFile* input) const;

 private:
  std::string text_;
};

}  // namespace rotary::tool
