// SPDX-License-Identifier: Apache-2.0
/// @file
/// NumPy's .npy: one tensor a file.
#pragma once

#include <memory>
#include <rotary/export.hpp>
#include <rotary/formats/file_tensor.hpp>
#include <rotary/status.hpp>
#include <span>
#include <string>

namespace rotary::formats {

class ROTARY_API Npy {
 public:
  /// Versions 1 to 3, C order, little-endian or single-byte types: f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 b1.
  /// Fortran order is read if the tensor has at most one axis. bf16 has no npy code; it is read from `<V2`.
  static Result<Npy> open(const std::string& path);
  static Result<Npy> from_bytes(std::span<const std::byte> bytes, const std::string& origin);

  const FileTensor& tensor() const noexcept { return tensor_; }

 private:
  std::shared_ptr<const void> mapping_;
  FileTensor tensor_;
};

/// Version 1.0, C order, atomically. f8 types are not supported.
ROTARY_API Status save_npy(const std::string& path, const FileTensor& tensor);

}  // namespace rotary::formats
