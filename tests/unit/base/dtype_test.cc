// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <rotary/dtype.hpp>
#include <rotary/tensor.hpp>

namespace rotary {
namespace {

/// The value of a 16-bit pattern with the given field widths, by its definition.
double value_of(unsigned bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned fraction = bits & ((1u << fraction_bits) - 1);
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double sign = bits & 0x8000u ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction ? NAN : sign * INFINITY;
  const double mantissa = exponent == 0 ? fraction : (1u << fraction_bits) + fraction;
  return sign * std::ldexp(mantissa, std::max(exponent, 1) - bias - fraction_bits);
}

template <class Half>
void check_all(int exponent_bits, int fraction_bits, Half (*narrow)(float)) {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const double expected = value_of(bits, exponent_bits, fraction_bits);
    const float widened = to_float(half);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(widened)) << bits;
      EXPECT_TRUE(std::isnan(to_float(narrow(widened)))) << bits;
      continue;
    }
    EXPECT_EQ(static_cast<double>(widened), expected) << bits;
    EXPECT_EQ(narrow(widened).bits, bits);
    // Half way to the next pattern goes to the even one, a hair beyond to the next, a hair before to this
    // one.
    const unsigned next = bits + 1;
    if ((next & 0x7FFFu) == 0 || std::isinf(expected)) continue;
    double above = value_of(next, exponent_bits, fraction_bits);
    if (std::isinf(above)) above = 2 * expected - value_of(bits - 1, exponent_bits, fraction_bits);
    const auto middle = static_cast<float>((expected + above) / 2);
    if (std::isinf(middle)) continue;
    ASSERT_EQ(static_cast<double>(middle), (expected + above) / 2);
    EXPECT_EQ(narrow(middle).bits, bits & 1u ? next : bits);
    const float away = bits & 0x8000u ? -INFINITY : INFINITY;
    EXPECT_EQ(narrow(std::nextafter(middle, away)).bits, next);
    EXPECT_EQ(narrow(std::nextafter(middle, 0.0f)).bits, bits);
  }
}

TEST(DType, F16WidensExactlyAndRoundsToNearestEven) { check_all<f16>(5, 10, to_f16); }
TEST(DType, Bf16WidensExactlyAndRoundsToNearestEven) { check_all<bf16>(8, 7, to_bf16); }

TEST(DType, OverflowTinyValuesAndNaN) {
  EXPECT_EQ(to_f16(65519.996f).bits, 0x7BFF);
  EXPECT_EQ(to_f16(65520.0f).bits, 0x7C00);
  EXPECT_EQ(to_f16(-1e30f).bits, 0xFC00);
  EXPECT_EQ(to_f16(0x1p-25f).bits, 0x0000);
  EXPECT_EQ(to_f16(0x1.000002p-25f).bits, 0x0001);
  EXPECT_EQ(to_f16(1e-45f).bits, 0x0000);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()).bits, 0x7F80);
  EXPECT_EQ(to_bf16(1e-45f).bits, 0x0000);
  // A payload in the low half must not turn a NaN into an infinity.
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::bit_cast<float>(0x7F800001u)))));
  EXPECT_TRUE(std::isnan(to_float(to_f16(std::bit_cast<float>(0x7F800001u)))));
}

TEST(DType, NamesGoBothWays) {
  EXPECT_EQ(name(DType::bf16), "bf16");
  EXPECT_EQ(name(DType::boolean), "boolean");
  EXPECT_EQ(dtype_from_name("f8_e5m2"), DType::f8_e5m2);
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
  EXPECT_EQ(size_of(DType::f64), 8u);
  EXPECT_EQ(size_of(DType::f8_e4m3), 1u);
  EXPECT_TRUE(is_rotatable(DType::bf16));
  EXPECT_FALSE(is_rotatable(DType::f8_e4m3));
}

TEST(Tensor, LayoutsGiveTheirStrides) {
  const auto q = HeadsShape::contiguous(Layout::bthd, DType::f32, 2, 7, 32, 128);
  EXPECT_EQ(q.lane_stride, 1);
  EXPECT_EQ(q.head_stride, 128);
  EXPECT_EQ(q.token_stride, 4096);
  EXPECT_EQ(q.batch_stride, 28672);
  const auto hf = HeadsShape::contiguous(Layout::bhtd, DType::f32, 2, 7, 32, 128);
  EXPECT_EQ(hf.token_stride, 128);
  EXPECT_EQ(hf.head_stride, 896);
  EXPECT_EQ(hf.batch_stride, 28672);
  float x[8] = {};
  const float* read_only = x;
  static_assert(std::is_same_v<decltype(thd(x, 1, 1, 8)), Heads>);
  static_assert(std::is_same_v<decltype(thd(read_only, 1, 1, 8)), ConstHeads>);
  EXPECT_EQ(layout_from_name("bhtd"), Layout::bhtd);
  EXPECT_EQ(layout_from_name("sbhd"), std::nullopt);
}

}  // namespace
}  // namespace rotary
