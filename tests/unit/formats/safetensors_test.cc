// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <rotary/formats/safetensors.hpp>

#include "support/files.hpp"
#include "support/status_matchers.hpp"

namespace rotary::formats {
namespace {

using namespace rotary::testing;  // NOLINT

constexpr DType every_dtype[] = {DType::u64,     DType::i64,     DType::f64, DType::f32, DType::u32,
                                 DType::i32,     DType::bf16,    DType::f16, DType::u16, DType::i16,
                                 DType::f8_e4m3, DType::f8_e5m2, DType::i8,  DType::u8,  DType::boolean};

std::string file_of(std::string_view header, std::string_view data = "") {
  return number(std::uint64_t{header.size()}).append(header).append(data);
}

Status parse(std::string_view text) {
  return Safetensors::from_bytes(bytes_of(text), "x.safetensors").status();
}

TEST(Safetensors, ReadsEveryDtypeOfThePackage) {
  const auto file = Safetensors::open(fixture("every_dtype.safetensors")).value();
  ASSERT_EQ(file.tensors().size(), 15u);
  for (std::size_t n = 0; n < 15; ++n) {
    const auto& tensor = file.tensors()[n];
    EXPECT_EQ(tensor.dtype, every_dtype[n]) << tensor.name;
    EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{2, 3}));
    ASSERT_EQ(tensor.bytes.size(), 6 * size_of(every_dtype[n]));
    for (std::size_t i = 0; i < tensor.bytes.size(); ++i) {
      EXPECT_EQ(std::to_integer<std::size_t>(tensor.bytes[i]), n + i) << tensor.name;
    }
  }
  EXPECT_EQ(file.metadata(), (Metadata{{"made by", "safetensors \"\u00e9\"\n"}}));
}

TEST(Safetensors, ReadsValuesOfThePackage) {
  const auto file = Safetensors::open(fixture("values.safetensors")).value();
  const auto* q = file.find("q");
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(q->dtype, DType::f32);
  EXPECT_EQ(q->shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(element<float>(q->bytes, 0), 1.5f);
  EXPECT_EQ(element<float>(q->bytes, 1), -2.25f);
  EXPECT_EQ(element<float>(q->bytes, 3), 3e38f);
  EXPECT_EQ(element<std::int64_t>(file.find("ids")->bytes, 2), 131072);
  EXPECT_TRUE(file.find("scalar")->shape.empty());
  EXPECT_EQ(element<std::int32_t>(file.find("scalar")->bytes, 0), 7);
  EXPECT_TRUE(file.find("empty")->bytes.empty());
  EXPECT_EQ(file.find("k"), nullptr);
}

TEST(Safetensors, WritesWhatThePackageWrites) {
  const auto package = Safetensors::open(fixture("every_dtype.safetensors")).value();
  const TemporaryFolder folder;
  save_safetensors(folder / "x", package.tensors(), package.metadata()).value();
  EXPECT_EQ(read_file(folder / "x"), read_file(fixture("every_dtype.safetensors")));
}

TEST(Safetensors, RoundTripAlignsEveryTensor) {
  const std::string data(64, '\x5A');
  const std::vector<FileTensor> tensors = {{"a\"\\\n", DType::u8, {3}, bytes_of(data).first(3)},
                                           {"\u00fc", DType::bf16, {1, 5}, bytes_of(data).first(10)},
                                           {"", DType::f64, {}, bytes_of(data).first(8)},
                                           {"none", DType::f32, {0, 7}, {}},
                                           {"b", DType::boolean, {2, 2}, bytes_of(data).first(4)}};
  const TemporaryFolder folder;
  const Metadata metadata = {{"format", "pt"}, {"", "\t"}};
  save_safetensors(folder / "x", tensors, metadata).value();
  const auto file = Safetensors::open(folder / "x").value();
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (const auto& tensor : tensors) {
    const auto* read = file.find(tensor.name);
    ASSERT_NE(read, nullptr) << tensor.name;
    EXPECT_EQ(read->dtype, tensor.dtype);
    EXPECT_EQ(read->shape, tensor.shape);
    EXPECT_EQ(text_of(read->bytes), text_of(tensor.bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read->bytes.data()) % size_of(read->dtype), 0u) << tensor.name;
  }
}

TEST(Safetensors, EmptyFileRoundTrip) {
  const TemporaryFolder folder;
  save_safetensors(folder / "x", {}).value();
  EXPECT_EQ(read_file(folder / "x"), file_of("{}      "));
  EXPECT_TRUE(Safetensors::open(folder / "x").value().tensors().empty());
}

TEST(Safetensors, OutlivesTheMove) {
  auto file = Safetensors::open(fixture("values.safetensors")).value();
  const auto moved = std::move(file);
  EXPECT_EQ(element<float>(moved.find("q")->bytes, 0), 1.5f);
}

TEST(Safetensors, EveryTruncationIsRefused) {
  for (const auto* name : {"every_dtype.safetensors", "values.safetensors"}) {
    const std::string whole = read_file(fixture(name));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      // A copy of its own size, so that a sanitizer sees a read beyond the end.
      const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(parse({cut.data(), size}).code(), StatusCode::malformed) << name << ' ' << size;
    }
    EXPECT_EQ(parse(whole + '\0').code(), StatusCode::malformed);
  }
}

TEST(Safetensors, EveryFlippedByteIsReadOrRefused) {
  std::string text = read_file(fixture("values.safetensors"));
  for (char& byte : text) {
    const char was = byte;
    for (const char flip : {'\x01', '\x10', '\x80', '\xFF'}) {
      byte = static_cast<char>(was ^ flip);
      const Status status = parse(text);
      EXPECT_TRUE(status.ok() || !status.message().empty());
    }
    byte = was;
  }
}

struct Hostile {
  std::string text;
  std::string fragment;
};

std::string one(std::string_view entry, std::size_t data = 4) {
  return file_of("{\"a\":" + std::string(entry) + "}", std::string(data, 'x'));
}

TEST(Safetensors, HostileFiles) {
  const std::string good = R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  ASSERT_TRUE(parse(one(good)).ok());
  const std::string deep(100'000, '[');
  std::string axes = "0";
  for (int i = 0; i < 64; ++i) axes += ",1";
  const Hostile table[] = {
      {"", "0 bytes are too few"},
      {"{}", "2 bytes are too few"},
      {number(std::uint64_t{100'000'001}), "header length 100000001 is over the limit of 100000000"},
      {number(~std::uint64_t{0}), "header length 18446744073709551615 is over the limit"},
      {number(std::uint64_t{3}) + "{}", "header length 3 is more than the 2 bytes"},
      {file_of(""), "does not start with {"},
      {file_of(" {}"), "does not start with {"},
      {file_of("[]"), "does not start with {"},
      {file_of("\xEF\xBB\xBF{}"), "does not start with {"},
      {file_of(std::string_view("{}\0\0", 4)), "NUL byte"},
      {file_of("{} {}"), "not JSON at its byte"},
      {file_of("{"), "not JSON at its byte"},
      {file_of("{\"a\":1e999}"), "not JSON at its byte"},
      {file_of("{\"\xFF\":{}}"), "near \"\\\"\\xff\""},
      {file_of("{\"\xED\xA0\x80\":{}}"), "not JSON at its byte"},
      {file_of("{/**/}"), "not JSON at its byte"},
      {file_of("{}", "x"), "tensors end at byte 0, but 1 follow"},
      {one("null"), "\"a\" must be an object, got null"},
      {one("7"), "\"a\" must be an object, got 7"},
      {one("[]"), "\"a\" must be an object, got a list"},
      {one(deep), "\"a\" must be an object, got a list"},
      {one("{}"), "tensor \"a\": dtype is missing"},
      {one(R"({"dtype":"U8","data_offsets":[0,4]})"), "shape is missing"},
      {one(R"({"dtype":"U8","shape":[4]})"), "data_offsets is missing"},
      {one(R"({"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1})"), "unknown key \"x\""},
      {one(R"({"dtype":"U8","dtype":"U8"})"), "dtype is stated twice"},
      {one(R"({"dtype":8})"), "dtype must be text, got 8"},
      {one(R"({"dtype":["U8"]})"), "dtype must be text, got a list"},
      {one(R"({"dtype":null})"), "dtype must be text, got null"},
      {one(R"({"shape":4})"), "shape must be a list of whole numbers from 0, got 4"},
      {one(R"({"shape":"4"})"), "shape must be a list of whole numbers from 0, got text"},
      {one(R"({"shape":{}})"), "shape must be a list of whole numbers from 0, got an object"},
      {one(R"({"shape":[-1]})"), "whole numbers from 0, got -1"},
      {one(R"({"shape":[-0]})"), "whole numbers from 0, got 0"},
      {one(R"({"shape":[4.0]})"), "whole numbers from 0, got \"4.0\""},
      {one(R"({"shape":[4e0]})"), "whole numbers from 0, got \"4e0\""},
      {one(R"({"shape":[true]})"), "whole numbers from 0, got a boolean"},
      {one(R"({"shape":[[4]]})"), "whole numbers from 0, got a list"},
      {one("{\"shape\":" + deep), "whole numbers from 0, got a list"},
      {one(R"({"shape":[9223372036854775808]})"), "whole numbers from 0, got 9223372036854775808"},
      {one(R"({"shape":[99999999999999999999]})"), "whole numbers from 0, got \"99999999999999999999\""},
      {one("{\"shape\":[" + axes + "]}"), "more than 64 axes"},
      {one(R"({"data_offsets":[0,-4]})"), "two whole numbers from 0, got -4"},
      {one(R"({"data_offsets":[0,4,4]})"), "data_offsets must be two numbers, got more"},
      {one(R"({"dtype":"U8","shape":[4],"data_offsets":[0]})"), "data_offsets must be two numbers, got 1"},
      {one(R"({"dtype":"U8","shape":[4],"data_offsets":[4,0]})"), "[4, 0] do not lie in the 4 bytes"},
      {one(R"({"dtype":"U8","shape":[4],"data_offsets":[1,5]})"), "[1, 5] do not lie in the 4 bytes"},
      {one(R"({"dtype":"U8","shape":[1],"data_offsets":[18446744073709551615,0]})"), "do not lie in"},
      {one(R"({"dtype":"U8","shape":[4],"data_offsets":[0,3]})", 3), "span 3 bytes, but u8 [4] needs 4"},
      {one(R"({"dtype":"F16","shape":[4],"data_offsets":[0,4]})"), "span 4 bytes, but f16 [4] needs 8"},
      {one(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0), "is too large"},
      {one(R"({"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]})", 0), "is too large"},
      {one(R"({"dtype":"U8","shape":[3],"data_offsets":[1,4]})"), "begins at byte 1, a hole after byte 0"},
      {one(R"({"dtype":"U8","shape":[3],"data_offsets":[0,3]})"), "tensors end at byte 3, but 4 follow"},
      {file_of("{\"a\":" + good + ",\"a\":" + good + "}", "xxxx"), "tensor \"a\" is stated twice"},
      {file_of("{\"a\":" + good + ",\"\\u0061\":" + good + "}", "xxxx"), "tensor \"a\" is stated twice"},
      {file_of("{\"a\":" + good + ",\"b\":" + good + "}", "xxxx"),
       "tensor \"b\" begins at byte 0, inside another"},
      {file_of(R"({"__metadata__":null})"), "\"__metadata__\" must be an object, got null"},
      {file_of(R"({"__metadata__":{"a":1}})"), "__metadata__: \"a\" must be text, got 1"},
      {file_of(R"({"__metadata__":{"a":{}}})"), "__metadata__: \"a\" must be text, got an object"},
      {file_of(R"({"__metadata__":{"a":[]}})"), "__metadata__: \"a\" must be text, got a list"},
      {file_of(R"({"__metadata__":{"a":"","a":""}})"), "__metadata__: \"a\" is stated twice"},
      {file_of(R"({"__metadata__":{},"__metadata__":{}})"), "__metadata__ is stated twice"},
  };
  for (const auto& [text, fragment] : table) {
    EXPECT_FAILS(parse(text), StatusCode::malformed, fragment);
    EXPECT_FAILS(parse(text), StatusCode::malformed, "x.safetensors: ");
  }
  EXPECT_FAILS(parse(one(R"({"dtype":"F4","shape":[8],"data_offsets":[0,4]})")), StatusCode::unsupported,
               "tensor \"a\": dtype \"F4\" is not supported");
}

TEST(Safetensors, MessagesStayShortAndPrintable) {
  const Status status = parse(file_of("{\"\\u001b[31m" + std::string(1'000'000, 'n') + "\":1}"));
  EXPECT_LT(status.message().size(), 300u);
  EXPECT_EQ(status.message().find('\x1B'), std::string::npos);
}

TEST(Safetensors, OpenRefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_FAILS(Safetensors::open(folder / "none").status(), StatusCode::unreadable,
               "none: cannot open: No such file or directory");
  EXPECT_FAILS(Safetensors::open(folder.path().string()).status(), StatusCode::unreadable,
               "is not a regular file");
  write_file(folder / "empty", "");
  EXPECT_FAILS(Safetensors::open(folder / "empty").status(), StatusCode::malformed, "0 bytes are too few");
}

TEST(Safetensors, SaveRefuses) {
  const TemporaryFolder folder;
  const std::string data(8, 'x');
  const auto eight = bytes_of(data);
  const auto save = [&](const std::vector<FileTensor>& tensors, const Metadata& metadata = {}) {
    return save_safetensors(folder / "x", tensors, metadata);
  };
  const auto invalid = StatusCode::invalid_argument;
  EXPECT_FAILS(save({{"a", DType::f32, {2}, eight}, {"a", DType::f32, {2}, eight}}), invalid,
               "tensor \"a\" is stated twice");
  EXPECT_FAILS(save({{"__metadata__", DType::f32, {2}, eight}}), invalid, "the name is reserved");
  EXPECT_FAILS(save({{"a", DType::f32, {3}, eight}}), invalid, "8 bytes, but f32 [3] needs 12");
  EXPECT_FAILS(save({{"a", DType::f32, {-2}, eight}}), invalid, "shape [-2] is negative or too large");
  EXPECT_FAILS(save({{"a", DType::f32, {INT64_MAX, 2}, eight}}), invalid, "is negative or too large");
  EXPECT_FAILS(save({{"a", DType::u8, std::vector<std::int64_t>(65, 1), eight}}), invalid,
               "65 axes, at most 64");
  EXPECT_FAILS(save({{"\xC0\x80", DType::f32, {2}, eight}}), invalid, "the name is not UTF-8");
  EXPECT_FAILS(save({}, {{"a", "\xFF"}}), invalid, "metadata \"a\" is not UTF-8");
  EXPECT_FAILS(save({}, {{"a", ""}, {"a", ""}}), invalid, "metadata \"a\" is stated twice");
  EXPECT_FAILS(save({}, {{"a", std::string(100'000'000, 'x')}}), invalid, "over the limit of 100000000");
  EXPECT_EQ(folder.files(), 0);
}

}  // namespace
}  // namespace rotary::formats
