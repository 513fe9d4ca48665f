// SPDX-License-Identifier: Apache-2.0
// Sizes of ggml's tensor types (llama.cpp, gguf-py/gguf/constants.py, GGML_QUANT_SIZES).
#pragma once

#include <cstdint>
#include <iterator>

namespace rotary::impl {

/// A row is a whole number of blocks of `elements`, each of `bytes`.
struct GgmlBlock {
  std::uint16_t elements, bytes;
};

/// By ggml's code; {0, 0} where a code is no longer or not yet in use.
inline constexpr GgmlBlock ggml_blocks[] = {
    {1, 4},      // 0 f32
    {1, 2},      // 1 f16
    {32, 18},    // 2 q4_0
    {32, 20},    // 3 q4_1
    {0, 0},      // 4 was q4_2
    {0, 0},      // 5 was q4_3
    {32, 22},    // 6 q5_0
    {32, 24},    // 7 q5_1
    {32, 34},    // 8 q8_0
    {32, 40},    // 9 q8_1
    {256, 84},   // 10 q2_K
    {256, 110},  // 11 q3_K
    {256, 144},  // 12 q4_K
    {256, 176},  // 13 q5_K
    {256, 210},  // 14 q6_K
    {256, 292},  // 15 q8_K
    {256, 66},   // 16 iq2_xxs
    {256, 74},   // 17 iq2_xs
    {256, 98},   // 18 iq3_xxs
    {256, 50},   // 19 iq1_s
    {32, 18},    // 20 iq4_nl
    {256, 110},  // 21 iq3_s
    {256, 82},   // 22 iq2_s
    {256, 136},  // 23 iq4_xs
    {1, 1},      // 24 i8
    {1, 2},      // 25 i16
    {1, 4},      // 26 i32
    {1, 8},      // 27 i64
    {1, 8},      // 28 f64
    {256, 56},   // 29 iq1_m
    {1, 2},      // 30 bf16
    {0, 0},      // 31 was q4_0_4_4
    {0, 0},      // 32 was q4_0_4_8
    {0, 0},      // 33 was q4_0_8_8
    {256, 54},   // 34 tq1_0
    {256, 66},   // 35 tq2_0
    {0, 0},      // 36 was iq4_nl_4_4
    {0, 0},      // 37 was iq4_nl_4_8
    {0, 0},      // 38 was iq4_nl_8_8
    {32, 17},    // 39 mxfp4
    {64, 36},    // 40 nvfp4
    {128, 18},   // 41 q1_0
};

constexpr GgmlBlock ggml_block(std::uint32_t type) noexcept {
  return type < std::size(ggml_blocks) ? ggml_blocks[type] : GgmlBlock{0, 0};
}

}  // namespace rotary::impl
