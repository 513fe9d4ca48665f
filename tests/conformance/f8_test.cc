// SPDX-License-Identifier: Apache-2.0
// 8-bit floats against ml_dtypes (make_fused.py), and what saturating changes; i8 by literals.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <rotary/dtype.hpp>

#include "support/fixture.hpp"

namespace rotary::testing {
namespace {

template <class F8>
struct Of;
template <>
struct Of<f8_e4m3> {
  static constexpr const char* name = "e4m3";
  static constexpr float largest = 448;
  static f8_e4m3 from(float x, Overflow overflow) { return to_f8_e4m3(x, overflow); }
};
template <>
struct Of<f8_e5m2> {
  static constexpr const char* name = "e5m2";
  static constexpr float largest = 57344;
  static f8_e5m2 from(float x, Overflow overflow) { return to_f8_e5m2(x, overflow); }
};

template <class F8>
struct Floats8 : ::testing::Test {
  const Fixture file{"fused.safetensors"};
  std::string tensor(const char* what) const { return std::string("f8.") + Of<F8>::name + '.' + what; }
};
using Types = ::testing::Types<f8_e4m3, f8_e5m2>;
TYPED_TEST_SUITE(Floats8, Types);

TYPED_TEST(Floats8, EveryCodeMeansWhatMlDtypesSays) {
  const auto values = this->file.template numbers<float>(this->tensor("values"));
  ASSERT_EQ(values.size(), 256u);
  for (std::size_t code = 0; code < 256; ++code) {
    const float got = to_float(TypeParam{static_cast<std::uint8_t>(code)});
    if (std::isnan(values[code])) {
      EXPECT_TRUE(std::isnan(got)) << code;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(values[code])) << code;
    }
  }
}

TYPED_TEST(Floats8, EveryCodeComesBack) {
  for (unsigned code = 0; code < 256; ++code) {
    const TypeParam element{static_cast<std::uint8_t>(code)};
    const float value = to_float(element);
    const unsigned back = Of<TypeParam>::from(value, Overflow::special).bits;
    EXPECT_EQ(back, std::isnan(value) ? 0x7Fu : code);
    if (std::isfinite(value)) {
      EXPECT_EQ(Of<TypeParam>::from(value, Overflow::saturate).bits, code);
    }
  }
}

TYPED_TEST(Floats8, RoundLikeMlDtypes) {
  const auto inputs = this->file.template numbers<float>("f8.inputs");
  const auto codes = this->file.template numbers<std::int8_t>(this->tensor("codes"));
  ASSERT_GT(inputs.size(), 5000u);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TypeParam want{static_cast<std::uint8_t>(codes[i])},
        got = Of<TypeParam>::from(inputs[i], Overflow::special);
    if (std::isnan(to_float(want))) {
      EXPECT_EQ(got.bits & 0x7Fu, 0x7Fu) << inputs[i];  // which NaN is ours to choose
    } else {
      EXPECT_EQ(got, want) << inputs[i];
    }
    const TypeParam saturated = Of<TypeParam>::from(inputs[i], Overflow::saturate);
    if (std::isnan(inputs[i])) {
      EXPECT_EQ(saturated.bits, 0x7F);
    } else if (std::isfinite(to_float(want))) {
      EXPECT_EQ(saturated, want) << inputs[i];
    } else {
      EXPECT_EQ(to_float(saturated), std::copysign(Of<TypeParam>::largest, inputs[i])) << inputs[i];
    }
  }
}

TEST(Bits8, E4m3OverflowsBetween448And480) {
  EXPECT_EQ(to_f8_e4m3(464.0f, Overflow::special).bits, 0x7E);  // the tie goes to the even 448
  EXPECT_EQ(to_f8_e4m3(std::nextafter(464.0f, 500.0f), Overflow::special).bits, 0x7F);
  EXPECT_EQ(to_f8_e4m3(-1e30f).bits, 0xFE);
  EXPECT_EQ(to_f8_e4m3(-std::numeric_limits<float>::infinity(), Overflow::special).bits, 0xFF);
  EXPECT_EQ(to_f8_e5m2(61440.0f, Overflow::special).bits,
            0x7C);  // the tie goes to infinity, whose code is even
  EXPECT_EQ(to_f8_e5m2(std::nextafter(61440.0f, 0.0f), Overflow::special).bits, 0x7B);
}

TEST(Bits8, I8RoundsTiesToEvenAndSaturates) {
  const std::pair<float, int> cases[] = {{0.5f, 0},
                                         {1.5f, 2},
                                         {2.5f, 2},
                                         {-0.5f, 0},
                                         {-1.5f, -2},
                                         {0.50001f, 1},
                                         {126.5f, 126},
                                         {127.4f, 127},
                                         {127.5f, 127},
                                         {1e9f, 127},
                                         {-128.5f, -128},
                                         {-127.5f, -128},
                                         {-1e9f, -128},
                                         {std::numeric_limits<float>::infinity(), 127},
                                         {-std::numeric_limits<float>::infinity(), -128},
                                         {std::numeric_limits<float>::quiet_NaN(), 0},
                                         {1e-45f, 0}};
  for (const auto& [value, want] : cases) EXPECT_EQ(to_i8(value), want) << value;
}

}  // namespace
}  // namespace rotary::testing
