// SPDX-License-Identifier: Apache-2.0
// The numbers of somebody else's array, copied as f32.
#include <cstring>

#include "tensor.hpp"

namespace rotary::python {
namespace {

template <class T, class Widen>
void copy_axes(const Tensor& from, std::size_t axis, const std::byte* at, const Widen& widen, float*& to) {
  const bool is_number = axis == from.shape().size(), is_last = axis + 1 == from.shape().size();
  const std::int64_t extent = is_number ? 1 : from.shape()[axis],
                     stride = is_number ? 0 : from.strides()[axis];
  for (std::int64_t i = 0; i < extent; ++i) {
    const std::byte* here = at + i * stride * static_cast<std::int64_t>(sizeof(T));
    if (!is_number && !is_last) {
      copy_axes<T>(from, axis + 1, here, widen, to);
      continue;
    }
    T value;  // a view need not be aligned
    std::memcpy(&value, here, sizeof value);
    *to++ = widen(value);
  }
}

}  // namespace

std::vector<float> Tensor::floats() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape())
    if (__builtin_mul_overflow(count, extent, &count)) throw std::bad_alloc();
  std::vector<float> out(static_cast<std::size_t>(count));
  if (count == 0) return out;
  float* to = out.data();
  const auto copy = [&]<class T>(T, const auto& widen) {
    copy_axes<T>(*this, 0, static_cast<const std::byte*>(data_), widen, to);
  };
  const auto cast = [](auto x) { return static_cast<float>(x); };
  switch (dtype_) {
    case DType::f64:
      copy(double{}, cast);
      break;
    case DType::f32:
      copy(float{}, cast);
      break;
    case DType::f16:
      copy(f16{}, [](f16 x) { return to_float(x); });
      break;
    case DType::bf16:
      copy(bf16{}, [](bf16 x) { return to_float(x); });
      break;
    case DType::i64:
      copy(std::int64_t{}, cast);
      break;
    case DType::i32:
      copy(std::int32_t{}, cast);
      break;
    default:
      raise_type(std::string(name_) + ": dtype " + std::string(rotary::name(dtype_)) +
                 ", expected f64, f32, f16 or bf16");
  }
  return out;
}

}  // namespace rotary::python
