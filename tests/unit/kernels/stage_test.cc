// SPDX-License-Identifier: Apache-2.0
// Loading into the stage and storing from it: every kernel gives the bits of the scalar one and touches nothing
// else. What the bits must be: f8_test, and fused_test by an oracle in double.
#include <cstring>

#include "unit/kernels/kernel_case.hpp"

namespace rotary::impl {
namespace {

constexpr std::int64_t widths[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 48, 63, 64, 80, 96, 128, 129, 257};
constexpr float odd_ones[] = {0.0f,     -0.0f, 1e-45f,   1e-41f,    -3e-8f, 448.0f,  464.0f, -6e4f,
                              65520.0f, 3e38f, INFINITY, -INFINITY, NAN,    -127.5f, 0.5f};

struct Case {
  StageBlock block{};
  std::vector<std::byte> memory;  // of the elements
  std::vector<float> stage, weight;
};

/// Three tokens of two heads, lanes and heads apart in memory; one number in nine is rare.
Case make_case(std::int64_t width, std::int64_t lane_stride, DType dtype, unsigned seed) {
  Case c;
  const std::int64_t head = width * lane_stride + 1, lanes = 6 * width;
  c.block = {3, 2, width, 2 * head, head, lane_stride, 2 * width, width};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 20);
  const auto draw = [&] {
    return random() % 9 == 0 ? odd_ones[random() % std::size(odd_ones)] : normal(random);
  };
  const std::int64_t last = 2 * c.block.token_stride + head + (width - 1) * lane_stride;
  c.memory.resize(static_cast<std::size_t>(last + 1) * size_of(dtype));
  for (std::int64_t i = 0; i <= last; ++i) {
    std::byte* at = c.memory.data() + static_cast<std::size_t>(i) * size_of(dtype);
    const float value = draw();
    const f16 half = to_f16(value);
    const bf16 upper = to_bf16(value);
    const void* from = &value;
    if (dtype == DType::f16) from = &half;
    if (dtype == DType::bf16) from = &upper;
    std::memcpy(at, from, std::min<std::size_t>(size_of(dtype), 4));
  }
  c.stage.resize(static_cast<std::size_t>(lanes));
  for (auto& value : c.stage) value = draw();
  c.weight.resize(static_cast<std::size_t>(width));
  for (auto& value : c.weight) value = normal(random);
  return c;
}

std::vector<float> loaded(const Kernel& kernel, const Case& c, DType dtype, int kind, Against side) {
  const Guarded in(c.memory, side);
  Guarded stage(c.stage.size() * sizeof(float), side), weight(std::as_bytes(std::span(c.weight)), side);
  LoadArgs args{};
  args.block = c.block;
  args.in = const_cast<Guarded&>(in).data();
  args.dtype = dtype;
  args.stage = stage.data();
  args.norm = kind != 0;
  args.weight = kind == 2 ? weight.data() : nullptr;
  args.epsilon = 1e-6f;
  kernel.load(args);
  std::vector<float> out(c.stage.size());
  std::memcpy(out.data(), stage.data(), stage.bytes().size());
  return out;
}

std::vector<std::byte> stored(const Kernel& kernel, const Case& c, DType dtype, Overflow overflow,
                              Against side) {
  Guarded out(c.memory, side);
  const Guarded stage(std::as_bytes(std::span(c.stage)), side);
  const float scales[] = {0.37f, -2.5f};
  StoreArgs args{};
  args.block = c.block;
  args.stage = const_cast<Guarded&>(stage).data();
  args.out = out.data();
  args.dtype = dtype;
  args.scales = scales;
  args.scale_stride = 1;
  args.overflow = overflow;
  kernel.store(args);
  return {out.bytes().begin(), out.bytes().end()};
}

using Stage = EachKernel;
INSTANTIATE_TEST_SUITE_P(Kernels, Stage, testing::ValuesIn(exact_kernels()), kernel_name);

TEST_P(Stage, LoadsTheBitsOfTheScalarKernel) {
  unsigned seed = 0;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const auto width : widths) {
      for (const std::int64_t lane_stride : {1, 3}) {
        const Case c = make_case(width, lane_stride, dtype, ++seed);
        for (const int kind : {0, 1, 2}) {
          for (const auto side : {Against::end, Against::start}) {
            const auto got = loaded(kernel(), c, dtype, kind, side);
            const auto want = loaded(*find_kernel("scalar"), c, dtype, kind, side);
            for (std::size_t i = 0; i < want.size(); ++i) {
              ASSERT_TRUE(same(got[i], want[i]))
                  << name(dtype) << " width " << width << " kind " << kind << " lane " << i << ": got "
                  << got[i] << ", expected " << want[i];
            }
          }
        }
      }
    }
  }
}

TEST_P(Stage, StoresTheBitsOfTheScalarKernel) {
  unsigned seed = 0;
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8}) {
    for (const auto width : widths) {
      for (const std::int64_t lane_stride : {1, 3}) {
        Case c = make_case(width, lane_stride, dtype, ++seed);
        if (size_of(dtype) >= 4) {  // the processor chooses a NaN of these
          for (auto& value : c.stage) value = std::isnan(value) ? 0.0f : value;
        }
        for (const auto overflow : {Overflow::saturate, Overflow::special}) {
          for (const auto side : {Against::end, Against::start}) {
            ASSERT_EQ(stored(kernel(), c, dtype, overflow, side),
                      stored(*find_kernel("scalar"), c, dtype, overflow, side))
                << name(dtype) << " width " << width << " lane stride " << lane_stride;
          }
        }
      }
    }
  }
}

/// Floats of any bits, and every float around a code of the 8-bit types.
TEST_P(Stage, StoresAnyBitsInEightAsTheScalarKernelDoes) {
  std::vector<float> numbers;
  std::mt19937 random(7);
  for (int i = 0; i < 250'000; ++i)
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  for (std::uint32_t top = 0x3A00; top < 0x4800; ++top) {  // 2^-11 to 2^17, sixteen around each half step
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      numbers.push_back(std::bit_cast<float>(top << 16 | low));
    }
  }
  const auto count = static_cast<std::int64_t>(numbers.size());
  const float one = 1;
  for (const DType dtype : {DType::f8_e4m3, DType::f8_e5m2, DType::i8}) {
    for (const auto overflow : {Overflow::saturate, Overflow::special}) {
      std::vector<std::uint8_t> got(numbers.size()), want(numbers.size());
      StoreArgs args{};
      args.block = {1, 1, count, 0, 0, 1, 0, 0};
      args.stage = numbers.data();
      args.dtype = dtype;
      args.scales = &one;
      args.overflow = overflow;
      args.out = got.data();
      kernel().store(args);
      args.out = want.data();
      find_kernel("scalar")->store(args);
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(got[i], want[i]) << name(dtype) << " of " << numbers[i];
      }
    }
  }
}

}  // namespace
}  // namespace rotary::impl
