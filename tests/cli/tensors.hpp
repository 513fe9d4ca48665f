// SPDX-License-Identifier: Apache-2.0
// Tensors made for a test, and read back.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <rotary/formats/npy.hpp>
#include <rotary/formats/safetensors.hpp>
#include <string>
#include <vector>

namespace rotary::testing {

/// A tensor that owns its numbers.
template <class T>
struct Made {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<T> numbers;

  formats::FileTensor view() const { return {name, dtype_of<T>, shape, std::as_bytes(std::span(numbers))}; }
};

/// 1, 2, 3, ... in a shape.
template <class T = float>
Made<T> counting(const std::string& name, const std::vector<std::int64_t>& shape) {
  std::int64_t size = 1;
  for (const auto extent : shape) size *= extent;
  std::vector<T> numbers(static_cast<std::size_t>(size));
  std::iota(numbers.begin(), numbers.end(), T{1});
  return {name, shape, numbers};
}

inline void save(const std::string& path, const std::vector<formats::FileTensor>& tensors,
                 const formats::Metadata& metadata = {}) {
  formats::save_safetensors(path, tensors, metadata).value();
}

/// The numbers of one tensor of a safetensors file.
template <class T = float>
std::vector<T> load(const std::string& path, const std::string& name) {
  const auto file = formats::Safetensors::open(path).value();
  const auto* tensor = file.find(name);
  if (!tensor || tensor->dtype != dtype_of<T>) {
    ADD_FAILURE() << path << ": no such tensor " << name;
    return {};
  }
  std::vector<T> numbers(tensor->bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), tensor->bytes.data(), tensor->bytes.size());
  return numbers;
}

}  // namespace rotary::testing
