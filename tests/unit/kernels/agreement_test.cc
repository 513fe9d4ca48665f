// SPDX-License-Identifier: Apache-2.0
// Every kernel gives the bits of the scalar one, and the scalar one is near the double reference.
#include "unit/kernels/kernel_case.hpp"

namespace rotary::impl {
namespace {

constexpr std::int64_t all_pairs[] = {1,  2,  3,  5,  7,  8,  15,  16,  20,  24,  32,
                                      33, 40, 48, 64, 80, 96, 128, 192, 256, 257, 300};

/// Calls test(shape) for every lane order, direction and number of pairs.
template <class Test>
void for_all_shapes(const Test& test) {
  unsigned count = 0;
  for (const auto pairs : all_pairs) {
    for (const auto in : {Lanes::halves, Lanes::adjacent}) {
      for (const auto out : {Lanes::halves, Lanes::adjacent}) {
        for (const bool conjugate : {false, true}) {
          for (const std::vector<std::int64_t>& heads :
               {std::vector<std::int64_t>{1}, {8, 2}, {2, 8}, {1, 1}}) {
            const std::int64_t bytes = count % 2 == 0 ? 0 : std::int64_t{1} << 30;  // wide heads mind it
            test(Shape{in, out, conjugate, 1 + count % 3, pairs, heads, 1, count % 5 == 0, bytes});
            ++count;
          }
        }
      }
    }
  }
}

template <class Element>
void expect_same(const std::vector<std::vector<Element>>& got, const std::vector<std::vector<Element>>& want,
                 const Shape& shape, const char* what) {
  for (std::size_t n = 0; n < want.size(); ++n) {
    ASSERT_EQ(got[n].size(), want[n].size());
    for (std::size_t i = 0; i < want[n].size(); ++i) {
      ASSERT_TRUE(same(got[n][i], want[n][i]))
          << what << ", " << name(dtype_of<Element>) << ", " << shape << ": operand " << n << " element " << i
          << ": got " << to_double(got[n][i]) << ", expected " << to_double(want[n][i]);
    }
  }
}

using Agreement = EachKernel;
using Bits = EachKernel;  // all but the reference, which rounds less often

template <class Element>
void expect_scalar_bits(const Kernel& kernel) {
  const Kernel& scalar = *find_kernel("scalar");
  unsigned seed = 0;
  for_all_shapes([&](const Shape& shape) {
    ++seed;
    const auto data = random_data<Element>(shape, seed, seed % 2 == 0 ? 9 : 0);
    const auto other = random_data<Element>(shape, seed + 1000000, 9).operands;
    for (const auto side : {Against::end, Against::start}) {
      expect_same(run(kernel, shape, data, nullptr, side), run(scalar, shape, data), shape, "in place");
      expect_same(run(kernel, shape, data, &other, side), run(scalar, shape, data, &other), shape,
                  "out of place");
    }
  });
}

TEST_P(Bits, AreThoseOfTheScalarKernel) {
  expect_scalar_bits<double>(kernel());
  expect_scalar_bits<float>(kernel());
  expect_scalar_bits<f16>(kernel());
  expect_scalar_bits<bf16>(kernel());
}

TEST_P(Bits, AreThoseOfTheScalarKernelInTheWidestWindow) {
  for (const auto in : {Lanes::halves, Lanes::adjacent}) {
    for (const auto out : {Lanes::halves, Lanes::adjacent}) {
      for (const std::int64_t pairs : {max_pairs, max_pairs - 1}) {
        const Shape shape{in, out, true, 2, pairs, {2, 1}};
        const auto data = random_data<bf16>(shape, 5, 0);
        expect_same(run(kernel(), shape, data), run(*find_kernel("scalar"), shape, data), shape, "in place");
        const auto wide = random_data<double>(shape, 5, 0);
        expect_same(run(kernel(), shape, wide), run(*find_kernel("scalar"), shape, wide), shape, "in place");
      }
    }
  }
}

template <class Element>
void expect_scalar_bits_of_two_million_pairs(const Kernel& kernel) {
  for (const bool head_major : {false, true}) {
    for (const auto in : {Lanes::halves, Lanes::adjacent}) {
      for (const unsigned rare : {0u, 5u, 1000u}) {  // the last: a head of a dozen holds something special
        const Shape shape{in, in, head_major, 70, 64, {29, 11}, 1, head_major};
        const auto data = random_data<Element>(shape, rare + 1, rare);
        expect_same(run(kernel, shape, data), run(*find_kernel("scalar"), shape, data), shape, "in place");
      }
    }
  }
}

TEST_P(Bits, AreThoseOfTheScalarKernelForTwoMillionPairs) {
  expect_scalar_bits_of_two_million_pairs<double>(kernel());
  expect_scalar_bits_of_two_million_pairs<float>(kernel());
  expect_scalar_bits_of_two_million_pairs<f16>(kernel());
  expect_scalar_bits_of_two_million_pairs<bf16>(kernel());
}

TEST_P(Bits, AreThoseOfTheScalarKernelInLongRunsOfAHead) {
  for (const std::int64_t tokens : {15, 16, 33, 50}) {
    for (const auto pairs : all_pairs) {
      for (const auto lanes : {Lanes::halves, Lanes::adjacent}) {
        const Shape shape{lanes, lanes, pairs % 2 == 0, tokens, pairs, {2, 1}, 1, true};
        const auto narrow = random_data<bf16>(shape, 31, 50);
        expect_same(run(kernel(), shape, narrow), run(*find_kernel("scalar"), shape, narrow), shape, "bf16");
        const auto wide = random_data<float>(shape, 32, 50);
        expect_same(run(kernel(), shape, wide), run(*find_kernel("scalar"), shape, wide), shape, "f32");
      }
    }
  }
}

TEST_P(Bits, AreThoseOfTheScalarKernelWhereRowsOfManyTokensAreMoreThanACacheHolds) {
  for (const auto lanes : {Lanes::halves, Lanes::adjacent}) {
    const Shape shape{lanes, lanes, true, 300, 130, {8, 1}, 1, true};
    const auto narrow = random_data<bf16>(shape, 33, 0);
    expect_same(run(kernel(), shape, narrow), run(*find_kernel("scalar"), shape, narrow), shape, "bf16");
    const auto wide = random_data<float>(shape, 34, 0);
    expect_same(run(kernel(), shape, wide), run(*find_kernel("scalar"), shape, wide), shape, "f32");
  }
}

/// Lane of the x (part 0) or y (part 1) of pair i.
std::int64_t lane(Lanes lanes, std::int64_t pairs, std::int64_t i, int part) {
  return lanes == Lanes::halves ? i + part * pairs : 2 * i + part;
}

template <class Element>
void expect_near_reference(const Kernel& kernel, double step) {
  unsigned seed = 77;
  for_all_shapes([&](const Shape& shape) {
    const auto data = random_data<Element>(shape, ++seed, 0);
    const auto got = run(kernel, shape, data), want = run(*find_kernel("reference"), shape, data);
    for (std::size_t n = 0; n < shape.heads.size(); ++n) {
      for (std::int64_t token = 0; token < shape.tokens; ++token) {
        for (std::int64_t head = 0; head < shape.heads[n]; ++head) {
          const auto first = token * shape.token_stride(shape.heads[n]) + head * shape.head_stride();
          for (std::int64_t i = 0; i < shape.pairs; ++i) {
            const auto in = [&](int part) {
              return to_double(data.operands[n][first + lane(shape.in_lanes, shape.pairs, i, part)]);
            };
            const auto row = token * 2 * shape.pairs + i;
            const double length =
                std::hypot(in(0), in(1)) * std::hypot(data.rows[row], data.rows[row + shape.pairs]);
            for (const int part : {0, 1}) {
              const auto at = first + lane(shape.out_lanes, shape.pairs, i, part);
              ASSERT_NEAR(to_double(got[n][at]), to_double(want[n][at]), step * length)
                  << name(dtype_of<Element>) << ", " << shape << ": pair " << i;
            }
          }
        }
      }
    }
  });
}

// Two roundings in the arithmetic, then at most one step of the element type where the last bit falls
// otherwise.
TEST_P(Agreement, IsNearTheReference) {
  expect_near_reference<double>(kernel(), 0x1p-52);
  expect_near_reference<float>(kernel(), 0x1p-23);
  expect_near_reference<f16>(kernel(), 0x1p-10);
  expect_near_reference<bf16>(kernel(), 0x1p-7);
}

TEST_P(Agreement, ANanStaysInItsPair) {
  for (const auto in : {Lanes::halves, Lanes::adjacent}) {
    for (const auto out : {Lanes::halves, Lanes::adjacent}) {
      for (const std::int64_t pairs : {1, 5, 24, 64}) {
        const Shape shape{in, out, false, 1, pairs, {2}};
        for (const std::int64_t bad : {std::int64_t{0}, pairs / 2, pairs - 1}) {
          auto data = random_data<float>(shape, 3, 0);
          data.operands[0][lane(in, pairs, bad, 1)] = NAN;
          const auto got = run(kernel(), shape, data)[0];
          for (std::int64_t i = 0; i < pairs; ++i) {
            for (const int part : {0, 1}) {
              EXPECT_EQ(std::isnan(got[lane(out, pairs, i, part)]), i == bad) << shape << ": pair " << i;
            }
          }
        }
      }
    }
  }
}

TEST_P(Agreement, LanesOutsideTheWindowKeepTheirBits) {
  for_all_shapes([&](const Shape& shape) {
    const auto data = random_data<bf16>(shape, 21, 0);
    const auto got = run(kernel(), shape, data);
    for (std::size_t n = 0; n < got.size(); ++n) {
      std::vector<bool> turns(got[n].size());
      for (std::int64_t token = 0; token < shape.tokens; ++token) {
        for (std::int64_t head = 0; head < shape.heads[n]; ++head) {
          const auto first = token * shape.token_stride(shape.heads[n]) + head * shape.head_stride();
          std::fill_n(turns.begin() + first, 2 * shape.pairs, true);
        }
      }
      for (std::size_t i = 0; i < turns.size(); ++i) {
        ASSERT_TRUE(turns[i] || got[n][i] == data.operands[n][i])
            << shape << ": operand " << n << " element " << i;
      }
    }
  });
}

TEST(Scalar, TakesAnyLaneStride) {
  const Kernel& scalar = *find_kernel("scalar");
  for_all_shapes([&](Shape shape) {
    const auto packed_data = random_data<f16>(shape, 11, 9);
    const auto packed = run(scalar, shape, packed_data);
    Shape strided = shape;
    strided.lane_stride = 3;
    Data<f16> data{{}, packed_data.rows};
    const auto spread = [&](const std::vector<std::vector<f16>>& from) {
      std::vector<std::vector<f16>> to;
      for (std::size_t n = 0; n < from.size(); ++n) {
        auto& values = to.emplace_back(strided.size(shape.heads[n]), f16{0x1234});
        for (std::int64_t token = 0; token < shape.tokens; ++token) {
          for (std::int64_t head = 0; head < shape.heads[n]; ++head) {
            for (std::int64_t i = 0; i < 2 * shape.pairs; ++i) {
              values[token * strided.token_stride(shape.heads[n]) + head * strided.head_stride() + 3 * i] =
                  from[n][token * shape.token_stride(shape.heads[n]) + head * shape.head_stride() + i];
            }
          }
        }
      }
      return to;
    };
    data.operands = spread(packed_data.operands);
    expect_same(run(scalar, strided, data), spread(packed), strided, "strided");
  });
}

INSTANTIATE_TEST_SUITE_P(, Agreement, testing::ValuesIn(runnable_kernels()), kernel_name);
INSTANTIATE_TEST_SUITE_P(, Bits, testing::ValuesIn(exact_kernels()), kernel_name);

}  // namespace
}  // namespace rotary::impl
