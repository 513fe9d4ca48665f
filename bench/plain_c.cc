// SPDX-License-Identifier: Apache-2.0
#include "plain_c.hpp"

#include <bit>

#ifndef ROTARY_PLAIN_C
#define ROTARY_PLAIN_C release
#endif

namespace rotary::bench::ROTARY_PLAIN_C {
namespace {

// Not every compiler has a half: through the library, one element at a time, as g++ 12 compiles _Float16 too.
using Half = f16;
struct Brain {
  std::uint16_t bits;
};

inline float widen(float value) { return value; }
inline float widen(Half value) { return to_float(value); }
inline float widen(Brain value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }
inline void narrow(float& out, float value) { out = value; }
inline void narrow(Half& out, float value) { out = to_f16(value); }
inline void narrow(Brain& out, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  out.bits = static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

template <class Element, bool adjacent>
void rotate(Element* __restrict data, std::int64_t tokens, std::int64_t heads, const float* __restrict rows) {
  constexpr std::int64_t pairs = head_dim / 2;
  for (std::int64_t token = 0; token < tokens; ++token) {
    const float* __restrict cos = rows + token * head_dim;
    const float* __restrict sin = cos + pairs;
    for (std::int64_t head = 0; head < heads; ++head) {
      Element* __restrict x = data + (token * heads + head) * head_dim;
      for (std::int64_t i = 0; i < pairs; ++i) {
        Element& first = x[adjacent ? 2 * i : i];
        Element& second = x[adjacent ? 2 * i + 1 : i + pairs];
        const float a = widen(first), b = widen(second);
        narrow(first, a * cos[i] - b * sin[i]);
        narrow(second, b * cos[i] + a * sin[i]);
      }
    }
  }
}

template <class Element>
void rotate(void* data, bool adjacent, std::int64_t tokens, std::int64_t heads, const float* rows) {
  auto* elements = static_cast<Element*>(data);
  adjacent ? rotate<Element, true>(elements, tokens, heads, rows)
           : rotate<Element, false>(elements, tokens, heads, rows);
}

}  // namespace

void scale_in_place(void* data, DType dtype, std::int64_t count, float factor) {
  // The bytes of a 16-bit tensor as half as many floats: the limit is that of moving them.
  const std::int64_t floats = dtype == DType::f32 ? count : count / 2;
  float* __restrict values = static_cast<float*>(data);
  for (std::int64_t i = 0; i < floats; ++i) values[i] *= factor;
}

void rotate_plain(void* data, DType dtype, bool adjacent, std::int64_t tokens, std::int64_t heads,
                  const float* rows) {
  switch (dtype) {
    case DType::f32:
      return rotate<float>(data, adjacent, tokens, heads, rows);
    case DType::f16:
      return rotate<Half>(data, adjacent, tokens, heads, rows);
    default:
      return rotate<Brain>(data, adjacent, tokens, heads, rows);
  }
}

}  // namespace rotary::bench::ROTARY_PLAIN_C
