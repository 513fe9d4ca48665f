// SPDX-License-Identifier: Apache-2.0
// Tensors of tests/data as vectors.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <rotary/formats/safetensors.hpp>
#include <string>
#include <vector>

namespace rotary::testing {

class FixtureFile {
 public:
  explicit FixtureFile(const std::string& name)
      : file_(formats::Safetensors::open(std::string(ROTARY_TEST_DATA) + "/" + name).value()) {}

  const formats::FileTensor& tensor(const std::string& name) const {
    const auto* found = file_.find(name);
    if (found == nullptr) throw std::runtime_error("no tensor " + name);
    return *found;
  }
  std::int64_t extent(const std::string& name, std::size_t axis) const { return tensor(name).shape.at(axis); }

  /// A copy; the element type must be T's.
  template <class T>
  std::vector<T> numbers(const std::string& name) const {
    const formats::FileTensor& found = tensor(name);
    if (found.dtype != dtype_of<T>) throw std::runtime_error(name + " is of another type");
    std::vector<T> copy(found.bytes.size() / sizeof(T));
    std::memcpy(copy.data(), found.bytes.data(), found.bytes.size());
    return copy;
  }

 private:
  formats::Safetensors file_;
};

}  // namespace rotary::testing
