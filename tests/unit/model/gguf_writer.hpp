// SPDX-License-Identifier: Apache-2.0
// Small GGUF files, made in memory.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <rotary/model.hpp>
#include <string>
#include <variant>
#include <vector>

#include "support/files.hpp"

namespace rotary::testing {

using GgufValue = std::variant<std::uint32_t, float, std::string, std::vector<std::int32_t>, bool>;

/// Enough of a GGUF writer for keys and f32 tensors.
class GgufWriter {
 public:
  explicit GgufWriter(std::string architecture) : architecture_(std::move(architecture)) {
    key("general.architecture", architecture_);
  }
  GgufWriter& set(const std::string& name, const GgufValue& value) {
    return key(architecture_ + "." + name, value);
  }
  GgufWriter& divisors(const std::vector<float>& values, const std::string& tensor = "rope_freqs.weight") {
    return tensors_[tensor] = values, *this;
  }

  /// A key without the architecture before it.
  GgufWriter& set_plain(const std::string& name, const GgufValue& value) { return key(name, value); }

  std::string bytes() const {
    std::string file = "GGUF";
    put(file, std::uint32_t{3});
    put(file, std::uint64_t{tensors_.size()});
    put(file, std::uint64_t{count_});
    file += keys_;
    std::string data;
    for (const auto& [name, values] : tensors_) {
      put(file, name);
      put(file, std::uint32_t{1});
      put(file, std::uint64_t{values.size()});
      put(file, std::uint32_t{0});
      put(file, std::uint64_t{data.size()});
      for (float value : values) put(data, value);
      data.resize((data.size() + 31) / 32 * 32);
    }
    file.resize((file.size() + 31) / 32 * 32);
    return file + data;
  }
  Result<Model> load(const ModelOptions& options = {}) const {
    const TemporaryFolder folder;
    write_file(folder / "model.gguf", bytes());
    return Model::from_path(folder / "model.gguf", options);
  }

 private:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  static void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void put(std::string& out, const std::string& text) {
    put(out, std::uint64_t{text.size()});
    out += text;
  }
  GgufWriter& key(const std::string& name, const GgufValue& value) {
    constexpr std::uint32_t types[] = {4, 6, 8, 9, 7};
    put(keys_, name);
    put(keys_, types[value.index()]);
    if (const auto* list = std::get_if<std::vector<std::int32_t>>(&value)) {
      put(keys_, std::uint32_t{5});
      put(keys_, std::uint64_t{list->size()});
      for (std::int32_t element : *list) put(keys_, element);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      put(keys_, *text);
    } else if (const auto* number = std::get_if<float>(&value)) {
      put(keys_, *number);
    } else if (const auto* truth = std::get_if<bool>(&value)) {
      keys_ += static_cast<char>(*truth);
    } else {
      put(keys_, std::get<std::uint32_t>(value));
    }
    ++count_;
    return *this;
  }

  std::string architecture_, keys_;
  std::uint64_t count_ = 0;
  std::map<std::string, std::vector<float>> tensors_;
};

inline GgufWriter llama_gguf() {
  return GgufWriter("llama")
      .set("attention.key_length", 128U)
      .set("block_count", 2U)
      .set("context_length", 8192U)
      .set("rope.freq_base", 500000.0F);
}

}  // namespace rotary::testing
