// SPDX-License-Identifier: Apache-2.0
// Text from a file, fit for a message: short, on one line, and harmless to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace rotary::impl {

/// In double quotes; bytes that are not printable ASCII as \xNN, cut with "..." after 80 bytes.
std::string in_quotes(std::string_view text);

}  // namespace rotary::impl
