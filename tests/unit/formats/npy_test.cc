// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <rotary/formats/npy.hpp>

#include "support/files.hpp"
#include "support/status_matchers.hpp"

namespace rotary::formats {
namespace {

using namespace rotary::testing;  // NOLINT
using Shape = std::vector<std::int64_t>;

Status parse(std::string_view text) { return Npy::from_bytes(bytes_of(text), "x.npy").status(); }

std::string file_of(std::string_view header, std::string_view data = "") {
  return std::string("\x93NUMPY\x01\0", 8)
      .append(number(static_cast<std::uint16_t>(header.size())))
      .append(header)
      .append(data);
}

/// The last element of the fixture, which NumPy made from [[1, 2, 3], [4, 5, 100]].
template <class T>
void expect_numbers(const char* fixture_name, DType dtype, T second, T last) {
  const auto file = Npy::open(fixture(fixture_name)).value();
  EXPECT_EQ(file.tensor().dtype, dtype) << fixture_name;
  EXPECT_EQ(file.tensor().shape, (Shape{2, 3})) << fixture_name;
  EXPECT_EQ(element<T>(file.tensor().bytes, 1), second) << fixture_name;
  EXPECT_EQ(element<T>(file.tensor().bytes, 5), last) << fixture_name;
}

TEST(Npy, ReadsEveryDtypeOfNumpy) {
  expect_numbers<double>("f8.npy", DType::f64, 2, 100);
  expect_numbers<float>("f4.npy", DType::f32, 2, 100);
  expect_numbers<std::uint16_t>("f2.npy", DType::f16, 0x4000, 0x5640);
  expect_numbers<std::int64_t>("i8.npy", DType::i64, 2, 100);
  expect_numbers<std::int32_t>("i4.npy", DType::i32, 2, 100);
  expect_numbers<std::int16_t>("i2.npy", DType::i16, 2, 100);
  expect_numbers<std::int8_t>("i1.npy", DType::i8, 2, 100);
  expect_numbers<std::uint64_t>("u8.npy", DType::u64, 2, 100);
  expect_numbers<std::uint32_t>("u4.npy", DType::u32, 2, 100);
  expect_numbers<std::uint16_t>("u2.npy", DType::u16, 2, 100);
  expect_numbers<std::uint8_t>("u1.npy", DType::u8, 2, 100);
  const auto truths = Npy::open(fixture("b1.npy")).value();
  EXPECT_EQ(truths.tensor().dtype, DType::boolean);
  EXPECT_EQ(text_of(truths.tensor().bytes), std::string_view("\1\0\1", 3));
  const auto brain = Npy::open(fixture("bf16.npy")).value();
  EXPECT_EQ(brain.tensor().dtype, DType::bf16);
  EXPECT_EQ(to_float(bf16{element<std::uint16_t>(brain.tensor().bytes, 1)}), -2.5f);
}

TEST(Npy, ReadsEveryVersionAndShape) {
  for (const auto* name : {"version_2.npy", "version_3.npy"}) {
    const auto file = Npy::open(fixture(name)).value();
    EXPECT_EQ(file.tensor().shape, Shape{3});
    EXPECT_EQ(element<float>(file.tensor().bytes, 2), 2.0f);
  }
  const auto scalar = Npy::open(fixture("scalar.npy")).value();
  EXPECT_TRUE(scalar.tensor().shape.empty());
  EXPECT_EQ(element<float>(scalar.tensor().bytes, 0), 2.5f);
  EXPECT_EQ(Npy::open(fixture("empty.npy")).value().tensor().shape, (Shape{0, 4}));
  EXPECT_EQ(Npy::open(fixture("long.npy")).value().tensor().shape.size(), 18u);
  EXPECT_SUCCEEDS(parse(file_of("{'descr':'<f4','fortran_order':True,'shape':(1,)}", "xxxx")));
  EXPECT_SUCCEEDS(
      parse(file_of("{\"shape\": (2L, 2L), \"fortran_order\": False, \"descr\": \"|u1\"}\n", "xxxx")));
}

TEST(Npy, WritesWhatNumpyWrites) {
  const TemporaryFolder folder;
  for (const auto* name : {"f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1", "bf16",
                           "scalar", "empty", "long"}) {
    const std::string path = fixture(std::string(name) + ".npy");
    const auto file = Npy::open(path).value();
    ASSERT_SUCCEEDS(save_npy(folder / "x.npy", file.tensor()));
    EXPECT_EQ(read_file(folder / "x.npy"), read_file(path)) << name;
  }
}

TEST(Npy, RefusesWhatItCannotRead) {
  const auto unsupported = StatusCode::unsupported;
  EXPECT_FAILS(Npy::open(fixture("fortran.npy")), unsupported, "Fortran order of 2 axes is not supported");
  EXPECT_FAILS(Npy::open(fixture("big_endian.npy")), unsupported,
               "descr \">f4\" is not supported: the bytes must be little-endian");
  EXPECT_FAILS(Npy::open(fixture("complex.npy")), unsupported, "descr \"<c8\" is not supported");
  EXPECT_FAILS(Npy::open(fixture("record.npy")), unsupported, "records (descr is a list) are not supported");
  EXPECT_FAILS(parse(std::string("\x93NUMPY\x04\0", 8)), unsupported, "version 4.0: only 1.0, 2.0 and 3.0");
  EXPECT_FAILS(parse("\x93NUMPY\x01\x01"), unsupported, "version 1.1: only");
  for (const char* descr : {"", "<", "<f", "|f4", "=f4", "f4", "|V2", "<V1", "|O", "<f16", "<U4"}) {
    EXPECT_FAILS(parse(file_of(std::string("{'descr':'") + descr + "'")), unsupported, "is not supported");
  }
  EXPECT_FAILS(Npy::open(fixture("none.npy")), StatusCode::unreadable, "none.npy: cannot open");
}

TEST(Npy, EveryTruncationIsRefused) {
  for (const auto* name : {"f4.npy", "version_2.npy"}) {
    const std::string whole = read_file(fixture(name));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      // A copy of its own size, so that a sanitizer sees a read beyond the end.
      const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(parse({cut.data(), size}).code(), StatusCode::malformed) << name << ' ' << size;
    }
    EXPECT_EQ(parse(whole + '\0').code(), StatusCode::malformed);
  }
}

TEST(Npy, HostileFiles) {
  const std::string rest = ",'fortran_order':False,'shape':(4,)}";
  const auto shape = [](std::string_view text) {
    return file_of("{'descr':'|u1','fortran_order':False,'shape':" + std::string(text) + "}", "xxxx");
  };
  ASSERT_SUCCEEDS(parse(shape("(4,)")));
  ASSERT_SUCCEEDS(parse(shape("(2,2,)")));
  std::string axes;
  for (int i = 0; i < 65; ++i) axes += "1,";
  const struct {
    std::string text, fragment;
  } table[] = {
      {"", "does not begin as an .npy file"},
      {"\x93NUMPX\x01", "does not begin as an .npy file"},
      {"\x93NUMPY\x01", "ends inside its version"},
      {std::string("\x93NUMPY\x01\0\x01", 9), "ends inside its header length"},
      {std::string("\x93NUMPY\x02\0\xFF\xFF\xFF\xFF", 12),
       "header length 4294967295 is more than the 0 bytes"},
      {file_of(""), "byte 0: expected \"{\", got its end"},
      {file_of("[]"), "byte 0: expected \"{\", got \"[\""},
      {file_of(std::string_view("\0", 1)), "expected \"{\", got \"\\x00\""},
      {file_of("{}"), "descr is missing"},
      {file_of("{'descr':'|u1'}"), "fortran_order is missing"},
      {file_of("{'descr':'|u1','fortran_order':False}"), "shape is missing"},
      {file_of("{'descr':'|u1','descr':'|u1'"), "descr is stated twice"},
      {file_of("{'color':"), "unknown key \"color\""},
      {file_of("{descr"), "byte 1: expected \"'\", got \"d\""},
      {file_of("{'descr"), "expected a closing quote"},
      {file_of("{'de\\163cr':"), "expected text without an escape"},
      {file_of("{'descr' '|u1'"), "expected \":\", got \"'\""},
      {file_of("{'descr':'|u1' 'shape'"), "expected \",\", got \"'\""},
      {file_of("{'descr':'|u1',,"), "expected \"'\", got \",\""},
      {file_of("{'descr':4"), "expected \"'\", got \"4\""},
      {file_of("{'fortran_order':0"), "expected True or False, got \"0\""},
      {file_of("{'fortran_order':false"), "expected True or False, got \"f\""},
      {file_of("{'descr':'|u1'" + rest + "x", "xxxx"), "expected nothing more, got \"x\""},
      {shape("4"), "expected \"(\", got \"4\""},
      {shape("[4]"), "expected \"(\", got \"[\""},
      {shape("(4)"), "expected \",\", got \")\""},
      {shape("(,)"), "expected a whole number from 0 that fits 63 bits, got \",\""},
      {shape("(-4,)"), "expected a whole number from 0"},
      {shape("(4.0,)"), "expected \",\", got \".\""},
      {shape("(9223372036854775808,)"), "expected a whole number from 0 that fits 63 bits"},
      {shape("((4,),)"), "expected a whole number from 0"},
      {shape("(4"), "expected \",\", got \"}\""},
      {shape("(" + axes + ")"), "more than 64 axes"},
      {shape("(4294967296,4294967296)"), "shape [4294967296, 4294967296] is too large"},
      {shape("(3,)"), "4 bytes follow the header, but u8 [3] needs 3"},
      {shape("(2,3)"), "4 bytes follow the header, but u8 [2, 3] needs 6"},
  };
  for (const auto& [text, fragment] : table) {
    EXPECT_FAILS(parse(text), StatusCode::malformed, fragment);
    EXPECT_FAILS(parse(text), StatusCode::malformed, "x.npy: ");
  }
}

TEST(Npy, SaveRefuses) {
  const TemporaryFolder folder;
  const std::string data(8, 'x');
  const auto save = [&](DType dtype, Shape shape) {
    return save_npy(folder / "x.npy", {"", dtype, std::move(shape), bytes_of(data)});
  };
  EXPECT_FAILS(save(DType::f8_e4m3, {8}), StatusCode::unsupported, ".npy has no code for f8_e4m3");
  EXPECT_FAILS(save(DType::f8_e5m2, {8}), StatusCode::unsupported, ".npy has no code for f8_e5m2");
  EXPECT_FAILS(save(DType::f32, {3}), StatusCode::invalid_argument, "8 bytes, but f32 [3] needs 12");
  EXPECT_FAILS(save(DType::f32, {-2}), StatusCode::invalid_argument, "is negative or too large");
  EXPECT_FAILS(save(DType::u8, Shape(65, 1)), StatusCode::invalid_argument, "65 axes, at most 64");
  EXPECT_EQ(folder.files(), 0);
}

}  // namespace
}  // namespace rotary::formats
