// SPDX-License-Identifier: Apache-2.0
/// @file
/// A tensor as files hold it: dense, row-major, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <rotary/dtype.hpp>
#include <span>
#include <string>
#include <vector>

namespace rotary::formats {

/// A view; the bytes belong to whoever made it (an open file, or the caller).
struct FileTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  ///< slowest axis first; empty for a scalar
  std::span<const std::byte> bytes;
};

}  // namespace rotary::formats
