// SPDX-License-Identifier: Apache-2.0
// A file of tests/data: tensors of other people's code and the parameters of each case. What is missing
// throws, which fails the test.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <rotary/formats/safetensors.hpp>
#include <stdexcept>
#include <string>

#include "support/data.hpp"
#include "support/tensor.hpp"

namespace rotary::testing {

class Fixture {
 public:
  explicit Fixture(const std::string& file) : file_(formats::Safetensors::open(data_path(file)).value()) {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  const std::vector<std::int64_t>& shape(const std::string& name) const { return tensor(name).shape; }

  /// The numbers of a tensor of this very element type, slowest axis first.
  template <class T>
  std::vector<T> numbers(const std::string& name) const {
    const formats::FileTensor& from = tensor(name);
    if (from.dtype != dtype_of<T>)
      throw std::runtime_error(name + " is of " + std::string(rotary::name(from.dtype)));
    std::vector<T> to(from.bytes.size() / sizeof(T));
    std::memcpy(to.data(), from.bytes.data(), from.bytes.size());
    return to;
  }

  /// Heads as [batch, tokens, heads, head_dim] in the layout they have in the file. A 3-D tensor is
  /// [batch, tokens, heads * head_dim].
  Tensor heads(const std::string& name, Layout layout, std::int64_t heads_of_3d = 0) const {
    const formats::FileTensor& from = tensor(name);
    std::vector<std::int64_t> s = from.shape;
    if (s.size() == 3) s = {s[0], s[1], heads_of_3d, s[2] / heads_of_3d};
    const bool by_head = layout == Layout::bhtd;
    Tensor x(HeadsShape::contiguous(layout, from.dtype, s.at(0), by_head ? s.at(2) : s.at(1),
                                    by_head ? s.at(1) : s.at(2), s.at(3)));
    std::memcpy(x.data(), from.bytes.data(), from.bytes.size());
    return x;
  }

  /// The metadata under a name, as JSON.
  nlohmann::json parameters(const std::string& name) const {
    for (const auto& [key, text] : file_.metadata()) {
      if (key == name) return nlohmann::json::parse(text);
    }
    throw std::runtime_error("no metadata " + name);
  }
  /// The names in the metadata that begin with `prefix`.
  std::vector<std::string> names(const std::string& prefix) const {
    std::vector<std::string> found;
    for (const auto& [key, text] : file_.metadata()) {
      if (key.starts_with(prefix)) found.push_back(key);
    }
    return found;
  }

 private:
  const formats::FileTensor& tensor(const std::string& name) const {
    const formats::FileTensor* found = file_.find(name);
    if (found == nullptr) throw std::runtime_error("no tensor " + name);
    return *found;
  }
  formats::Safetensors file_;
};

/// A copy of x, rotated by the rope.
inline Tensor turned(const Rope& rope, const Positions& positions, const Tensor& x,
                     const RotateOptions& options = {}) {
  Tensor out = x;
  const Angles angles = rope.angles(positions).value();
  rope.rotate(angles, out.heads(), options).value();
  return out;
}

/// The largest distance of a pair of `out` from the same pair of `expected`, in lengths of that pair.
inline double worst_of_pair(const Rope& rope, const Tensor& out, const Tensor& expected) {
  double worst = 0;
  for_each_head(expected.shape, [&](HeadIndex h) {
    for (std::int64_t i = 0; i < rope.pairs(); ++i) {
      const auto want = pair(expected, h, lanes_written(rope, i)), got = pair(out, h, lanes_written(rope, i));
      if (got != want) worst = std::max(worst, std::abs(got - want) / std::abs(want));
    }
  });
  return worst;
}

/// True if the lanes outside the window have the bits of the input.
inline bool outside_kept(const Rope& rope, const Tensor& x, const Tensor& out) {
  bool kept = true;
  for_each_head(x.shape, [&](HeadIndex h) {
    for (std::int64_t lane = 0; lane < x.shape.head_dim; ++lane) {
      if (lane >= rope.rotary_offset() && lane < rope.rotary_offset() + rope.rotary_dim()) continue;
      kept = kept && std::memcmp(x.at(h, lane), out.at(h, lane), size_of(x.shape.dtype)) == 0;
    }
  });
  return kept;
}

}  // namespace rotary::testing
