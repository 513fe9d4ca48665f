// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/stage.hpp"

#include <cmath>
#include <type_traits>

#include "kernels/reference/elements.hpp"

namespace rotary::impl {
namespace {

template <class Real>
void norm_head(const LoadArgs& args, Real* head) noexcept {
  Real sums[norm_sums] = {};
  for (std::int64_t i = 0; i < args.block.head_dim; ++i) {
    Real& sum = sums[i % norm_sums];
    sum = std::fma(head[i], head[i], sum);
  }
  for (std::int64_t width = norm_sums / 2; width > 0; width /= 2) {
    for (std::int64_t j = 0; j < width; ++j) sums[j] += sums[j + width];
  }
  const Real mean = sums[0] / static_cast<Real>(args.block.head_dim);
  const Real r = Real(1) / std::sqrt(mean + static_cast<Real>(args.epsilon));
  const auto* weight = static_cast<const Real*>(args.weight);
  for (std::int64_t i = 0; i < args.block.head_dim; ++i) {
    head[i] *= r;
    if (weight != nullptr) head[i] *= weight[i];
  }
}

template <class Element>
void load_heads(const LoadArgs& args) noexcept {
  using Real = std::conditional_t<std::is_same_v<Element, double>, double, float>;
  const StageBlock& b = args.block;
  for (std::int64_t token = 0; token < b.tokens; ++token) {
    for (std::int64_t head = 0; head < b.heads; ++head) {
      const Element* in =
          static_cast<const Element*>(args.in) + token * b.token_stride + head * b.head_stride;
      Real* to = static_cast<Real*>(args.stage) + token * b.stage_token_stride + head * b.stage_head_stride;
      for (std::int64_t i = 0; i < b.head_dim; ++i) to[i] = load(in[i * b.lane_stride]);
      if (args.norm) norm_head(args, to);
    }
  }
}

template <class Element, class Real>
void put(Element& out, Real value, Overflow overflow) noexcept {
  if constexpr (std::is_same_v<Element, f8_e4m3>) {
    out = to_f8_e4m3(to_odd_float(value), overflow);
  } else if constexpr (std::is_same_v<Element, f8_e5m2>) {
    out = to_f8_e5m2(to_odd_float(value), overflow);
  } else if constexpr (std::is_same_v<Element, std::int8_t>) {
    out = to_i8(to_odd_float(value));
  } else {
    store(out, value);
  }
}

template <class Element, class Real>
void store_heads(const StoreArgs& args) noexcept {
  const StageBlock& b = args.block;
  for (std::int64_t token = 0; token < b.tokens; ++token) {
    for (std::int64_t head = 0; head < b.heads; ++head) {
      Element* out = static_cast<Element*>(args.out) + token * b.token_stride + head * b.head_stride;
      const Real* from =
          static_cast<const Real*>(args.stage) + token * b.stage_token_stride + head * b.stage_head_stride;
      const Real scale = args.scales[head * args.scale_stride];
      for (std::int64_t i = 0; i < b.head_dim; ++i)
        put(out[i * b.lane_stride], from[i] * scale, args.overflow);
    }
  }
}

template <class Real>
void store_any(const StoreArgs& args) noexcept {
  switch (args.dtype) {
    case DType::f64:
      return store_heads<double, Real>(args);
    case DType::f32:
      return store_heads<float, Real>(args);
    case DType::f16:
      return store_heads<f16, Real>(args);
    case DType::bf16:
      return store_heads<bf16, Real>(args);
    case DType::f8_e4m3:
      return store_heads<f8_e4m3, Real>(args);
    case DType::f8_e5m2:
      return store_heads<f8_e5m2, Real>(args);
    case DType::i8:
      return store_heads<std::int8_t, Real>(args);
    default:
      return;
  }
}

}  // namespace

void load_scalar(const LoadArgs& args) noexcept {
  switch (args.dtype) {
    case DType::f64:
      return load_heads<double>(args);
    case DType::f32:
      return load_heads<float>(args);
    case DType::f16:
      return load_heads<f16>(args);
    case DType::bf16:
      return load_heads<bf16>(args);
    default:
      return;
  }
}

void store_scalar(const StoreArgs& args) noexcept {
  args.wide ? store_any<double>(args) : store_any<float>(args);
}

}  // namespace rotary::impl
