// SPDX-License-Identifier: Apache-2.0
// What the command answers to the shell, and how a subcommand stops with one of these answers.
#pragma once

#include <rotary/status.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace rotary::tool {

enum class Exit {
  done = 0,
  no = 1,           ///< ran, and the answer is no
  usage = 2,        ///< the command line does not fit together
  input = 3,        ///< a file is unreadable, unwritable or malformed
  unsupported = 4,  ///< well formed, but this build or machine cannot do it
  bug = 70,         ///< a fault of ours
};

/// Thrown by a subcommand, caught by main.
class Failure : public std::runtime_error {
 public:
  Failure(Exit code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Exit code() const noexcept { return code_; }

 private:
  Exit code_;
};

/// The exit code of a library status. What `invalid_argument` means depends on who gave the argument: the
/// command line (usage) or a file (input).
Exit exit_for(StatusCode code, Exit invalid) noexcept;

/// Throws a Failure unless ok; `before` leads the message.
void check(const Status& status, Exit invalid, const std::string& before = {});

template <class T>
T take(Result<T> result, Exit invalid, const std::string& before = {}) {
  check(result.status(), invalid, before);
  return std::move(result).value();
}

}  // namespace rotary::tool
