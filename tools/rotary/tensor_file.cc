// SPDX-License-Identifier: Apache-2.0
#include "tensor_file.hpp"

#include <algorithm>

#include "exit_code.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

enum class Format { safetensors, npy };

Format format_of(const std::string& path) {
  if (path.ends_with(".safetensors")) return Format::safetensors;
  if (path.ends_with(".npy")) return Format::npy;
  throw Failure(Exit::usage, path + ": expected a file of tensors, whose name ends in .safetensors or .npy");
}

}  // namespace

TensorFile::TensorFile(const std::string& path, const std::string& npy_name) : path_(path) {
  if (format_of(path) == Format::npy) {
    npy_ = take(formats::Npy::open(path), Exit::input);
    tensors_ = {npy_->tensor()};
    tensors_.front().name = npy_name;
  } else {
    safetensors_ = take(formats::Safetensors::open(path), Exit::input);
    tensors_.assign(safetensors_->tensors().begin(), safetensors_->tensors().end());
    metadata_ = safetensors_->metadata();
  }
}

const formats::FileTensor* TensorFile::find(const std::string& name) const noexcept {
  const auto tensor =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& t) { return t.name == name; });
  return tensor == tensors_.end() ? nullptr : &*tensor;
}

const formats::FileTensor& TensorFile::at(const std::string& name) const {
  if (const auto* tensor = find(name)) return *tensor;
  std::vector<std::string> names;
  for (const auto& tensor : tensors_) names.push_back(tensor.name);
  throw Failure(Exit::input, path_ + ": no tensor \"" + name + "\"" + did_you_mean(name, names) +
                                 "; it has " + (names.empty() ? "none" : list(names)));
}

std::optional<std::string> TensorFile::metadata(const std::string& key) const {
  for (const auto& [name, text] : metadata_)
    if (name == key) return text;
  return std::nullopt;
}

void check_output(const std::string& path, std::size_t tensors) {
  if (format_of(path) == Format::npy && tensors != 1)
    throw Failure(Exit::usage, "--out " + path + ": a .npy holds one tensor, and there are " +
                                   std::to_string(tensors) + " to write; name a .safetensors");
}

void save(const std::string& path, std::span<const formats::FileTensor> tensors,
          const formats::Metadata& metadata) {
  check_output(path, tensors.size());
  const bool npy = format_of(path) == Format::npy;
  check(npy ? formats::save_npy(path, tensors.front()) : formats::save_safetensors(path, tensors, metadata),
        Exit::input);
}

}  // namespace rotary::tool
