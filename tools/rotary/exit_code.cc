// SPDX-License-Identifier: Apache-2.0
#include "exit_code.hpp"

namespace rotary::tool {

Exit exit_for(StatusCode code, Exit invalid) noexcept {
  switch (code) {
    case StatusCode::ok:
      return Exit::done;
    case StatusCode::invalid_argument:
    case StatusCode::out_of_range:
      return invalid;
    case StatusCode::unreadable:
    case StatusCode::malformed:
      return Exit::input;
    case StatusCode::unsupported:
      return Exit::unsupported;
    case StatusCode::internal:
      break;
  }
  return Exit::bug;
}

void check(const Status& status, Exit invalid, const std::string& before) {
  if (!status.ok()) throw Failure(exit_for(status.code(), invalid), before + status.message());
}

}  // namespace rotary::tool
