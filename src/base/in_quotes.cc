// SPDX-License-Identifier: Apache-2.0
#include "base/in_quotes.hpp"

namespace rotary::impl {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 80;
  constexpr char hex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    } else {
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    }
  }
  if (text.size() > longest) out += "...";
  return out + '"';
}

}  // namespace rotary::impl
