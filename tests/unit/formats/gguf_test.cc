// SPDX-License-Identifier: Apache-2.0
#include <rotary/formats/gguf.hpp>

#include <gtest/gtest.h>

#include "support/files.hpp"
#include "support/status_matchers.hpp"

namespace rotary::formats {
namespace {

using namespace rotary::testing;  // NOLINT
using Shape = std::vector<std::int64_t>;

Status parse(std::string_view text) { return Gguf::from_bytes(bytes_of(text), "x.gguf").status(); }

std::string u32(std::uint64_t value) { return number(static_cast<std::uint32_t>(value)); }
std::string u64(std::uint64_t value) { return number(value); }
std::string text(std::string_view characters) { return u64(characters.size()).append(characters); }

std::string file_of(std::uint64_t tensors, std::uint64_t keys, const std::string& rest,
                    std::uint32_t version = 3) {
  return "GGUF" + u32(version) + u64(tensors) + u64(keys) + rest;
}
/// A file of one key "k".
std::string one_key(std::uint32_t type, const std::string& value) {
  return file_of(0, 1, text("k") + u32(type) + value);
}
/// The tail keeps the count plausible.
std::string one_tensor(const std::string& table_entry, std::size_t tail = 64) {
  const std::string head = file_of(1, 0, text("t") + table_entry);
  return head + std::string((32 - head.size() % 32) % 32 + tail, 'x');
}

class GgufOfThePackage : public ::testing::TestWithParam<bool> {
 protected:
  std::string path() const { return fixture(GetParam() ? "big.gguf" : "little.gguf"); }
};
INSTANTIATE_TEST_SUITE_P(Endian, GgufOfThePackage, ::testing::Bool(),
                         [](const auto& endian) { return endian.param ? "Big" : "Little"; });

TEST_P(GgufOfThePackage, Keys) {
  const auto file = Gguf::open(path()).value();
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.big_endian(), GetParam());
  EXPECT_EQ(file.keys().size(), 18u);
  EXPECT_EQ(file.text("general.architecture"), "gemma3");
  EXPECT_EQ(file.text("t.text"), "na\u00efve");
  EXPECT_EQ(file.number("t.u8"), 200);
  EXPECT_EQ(file.number("t.i8"), -100);
  EXPECT_EQ(file.number("t.u16"), 60000);
  EXPECT_EQ(file.number("t.i16"), -30000);
  EXPECT_EQ(file.number("gemma3.context_length"), 32768);
  EXPECT_EQ(file.number("t.i32"), -2000000000);
  EXPECT_EQ(std::get<std::uint64_t>(*file.find("t.u64")), std::uint64_t{1} << 63);
  EXPECT_EQ(std::get<std::int64_t>(*file.find("t.i64")), -(std::int64_t{1} << 62));
  EXPECT_EQ(file.number("gemma3.rope.freq_base"), 1e6);
  EXPECT_EQ(file.number("t.f64"), 0.1);
  EXPECT_EQ(file.number("t.bool"), 1);
  EXPECT_TRUE(std::get<bool>(*file.find("t.bool")));

  const auto numbers = [&](std::string_view key) {
    const auto span = file.numbers(key);
    return span ? std::vector<double>(span->begin(), span->end()) : std::vector<double>{-999};
  };
  EXPECT_EQ(numbers("t.ints"), (std::vector<double>{16, -24, 24, 0}));
  EXPECT_EQ(numbers("t.floats"), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(numbers("t.bools"), (std::vector<double>{1, 0}));
  const auto& tokens = std::get<GgufArray>(*file.find("tokenizer.ggml.tokens"));
  EXPECT_EQ(tokens.element_type, 8u);
  EXPECT_EQ(tokens.length, 3u);

  EXPECT_EQ(file.find("none"), nullptr);
  EXPECT_EQ(file.number("none"), std::nullopt);
  EXPECT_EQ(file.text("none"), std::nullopt);
  EXPECT_FALSE(file.numbers("none"));
  EXPECT_EQ(file.number("t.text"), std::nullopt);
  EXPECT_EQ(file.number("t.ints"), std::nullopt);
  EXPECT_EQ(file.text("t.u8"), std::nullopt);
  EXPECT_FALSE(file.numbers("t.u8"));
  EXPECT_FALSE(file.numbers("tokenizer.ggml.tokens"));
}

TEST_P(GgufOfThePackage, Tensors) {
  const auto file = Gguf::open(path()).value();
  ASSERT_EQ(file.tensors().size(), 9u);
  const auto* f32 = file.find_tensor("float32");
  ASSERT_NE(f32, nullptr);
  EXPECT_EQ(f32->type, 0u);
  EXPECT_EQ(f32->shape, (Shape{2, 3}));
  ASSERT_EQ(f32->bytes.size(), 24u);
  EXPECT_EQ(f32->offset % 64, 0u);
  if (!GetParam()) {
    EXPECT_EQ(element<float>(f32->bytes, 5), 100.0f);
  }
  EXPECT_EQ(text_of(f32->bytes), read_file(path()).substr(f32->offset, 24));

  const struct {
    const char* name;
    std::uint32_t type;
    std::size_t size;
  } plain[] = {{"float16", 1, 12}, {"float64", 28, 48}, {"int8", 24, 6},    {"int16", 25, 12},
               {"int32", 26, 24},  {"int64", 27, 48},   {"bfloat16", 30, 4}};
  for (const auto& [name, type, size] : plain) {
    const auto* tensor = file.find_tensor(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(tensor->type, type) << name;
    EXPECT_EQ(tensor->bytes.size(), size) << name;
  }
  EXPECT_EQ(file.find_tensor("bfloat16")->shape, (Shape{2, 1}));
  const auto* quantised = file.find_tensor("quantised");
  ASSERT_NE(quantised, nullptr);
  EXPECT_EQ(quantised->type, 8u);
  EXPECT_EQ(quantised->shape, (Shape{2, 64}));
  EXPECT_TRUE(quantised->bytes.empty());
  EXPECT_EQ(file.find_tensor("none"), nullptr);
}

TEST_P(GgufOfThePackage, EveryTruncationIsRefused) {
  const std::string whole = read_file(path());
  // The last tensor's padding may be absent: 2 rows of 2 blocks of 34 bytes.
  const std::size_t end = Gguf::open(path()).value().find_tensor("quantised")->offset + 136;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // A copy of its own size, so that a sanitizer sees a read beyond the end.
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(name(parse({cut.data(), size}).code()), size < end ? "malformed" : "ok") << size;
  }
}

TEST_P(GgufOfThePackage, EveryFlippedByteIsReadOrRefused) {
  std::string bytes = read_file(path());
  for (char& byte : bytes) {
    const char was = byte;
    for (const char flip : {'\x01', '\x10', '\x80', '\xFF'}) {
      byte = static_cast<char>(was ^ flip);
      const Status status = parse(bytes);
      EXPECT_TRUE(status.ok() || !status.message().empty());
    }
    byte = was;
  }
}

TEST(Gguf, ReadsVersion2AndFilesOfKeysAlone) {
  const auto bytes = file_of(0, 1, text("k") + u32(4) + u32(7), 2);
  const auto file = Gguf::from_bytes(bytes_of(bytes), "x").value();
  EXPECT_EQ(file.version(), 2u);
  EXPECT_EQ(file.number("k"), 7);
  EXPECT_SUCCEEDS(parse(file_of(0, 0, "")));
}

TEST(Gguf, ReadsNestedArrays) {
  const std::string inner = u32(4) + u64(2) + u32(1) + u32(2);
  const auto bytes = one_key(9, u32(9) + u64(2) + inner + inner);
  const auto file = Gguf::from_bytes(bytes_of(bytes), "x").value();
  const auto& array = std::get<GgufArray>(*file.find("k"));
  EXPECT_EQ(array.element_type, 9u);
  EXPECT_EQ(array.length, 2u);
  EXPECT_FALSE(file.numbers("k"));
  const auto empty = one_key(9, u32(6) + u64(0));
  EXPECT_TRUE(Gguf::from_bytes(bytes_of(empty), "x").value().numbers("k")->empty());
}

TEST(Gguf, ReadsScalarTensors) {
  const auto bytes = one_tensor(u32(0) + u32(0) + u64(32));
  const auto file = Gguf::from_bytes(bytes_of(bytes), "x").value();
  EXPECT_TRUE(file.tensors()[0].shape.empty());
  EXPECT_EQ(file.tensors()[0].bytes.size(), 4u);
  EXPECT_EQ(file.tensors()[0].offset % 32, 0u);
}

// The sizes of gguf-py's GGML_QUANT_SIZES, one block of each type: it fits exactly, and not with a byte less.
TEST(Gguf, KnowsTheSizeOfEveryType) {
  const struct {
    std::uint32_t type;
    std::uint64_t elements, bytes;
  } table[] = {{0, 1, 4},      {1, 1, 2},      {2, 32, 18},   {3, 32, 20},    {6, 32, 22},    {7, 32, 24},
               {8, 32, 34},    {9, 32, 40},    {10, 256, 84}, {11, 256, 110}, {12, 256, 144}, {13, 256, 176},
               {14, 256, 210}, {15, 256, 292}, {16, 256, 66}, {17, 256, 74},  {18, 256, 98},  {19, 256, 50},
               {20, 32, 18},   {21, 256, 110}, {22, 256, 82}, {23, 256, 136}, {24, 1, 1},     {25, 1, 2},
               {26, 1, 4},     {27, 1, 8},     {28, 1, 8},    {29, 256, 56},  {30, 1, 2},     {34, 256, 54},
               {35, 256, 66},  {39, 32, 17},   {40, 64, 36},  {41, 128, 18}};
  for (const auto& [type, elements, bytes] : table) {
    const std::string entry = u32(1) + u64(elements) + u32(type) + u64(0);
    EXPECT_SUCCEEDS(parse(one_tensor(entry, bytes))) << type;
    EXPECT_FAILS(parse(one_tensor(entry, bytes - 1)), StatusCode::malformed, "leave the file") << type;
    if (elements == 1) continue;
    const std::string half = u32(2) + u64(elements / 2) + u64(2) + u32(type) + u64(0);
    EXPECT_FAILS(parse(one_tensor(half, bytes)), StatusCode::malformed, "is not made of blocks of") << type;
  }
  for (const std::uint32_t type : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 42u, 0xFFFFFFFFu}) {
    EXPECT_FAILS(parse(one_tensor(u32(0) + u32(type) + u64(0))), StatusCode::unsupported,
                 "is not a known ggml type");
  }
}

TEST(Gguf, HostileFiles) {
  const std::string pad(64, '\0');
  const auto huge = std::uint64_t{1} << 60;
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += u32(9) + u64(1);
  const auto aligned = [](std::uint32_t type, const std::string& value) {
    return file_of(0, 1, text("general.alignment") + u32(type) + value);
  };
  ASSERT_SUCCEEDS(parse(aligned(4, u32(1))));
  const struct {
    std::string bytes, fragment;
  } table[] = {
      {"", "does not begin as a GGUF file"},
      {"GGUE", "does not begin as a GGUF file"},
      {"GGUF", "the file ends here, after 4 bytes"},
      {"GGUF" + u32(3) + u64(0), "the file ends here, after 16 bytes"},
      {file_of(0, huge, pad), "1152921504606846976 keys and 0 tensors do not fit into 88 bytes"},
      {file_of(~huge, 0, pad), "0 keys and 17293822569102704639 tensors do not fit"},
      {file_of(3, 0, pad), "3 tensors do not fit"},
      {file_of(0, 1, u64(huge) + pad),
       "key 1 of 1: text of 1152921504606846976 bytes does not fit into the 64"},
      {file_of(0, 1, text("key") + u32(13) + pad), "key \"key\": unknown type 13"},
      {one_key(7, "\2"), "key \"k\": a bool must be 0 or 1, got 2"},
      {one_key(8, u64(~std::uint64_t{0})), "text of 18446744073709551615 bytes does not fit into the 0"},
      {one_key(10, u32(1)), "key \"k\": the file ends here"},
      {one_key(9, u32(8) + u64(huge) + pad),
       "an array of 1152921504606846976 elements does not fit into the 64"},
      {one_key(9, u32(0) + u64(65) + pad), "an array of 65 elements does not fit into the 64"},
      {one_key(9, u32(12) + u64(9) + pad), "an array of 9 elements does not fit into the 64"},
      {one_key(9, u32(9) + u64(6) + pad), "an array of 6 elements does not fit into the 64"},
      {one_key(9, u32(13) + u64(0)), "unknown type 13"},
      {one_key(9, u32(9) + u64(1) + u32(99) + u64(0)), "unknown type 99"},
      {one_key(9, u32(7) + u64(1) + "\xFF"), "a bool must be 0 or 1, got 255"},
      {one_key(9, u32(8) + u64(1) + u64(9) + "12345678"), "text of 9 bytes does not fit into the 8"},
      {one_key(9, nested), "arrays nested more than 4 deep"},
      {file_of(0, 2, text("k") + u32(0) + "1" + text("k") + u32(7) + '\1'), "key \"k\" is stated twice"},
      {aligned(4, u32(0)), "key \"general.alignment\": must be a power of two"},
      {aligned(4, u32(48)), "key \"general.alignment\": must be a power of two"},
      {aligned(10, u64(huge)), "key \"general.alignment\": must be a power of two of 32 bits"},
      {aligned(5, u32(32)), "key \"general.alignment\": must be a power of two"},
      {one_tensor(u32(5) + pad), "tensor \"t\": 5 axes, at most 4 are possible"},
      {one_tensor(u32(1) + u64(4) + u32(0) + u64(1)), "offset 1 is not a multiple of 32"},
      {one_tensor(u32(1) + u64(17) + u32(0) + u64(0)), "68 bytes at offset 0 of the data leave the file"},
      {one_tensor(u32(1) + u64(4) + u32(0) + u64(64)), "16 bytes at offset 64 of the data leave the file"},
      {one_tensor(u32(1) + u64(4) + u32(0) + u64(~std::uint64_t{31})), "leave the file"},
      {one_tensor(u32(1) + u64(~std::uint64_t{0}) + u32(0) + u64(0)), "shape [-1] is negative or too large"},
      {one_tensor(u32(2) + u64(huge) + u64(huge) + u32(0) + u64(0)), "is negative or too large"},
      {one_tensor(u32(1) + u64(huge * 4) + u32(0) + u64(0)), "is negative or too large"},
      {file_of(2, 0, (text("t") + u32(0) + u32(0) + u64(0)) + (text("t") + u32(0) + u32(0) + u64(0)) + pad),
       "tensor \"t\" is stated twice"},
  };
  for (const auto& [bytes, fragment] : table) {
    EXPECT_FAILS(parse(bytes), StatusCode::malformed, fragment);
    EXPECT_FAILS(parse(bytes), StatusCode::malformed, "x.gguf: ");
  }
  for (const std::uint32_t version : {0u, 1u, 4u, 0x04000000u}) {
    EXPECT_FAILS(parse(file_of(0, 0, "", version)), StatusCode::unsupported, "only 2 and 3 are supported");
  }
  EXPECT_FAILS(Gguf::open(fixture("none.gguf")), StatusCode::unreadable, "none.gguf: cannot open");
}

}  // namespace
}  // namespace rotary::formats
