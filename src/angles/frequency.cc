// SPDX-License-Identifier: Apache-2.0
#include "angles/frequency.hpp"

#include <cmath>
#include <cstddef>
#include <iterator>

#include "base/wide.hpp"

namespace rotary::impl {
namespace {

/// 1 / 2 pi in binary, the most significant word first: enough for the largest double.
constexpr std::uint64_t inverse_turn[] = {
    0x28BE60DB9391054A, 0x7F09D5F47D4D3770, 0x36D8A5664F10E410, 0x7F9458EAF7AEF158, 0x6DC91B8E909374B8,
    0x01924BBA82746487, 0x3F877AC72C4A69CF, 0xBA208D7D4BAED121, 0x3A671C09AD17DF90, 0x4E64758E60D4CE7D,
    0x272117E2EF7E4A0E, 0xC7FE25FFF7816603, 0xFBCBC462D6829B47, 0xDB4D9FB3C9F2C26D, 0xD3D18FD9A797FA8B,
    0x5D49EEB1FAF97C5E, 0xCF41CE7DE294A4BA, 0x9AFED7EC47E35742, 0x1580CC11BF1EDAEA, 0xFC33EF0826BD0D87,
};

std::uint64_t word(int index) noexcept {
  return index >= 0 && index < static_cast<int>(std::size(inverse_turn)) ? inverse_turn[index] : 0;
}

/// 64 bits of 1 / 2 pi from bit `first` on; bit 0 is worth 1/2, and bits before it are zero.
std::uint64_t bits_from(int first) noexcept {
  const int index = first >> 6, shift = first & 63;
  const std::uint64_t high = word(index) << shift;
  return shift == 0 ? high : high | (word(index + 1) >> (64 - shift));
}

}  // namespace

Frequency frequency_in_turns(double inv_freq) noexcept {
  int exponent = 0;
  const double significand = std::frexp(std::fabs(inv_freq), &exponent);  // 0, or 1/2 to 1
  const auto integer = static_cast<std::uint64_t>(std::ldexp(significand, 53));
  exponent -= 53;  // |inv_freq| = integer * 2^exponent

  // integer times 2^exponent / 2 pi, of which 256 bits matter: the window begins at 2^63 turns and ends 64
  // bits below the guard. Its four words, least significant first, carry upwards.
  std::uint64_t product[4];
  std::uint64_t carry = 0;
  for (int i = 0; i < 4; ++i) {
    const uint128 sum = static_cast<uint128>(integer) * bits_from(exponent - 64 + 64 * (3 - i)) + carry;
    product[i] = static_cast<std::uint64_t>(sum);
    carry = static_cast<std::uint64_t>(sum >> 64);
  }
  Frequency f{product[3], product[2], product[1]};
  if (std::signbit(inv_freq)) {
    f.guard = 0 - f.guard;
    f.fraction = ~f.fraction + (f.guard == 0 ? 1 : 0);
    f.turns = ~f.turns + (f.guard == 0 && f.fraction == 0 ? 1 : 0);
  }
  return f;
}

}  // namespace rotary::impl
