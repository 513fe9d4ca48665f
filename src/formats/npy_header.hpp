// SPDX-License-Identifier: Apache-2.0
// The dictionary in front of an .npy file's data, a literal of Python:
//
//     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
#pragma once

#include <cstdint>
#include <rotary/dtype.hpp>
#include <rotary/status.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::impl {

inline constexpr std::string_view npy_magic{"\x93NUMPY", 6};

struct NpyHeader {
  DType dtype = DType::f32;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// `origin` names the file in messages.
Result<NpyHeader> parse_npy_header(std::string_view text, const std::string& origin);

/// Magic, version 1.0 and header, byte for byte as NumPy writes them. `dtype` must have a code.
std::string npy_header_text(const NpyHeader& header);

/// "f4", without the byte order; empty if NumPy has none.
std::string_view npy_code(DType dtype) noexcept;

}  // namespace rotary::impl
