// SPDX-License-Identifier: Apache-2.0
// The seeds of the fuzz targets, in every build: whatever was found once stays read or refused.
#include <gtest/gtest.h>

#include <rotary/formats/gguf.hpp>
#include <rotary/formats/npy.hpp>
#include <rotary/formats/safetensors.hpp>

#include "support/files.hpp"

namespace rotary::formats {
namespace {

template <class Format>
void read_corpus(const std::string& reader) {
  int files = 0;
  const auto folder = std::filesystem::path(testing::data_path("../fuzz/corpus")) / reader;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto file = Format::open(entry.path().string());
    EXPECT_TRUE(file.ok() || file.status().code() == StatusCode::malformed ||
                file.status().code() == StatusCode::unsupported)
        << file.status().message();
    ++files;
  }
  EXPECT_GT(files, 50);
}

TEST(Corpus, Safetensors) { read_corpus<Safetensors>("safetensors"); }
TEST(Corpus, Npy) { read_corpus<Npy>("npy"); }
TEST(Corpus, Gguf) { read_corpus<Gguf>("gguf"); }

}  // namespace
}  // namespace rotary::formats
