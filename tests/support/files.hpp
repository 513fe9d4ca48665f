// SPDX-License-Identifier: Apache-2.0
// Files made in memory, and folders that go away.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "support/data.hpp"

namespace rotary::testing {

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}
inline std::string fixture(const std::string& name) { return data_path("formats/" + name); }

/// The bytes of a number, little-endian unless told.
template <class T>
std::string number(T value, bool big_endian = false) {
  std::string text(sizeof(T), '\0');
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    text[big_endian ? sizeof(T) - 1 - i : i] =
        static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
  return text;
}

/// One element of a file's bytes, which need not be aligned.
template <class T>
T element(std::span<const std::byte> bytes, std::size_t index) {
  T value{};
  EXPECT_LE((index + 1) * sizeof(T), bytes.size());
  if ((index + 1) * sizeof(T) <= bytes.size())
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// A folder of one test's own.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rotary-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace rotary::testing
