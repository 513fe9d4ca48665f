// SPDX-License-Identifier: Apache-2.0
#include <rotary/status.hpp>

namespace rotary {

std::string_view name(StatusCode code) noexcept {
  constexpr std::string_view names[] = {"ok",        "invalid_argument", "out_of_range", "unreadable",
                                        "malformed", "unsupported",      "internal"};
  return names[static_cast<std::size_t>(code)];
}

Error::Error(const Status& status) : std::runtime_error(status.message()), code_(status.code()) {}

void detail::throw_error(const Status& failure) { throw Error(failure); }

}  // namespace rotary
