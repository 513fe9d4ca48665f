// SPDX-License-Identifier: Apache-2.0
// What the safetensors reader and writer must agree on.
#pragma once

#include <cstdint>
#include <string_view>

namespace rotary::impl {

inline constexpr std::uint64_t max_safetensors_header = 100'000'000;
inline constexpr std::string_view metadata_key = "__metadata__";
/// In the order of DType.
inline constexpr std::string_view safetensors_dtypes[] = {"F64",     "F32", "F16", "BF16", "F8_E4M3",
                                                          "F8_E5M2", "I64", "I32", "I16",  "I8",
                                                          "U64",     "U32", "U16", "U8",   "BOOL"};

}  // namespace rotary::impl
