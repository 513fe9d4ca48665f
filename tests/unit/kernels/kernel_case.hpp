// SPDX-License-Identifier: Apache-2.0
// One call of a kernel on data of its own, and the kernels that this machine can run as test parameters.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <ostream>
#include <random>
#include <rotary/dtype.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/kernel_list.hpp"
#include "unit/kernels/guarded.hpp"

namespace rotary::impl {

inline std::vector<std::string> runnable_kernels() {
  std::vector<std::string> names;
  for (const Kernel& kernel : kernel_list()) {
    if (kernel.unavailable().empty()) names.emplace_back(kernel.name);
  }
  return names;
}

/// Those that promise the bits of the scalar kernel: all but the reference.
inline std::vector<std::string> exact_kernels() {
  auto names = runnable_kernels();
  std::erase(names, "reference");
  return names;
}

/// Tests that run once for each kernel that this machine has.
class EachKernel : public testing::TestWithParam<std::string> {
 protected:
  const Kernel& kernel() const { return *find_kernel(GetParam()); }
};
inline std::string kernel_name(const testing::TestParamInfo<std::string>& info) { return info.param; }

template <class Element>
using WideOf = std::conditional_t<std::is_same_v<Element, double>, double, float>;

inline double to_double(double value) { return value; }
inline double to_double(float value) { return value; }
inline double to_double(f16 value) { return to_float(value); }
inline double to_double(bf16 value) { return to_float(value); }
inline void set(double& out, double value) { out = value; }
inline void set(float& out, double value) { out = static_cast<float>(value); }
inline void set(f16& out, double value) { out = to_f16(static_cast<float>(value)); }
inline void set(bf16& out, double value) { out = to_bf16(static_cast<float>(value)); }

/// Heads of `width` lanes of which the first 2 * pairs turn, tokens apart by one lane more than they need.
struct Shape {
  Lanes in_lanes = Lanes::halves, out_lanes = Lanes::halves;
  bool conjugate = false;
  std::int64_t tokens = 1, pairs = 1;
  std::vector<std::int64_t> heads = {1};
  std::int64_t lane_stride = 1;
  bool head_major = false;
  std::int64_t call_bytes = 0;  ///< as the kernel is told

  std::int64_t width() const { return (2 * pairs + 3) * lane_stride; }
  std::int64_t head_stride() const { return head_major ? tokens * width() + 1 : width(); }
  std::int64_t token_stride(std::int64_t count) const { return head_major ? width() : count * width() + 1; }
  /// Elements up to the last one that turns.
  std::int64_t size(std::int64_t count) const {
    return (tokens - 1) * token_stride(count) + (count - 1) * head_stride() + (2 * pairs - 1) * lane_stride +
           1;
  }
};

inline std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  const auto word = [](Lanes lanes) { return lanes == Lanes::halves ? "halves" : "adjacent"; };
  out << word(shape.in_lanes) << " to " << word(shape.out_lanes) << (shape.conjugate ? ", conjugate" : "")
      << ", tokens " << shape.tokens << ", pairs " << shape.pairs << ", heads";
  for (const auto heads : shape.heads) out << ' ' << heads;
  return out << ", lane stride " << shape.lane_stride << (shape.head_major ? ", head-major" : "")
             << ", of a call of " << shape.call_bytes << " bytes";
}

/// Everything but the pointers.
inline RotateArgs args_of(const Shape& shape, DType dtype) {
  RotateArgs args{};
  args.operands = static_cast<std::int32_t>(shape.heads.size());
  args.dtype = dtype;
  args.in_lanes = shape.in_lanes;
  args.out_lanes = shape.out_lanes;
  args.conjugate = shape.conjugate;
  args.tokens = shape.tokens;
  args.pairs = shape.pairs;
  args.bytes = shape.call_bytes;
  for (std::size_t n = 0; n < shape.heads.size(); ++n) {
    const auto token = shape.token_stride(shape.heads[n]), head = shape.head_stride();
    args.operand[n] = {nullptr, nullptr, shape.heads[n],   token, head, shape.lane_stride,
                       token,   head,    shape.lane_stride};
  }
  return args;
}

template <class Element>
struct Data {
  using Row = WideOf<Element>;
  std::vector<std::vector<Element>> operands;
  std::vector<Row> rows;
};

/// Random numbers of which one in `rare` is zero, subnormal, huge, infinite or NaN; 0: none.
template <class Element>
Data<Element> random_data(const Shape& shape, unsigned seed, unsigned rare) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const double odd_ones[] = {0.0, -0.0, 1e-320, 1e-41, -3e-8, 6e4, 3e38, -1e308, INFINITY, -INFINITY, NAN};
  const auto draw = [&] {
    return rare > 0 && random() % rare == 0 ? odd_ones[random() % std::size(odd_ones)] : normal(random);
  };
  Data<Element> data;
  for (const auto heads : shape.heads) {
    auto& values = data.operands.emplace_back(shape.size(heads));
    for (auto& value : values) set(value, draw());
  }
  data.rows.resize(static_cast<std::size_t>(shape.tokens * 2 * shape.pairs));
  for (auto& value : data.rows) set(value, draw());
  return data;
}

/// What the kernel leaves in the outputs: in place, or over `old_out`.
template <class Element>
std::vector<std::vector<Element>> run(
    const Kernel& kernel, const Shape& shape, const Data<Element>& data,
    const std::type_identity_t<std::vector<std::vector<Element>>>* old_out = nullptr,
    Against side = Against::end) {
  const auto guard = [side](const auto& values) { return Guarded(std::as_bytes(std::span(values)), side); };
  auto args = args_of(shape, dtype_of<Element>);
  auto rows = guard(data.rows);
  args.rows = rows.data();
  std::vector<std::unique_ptr<Guarded>> memory;
  std::vector<Guarded*> results;
  for (std::size_t n = 0; n < data.operands.size(); ++n) {
    const auto keep = [&](const std::vector<Element>& values) {
      memory.push_back(std::make_unique<Guarded>(std::as_bytes(std::span(values)), side));
      return memory.back().get();
    };
    Guarded* in = keep(data.operands[n]);
    Guarded* out = old_out ? keep((*old_out)[n]) : in;
    args.operand[n].in = in->data();
    args.operand[n].out = out->data();
    results.push_back(out);
  }
  kernel.rotate(args);
  std::vector<std::vector<Element>> outputs;
  for (const Guarded* result : results) {
    auto& values = outputs.emplace_back(result->bytes().size() / sizeof(Element));
    std::memcpy(static_cast<void*>(values.data()), result->bytes().data(), result->bytes().size());
  }
  return outputs;
}

/// Same bits; of two NaNs in f32 or f64 any.
inline bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
inline bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}
inline bool same(f16 a, f16 b) { return a == b; }
inline bool same(bf16 a, bf16 b) { return a == b; }

}  // namespace rotary::impl
