// SPDX-License-Identifier: Apache-2.0
// Every kernel gives the bits of the scalar one for whatever bits come in: each pair of special lanes with each pair of
// special cosines and sines, and a million random pairs.
#include <algorithm>

#include "unit/kernels/kernel_case.hpp"

namespace rotary::impl {
namespace {

using SpecialValues = EachKernel;

template <class Number>
using BitsOf = std::conditional_t<sizeof(Number) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint16_t>>;

template <class Number>
constexpr int fraction_bits = std::is_same_v<Number, double>  ? 52
                              : std::is_same_v<Number, float> ? 23
                              : std::is_same_v<Number, f16>   ? 10
                                                              : 7;

/// Zero, subnormals, the ends of the normal range, infinity, NaNs with and without a payload, quiet and not; of
/// either sign.
template <class Number>
std::vector<Number> special_values() {
  using Bits = BitsOf<Number>;
  constexpr Bits sign = Bits(Bits{1} << (8 * sizeof(Bits) - 1)),
                 least_normal = Bits(Bits{1} << fraction_bits<Number>), fraction = least_normal - 1,
                 infinity = Bits(sign - least_normal), quiet = Bits(least_normal >> 1);
  Number one;
  set(one, 1.0);
  std::vector<Number> values;
  for (const Bits bits :
       {Bits{0}, Bits{1}, Bits(quiet + 1), fraction, least_normal, Bits(least_normal + 1),
        std::bit_cast<Bits>(one), Bits(std::bit_cast<Bits>(one) + 1), Bits(infinity - 1), infinity,
        Bits(infinity + 1), Bits(infinity + quiet), Bits(infinity + quiet + 5), Bits(infinity + fraction)}) {
    values.push_back(std::bit_cast<Number>(bits));
    values.push_back(std::bit_cast<Number>(Bits(bits | sign)));
  }
  return values;
}

template <class Element>
void expect_scalar_bits(const Kernel& kernel, const Shape& shape, const Data<Element>& data) {
  const auto got = run(kernel, shape, data)[0], want = run(*find_kernel("scalar"), shape, data)[0];
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_TRUE(same(got[i], want[i]))
        << name(dtype_of<Element>) << ", " << shape << ": element " << i << ": got " << to_double(got[i])
        << ", expected " << to_double(want[i]);
  }
}

/// A head for each pair of lanes, all the same, under one row of each pair of numbers.
template <class Element>
void expect_scalar_bits_of_special_values(const Kernel& kernel) {
  const auto lanes = special_values<Element>();
  const auto numbers = special_values<WideOf<Element>>();
  const auto pairs = static_cast<std::int64_t>(numbers.size() * numbers.size());
  for (const auto order : {Lanes::halves, Lanes::adjacent}) {
    const Shape shape{order, order, false,
                      1,     pairs, {static_cast<std::int64_t>(lanes.size() * lanes.size())}};
    Data<Element> data;
    for (const auto sine : {false, true}) {
      for (const auto c : numbers) {
        for (const auto s : numbers) data.rows.push_back(sine ? s : c);
      }
    }
    auto& values = data.operands.emplace_back(shape.size(shape.heads[0]));
    std::int64_t first = 0;
    for (const auto x : lanes) {
      for (const auto y : lanes) {
        for (std::int64_t i = 0; i < pairs; ++i) {
          values[first + (order == Lanes::halves ? i : 2 * i)] = x;
          values[first + (order == Lanes::halves ? i + pairs : 2 * i + 1)] = y;
        }
        first += shape.head_stride();
      }
    }
    expect_scalar_bits(kernel, shape, data);
  }
}

TEST_P(SpecialValues, HaveTheScalarBits) {
  expect_scalar_bits_of_special_values<double>(kernel());
  expect_scalar_bits_of_special_values<float>(kernel());
  expect_scalar_bits_of_special_values<f16>(kernel());
  expect_scalar_bits_of_special_values<bf16>(kernel());
}

/// Any bits, or a number of usual size.
template <class Number>
Number random_number(std::mt19937_64& random) {
  const std::uint64_t word = random();
  if (word & 1) return std::bit_cast<Number>(static_cast<BitsOf<Number>>(random()));
  Number usual;
  set(usual, static_cast<double>(static_cast<std::int64_t>(word)) * 0x1p-62);
  return usual;
}

template <class Element>
void expect_scalar_bits_of_random_pairs(const Kernel& kernel) {
  std::mt19937_64 random(11);
  for (const auto order : {Lanes::halves, Lanes::adjacent}) {
    const Shape shape{order, order, false, 64, 127, {65}};
    Data<Element> data;
    auto& values = data.operands.emplace_back(shape.size(shape.heads[0]));
    for (auto& value : values) value = random_number<Element>(random);
    data.rows.resize(static_cast<std::size_t>(shape.tokens * 2 * shape.pairs));
    for (auto& number : data.rows) number = random_number<WideOf<Element>>(random);
    expect_scalar_bits(kernel, shape, data);
  }
}

TEST_P(SpecialValues, AMillionRandomPairsHaveTheScalarBits) {
  expect_scalar_bits_of_random_pairs<double>(kernel());
  expect_scalar_bits_of_random_pairs<float>(kernel());
  expect_scalar_bits_of_random_pairs<f16>(kernel());
  expect_scalar_bits_of_random_pairs<bf16>(kernel());
}

/// a b is 2^-24 (1 - 2^-40): with an odd float it comes so near to the middle between two floats that a double can only say
/// the middle, which goes to the even one. The exact sum goes to the odd one.
TEST_P(SpecialValues, ASumNextToAMiddleIsRoundedOnce) {
  const float a = 0x1.00001p-12f, b = 0x1.ffffep-13f, odd = 0x1.000002p0f;
  for (const std::int64_t pairs : {1, 2, 5}) {
    for (const float sign : {1.0f, -1.0f}) {
      for (const float sine : {1.0f, -1.0f}) {
        const Shape shape{Lanes::halves, Lanes::halves, false, 1, pairs, {1}};
        Data<float> data;
        auto& values =
            data.operands.emplace_back(std::vector<float>(static_cast<std::size_t>(2 * pairs), sign * a));
        std::fill_n(values.begin() + pairs, pairs, sign * odd);
        data.rows.assign(static_cast<std::size_t>(2 * pairs), b);
        std::fill_n(data.rows.begin() + pairs, pairs, sine);
        const auto x = run(kernel(), shape, data)[0];
        std::rotate(values.begin(), values.begin() + pairs, values.end());
        const auto y = run(kernel(), shape, data)[0];
        for (std::int64_t i = 0; i < pairs; ++i) {
          EXPECT_EQ(x[static_cast<std::size_t>(i)], -sine * sign * odd) << shape << ": x " << i;
          EXPECT_EQ(y[static_cast<std::size_t>(pairs + i)], sine * sign * odd) << shape << ": y " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, SpecialValues, testing::ValuesIn(exact_kernels()), kernel_name);

}  // namespace
}  // namespace rotary::impl
