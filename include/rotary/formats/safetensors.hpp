// SPDX-License-Identifier: Apache-2.0
/// @file
/// The safetensors format: named tensors in one file, read through a memory map.
///
///     auto file = rotary::formats::Safetensors::open("qk.safetensors").value();
///     const auto* q = file.find("q");                     // null if there is none
///     const rotary::formats::FileTensor out[] = {{"q", q->dtype, q->shape, bytes}};
///     rotary::formats::save_safetensors("out.safetensors", out).value();
#pragma once

#include <memory>
#include <rotary/export.hpp>
#include <rotary/formats/file_tensor.hpp>
#include <rotary/status.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rotary::formats {

using Metadata = std::vector<std::pair<std::string, std::string>>;

class ROTARY_API Safetensors {
 public:
  /// Maps the file. Errors, all naming the file: unreadable; header longer than 100,000,000 bytes or than the
  /// file, not a JSON object, duplicate names, unknown dtype, offsets that overflow, overlap, leave holes or
  /// do not match shape and dtype, metadata that is not text.
  static Result<Safetensors> open(const std::string& path);
  /// The same over bytes that outlive the result; `origin` names them in messages.
  static Result<Safetensors> from_bytes(std::span<const std::byte> bytes, const std::string& origin);

  /// In the order of the header.
  std::span<const FileTensor> tensors() const noexcept { return tensors_; }
  const FileTensor* find(std::string_view name) const noexcept;
  /// The `__metadata__` texts.
  const Metadata& metadata() const noexcept { return metadata_; }

 private:
  std::shared_ptr<const void> mapping_;
  std::vector<FileTensor> tensors_;
  Metadata metadata_;
};

/// Writes beside the target and renames: a reader sees the old file or the whole new one. Larger element
/// types come first, else the order is kept, so that every tensor in the file is aligned. Errors: duplicate
/// or reserved names, bytes that do not match shape and dtype, unwritable.
ROTARY_API Status save_safetensors(const std::string& path, std::span<const FileTensor> tensors,
                                   const Metadata& metadata = {});

}  // namespace rotary::formats
