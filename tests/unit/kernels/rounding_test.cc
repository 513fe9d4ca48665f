// SPDX-License-Identifier: Apache-2.0
// What each kernel's loads and stores do to 16-bit elements. A rotation with x = 1, y = 0, sin = 0 stores
// cos, so any float can be sent through a store; one with cos = 1, sin = 0, y = 0 stores what it loaded.
#include <algorithm>

#include "unit/kernels/kernel_case.hpp"

namespace rotary::impl {
namespace {

struct Layout16 {
  int fraction_bits, least_exponent, largest_exponent;  // of normal numbers
};
template <class Element>
constexpr Layout16 layout_of = {10, -14, 15};
template <>
constexpr Layout16 layout_of<bf16> = {7, -126, 127};

/// Rounds in double arithmetic, where every step is exact but the one rounding.
template <class Element>
std::uint16_t rounded_bits(float value) {
  const Layout16 layout = layout_of<Element>;
  const auto infinity =
      static_cast<unsigned>((layout.largest_exponent - layout.least_exponent + 2) << layout.fraction_bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>(infinity | (1u << (layout.fraction_bits - 1)));
  const unsigned sign = std::signbit(value) ? 0x8000u : 0u;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (std::isinf(magnitude)) return static_cast<std::uint16_t>(sign | infinity);
  int exponent = 0;
  if (magnitude > 0) exponent = std::max(std::ilogb(magnitude), layout.least_exponent);
  const double steps = std::nearbyint(std::ldexp(magnitude, layout.fraction_bits - exponent));
  if (magnitude == 0 || steps == 0) return static_cast<std::uint16_t>(sign);
  const auto whole = static_cast<unsigned>(steps) +
                     (static_cast<unsigned>(exponent - layout.least_exponent) << layout.fraction_bits);
  return static_cast<std::uint16_t>(sign | std::min(whole, infinity));
}

/// Sends floats through a store, `pairs` of them a token.
template <class Element>
std::vector<Element> stored(const Kernel& kernel, std::vector<float> values, std::int64_t pairs) {
  const auto tokens = (static_cast<std::int64_t>(values.size()) + pairs - 1) / pairs;
  values.resize(static_cast<std::size_t>(tokens * pairs));
  std::vector<float> rows(values.size() * 2);
  for (std::int64_t token = 0; token < tokens; ++token) {
    std::copy_n(values.begin() + token * pairs, pairs, rows.begin() + token * 2 * pairs);
  }
  std::vector<Element> in(static_cast<std::size_t>(2 * pairs)), out(values.size() * 2), result(values.size());
  for (std::int64_t i = 0; i < pairs; ++i) set(in[i], 1.0);
  RotateArgs args{};
  args.operand[0] = {in.data(), out.data(), 1, 0, 0, 1, 2 * pairs, 0, 1};
  args.operands = 1;
  args.dtype = dtype_of<Element>;
  args.in_lanes = args.out_lanes = Lanes::halves;
  args.tokens = tokens;
  args.pairs = pairs;
  args.rows = rows.data();
  kernel.rotate(args);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = out[i / pairs * 2 * pairs + i % pairs];
  return result;
}

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

using Rounding = EachKernel;

/// Widths that take different ways through a kernel: whole vectors in registers, blocks, and every tail.
constexpr std::int64_t widths[] = {4096, 64, 63};

template <class Element>
void expect_rounded(const Kernel& kernel, const std::vector<float>& values) {
  for (const auto pairs : widths) {
    const auto got = stored<Element>(kernel, values, pairs);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(got[i].bits, rounded_bits<Element>(values[i]))
          << "float bits " << std::hex << std::bit_cast<std::uint32_t>(values[i]) << ", pairs " << std::dec
          << pairs;
    }
  }
}

TEST_P(Rounding, ToBf16IsToNearestEven) {
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const std::uint32_t lower : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      values.push_back(from_bits(upper << 16 | lower));
    }
  }
  expect_rounded<bf16>(kernel(), values);
}

TEST_P(Rounding, ToF16IsToNearestEven) {
  std::vector<float> values;
  // Every bf16 value with telling low halves, and the neighbourhood of every f16 value and every midpoint.
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const std::uint32_t lower :
         {0x0000u, 0x0FFFu, 0x1000u, 0x1001u, 0x3000u, 0x7FFFu, 0x8000u, 0xFFFFu}) {
      values.push_back(from_bits(upper << 16 | lower));
    }
  }
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const float low = to_float(f16{static_cast<std::uint16_t>(bits)});
    const float high = bits == 0x7BFF ? 65536.0f : to_float(f16{static_cast<std::uint16_t>(bits + 1)});
    const float middle = (low + high) / 2;
    for (const float value : {low, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)}) {
      values.push_back(value);
      values.push_back(-value);
    }
  }
  expect_rounded<f16>(kernel(), values);
}

/// Every 16-bit value comes back from a load and a store as it went in, NaN as the one NaN.
template <class Element>
void expect_identity(const Kernel& kernel) {
  for (const auto lanes : {Lanes::halves, Lanes::adjacent}) {
    for (const std::int64_t pairs : widths) {
      Shape shape{lanes, lanes, false, (65536 + pairs - 1) / pairs, pairs, {1}};
      Data<Element> data;
      auto& values = data.operands.emplace_back(shape.size(1));
      data.rows.resize(static_cast<std::size_t>(2 * pairs * shape.tokens));
      for (std::int64_t token = 0; token < shape.tokens; ++token) {
        std::fill_n(data.rows.begin() + token * 2 * pairs, pairs, 1.0f);
      }
      const auto at = [&](std::int64_t n) {
        return n / pairs * shape.token_stride(1) + (lanes == Lanes::halves ? n % pairs : 2 * (n % pairs));
      };
      for (std::int64_t n = 0; n < 65536; ++n) values[at(n)].bits = static_cast<std::uint16_t>(n);
      const auto got = run(kernel, shape, data)[0];
      for (std::int64_t n = 0; n < 65536; ++n) {
        const Element in{static_cast<std::uint16_t>(n)};
        ASSERT_EQ(got[at(n)].bits, std::isnan(to_double(in)) ? rounded_bits<Element>(NAN) : n)
            << "pairs " << pairs;
      }
    }
  }
}

TEST_P(Rounding, LoadsAndStoresEveryBf16) { expect_identity<bf16>(kernel()); }
TEST_P(Rounding, LoadsAndStoresEveryF16) { expect_identity<f16>(kernel()); }

// The product lies so close over a tie of bf16 that a float can only say the tie, which goes down to even.
TEST(Reference, RoundsOnceFromDouble) {
  for (const auto& [kernel, want] : {std::pair{"reference", 1.0078125}, std::pair{"scalar", 1.0}}) {
    bf16 values[2] = {to_bf16(1.0078125f), bf16{0}};
    const float rows[2] = {from_bits(0x3F7F01FD), 0.0f};
    RotateArgs args{};
    args.operand[0] = {values, values, 1, 0, 0, 1, 0, 0, 1};
    args.operands = 1;
    args.dtype = DType::bf16;
    args.tokens = args.pairs = 1;
    args.rows = rows;
    find_kernel(kernel)->rotate(args);
    EXPECT_EQ(to_double(values[0]), want) << kernel;
  }
}

INSTANTIATE_TEST_SUITE_P(, Rounding, testing::ValuesIn(runnable_kernels()), kernel_name);

}  // namespace
}  // namespace rotary::impl
