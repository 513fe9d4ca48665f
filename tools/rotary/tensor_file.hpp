// SPDX-License-Identifier: Apache-2.0
// A .safetensors or a .npy as a list of named tensors.
#pragma once

#include <optional>
#include <rotary/formats/npy.hpp>
#include <rotary/formats/safetensors.hpp>
#include <span>
#include <string>
#include <vector>

namespace rotary::tool {

/// An open file; its tensors are views into it.
class TensorFile {
 public:
  /// By the name's ending. The tensor of a .npy, which has no name there, is called `npy_name`.
  TensorFile(const std::string& path, const std::string& npy_name);

  const std::string& path() const noexcept { return path_; }
  std::span<const formats::FileTensor> tensors() const noexcept { return tensors_; }
  const formats::FileTensor* find(const std::string& name) const noexcept;
  /// Throws Failure, naming the tensors that are there.
  const formats::FileTensor& at(const std::string& name) const;
  const formats::Metadata& metadata() const noexcept { return metadata_; }
  std::optional<std::string> metadata(const std::string& key) const;

 private:
  std::string path_;
  std::optional<formats::Safetensors> safetensors_;
  std::optional<formats::Npy> npy_;
  std::vector<formats::FileTensor> tensors_;
  formats::Metadata metadata_;
};

/// Throws Failure (usage) unless `path` ends in .safetensors, or in .npy and one tensor is to be written.
void check_output(const std::string& path, std::size_t tensors);
/// Atomically: a reader sees the old file or the whole new one.
void save(const std::string& path, std::span<const formats::FileTensor> tensors,
          const formats::Metadata& metadata);

}  // namespace rotary::tool
