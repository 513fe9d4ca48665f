// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where the heads of a tensor lie in memory: four extents and four strides, whatever the layout.
///
///     auto q = rotary::bthd(q_data, batch, tokens, 32, 128);   // float*, f16*, bf16* or double*
///     auto k = rotary::bhtd(k_data, batch, 8, tokens, 128);
///
/// A view cut from a packed qkv row of 48 heads is the same with another stride:
///
///     q | q | ... | k | k | v | v        one token: (32 + 8 + 8) * 128 lanes
///
///     auto q = rotary::thd(qkv, tokens, 32, 128).with_token_stride(48 * 128);
///     auto k = rotary::thd(qkv + 32 * 128, tokens, 8, 128).with_token_stride(48 * 128);
#pragma once

#include <cstdint>
#include <optional>
#include <rotary/dtype.hpp>
#include <rotary/export.hpp>
#include <string_view>
#include <type_traits>

namespace rotary {

/// The order of the axes in memory, slowest first.
enum class Layout { bthd, bhtd, thd };
/// "bthd", ...
ROTARY_API std::string_view name(Layout layout) noexcept;
ROTARY_API std::optional<Layout> layout_from_name(std::string_view word) noexcept;

/// Extents and strides of [batch, tokens, heads, head_dim]. Strides count elements and may be negative.
/// Data of a C++ type that is not one of the library's, bf16 held as std::uint16_t for instance:
///
///     Heads q = {pointer, HeadsShape::contiguous(Layout::bthd, DType::bf16, batch, tokens, 32, 128)};
struct HeadsShape {
  DType dtype = DType::f32;
  std::int64_t batch = 0, tokens = 0, heads = 0, head_dim = 0;
  std::int64_t batch_stride = 0, token_stride = 0, head_stride = 0, lane_stride = 1;

  /// A contiguous [batch, tokens, heads, head_dim] in the order that `layout` names (thd: batch must be 1).
  ROTARY_API static HeadsShape contiguous(Layout layout, DType dtype, std::int64_t batch, std::int64_t tokens,
                                          std::int64_t heads, std::int64_t head_dim) noexcept;
  friend bool operator==(const HeadsShape&, const HeadsShape&) = default;
};

/// Heads that may be read.
struct ConstHeads {
  const void* data = nullptr;
  HeadsShape shape;

  ConstHeads with_batch_stride(std::int64_t elements) const noexcept {
    ConstHeads copy = *this;
    copy.shape.batch_stride = elements;
    return copy;
  }
  ConstHeads with_token_stride(std::int64_t elements) const noexcept {
    ConstHeads copy = *this;
    copy.shape.token_stride = elements;
    return copy;
  }
  ConstHeads with_head_stride(std::int64_t elements) const noexcept {
    ConstHeads copy = *this;
    copy.shape.head_stride = elements;
    return copy;
  }
};

/// Heads that may be read and written.
struct Heads {
  void* data = nullptr;
  HeadsShape shape;

  operator ConstHeads() const noexcept { return {data, shape}; }  // NOLINT: implicit

  Heads with_batch_stride(std::int64_t elements) const noexcept {
    Heads copy = *this;
    copy.shape.batch_stride = elements;
    return copy;
  }
  Heads with_token_stride(std::int64_t elements) const noexcept {
    Heads copy = *this;
    copy.shape.token_stride = elements;
    return copy;
  }
  Heads with_head_stride(std::int64_t elements) const noexcept {
    Heads copy = *this;
    copy.shape.head_stride = elements;
    return copy;
  }
};

namespace detail {
template <class T>
struct HeadsOf {
  using Type = Heads;
};
template <class T>
struct HeadsOf<const T> {
  using Type = ConstHeads;
};
}  // namespace detail

/// Contiguous [batch, tokens, heads, head_dim]; a const pointer gives ConstHeads.
template <class T>
auto bthd(T* data, std::int64_t batch, std::int64_t tokens, std::int64_t heads,
          std::int64_t head_dim) noexcept {
  return typename detail::HeadsOf<T>::Type{
      data,
      HeadsShape::contiguous(Layout::bthd, dtype_of<std::remove_const_t<T>>, batch, tokens, heads, head_dim)};
}

/// Contiguous [batch, heads, tokens, head_dim], as Transformers holds q and k.
template <class T>
auto bhtd(T* data, std::int64_t batch, std::int64_t heads, std::int64_t tokens,
          std::int64_t head_dim) noexcept {
  return typename detail::HeadsOf<T>::Type{
      data,
      HeadsShape::contiguous(Layout::bhtd, dtype_of<std::remove_const_t<T>>, batch, tokens, heads, head_dim)};
}

/// Contiguous [tokens, heads, head_dim]: packed sequences, one after the other.
template <class T>
auto thd(T* data, std::int64_t tokens, std::int64_t heads, std::int64_t head_dim) noexcept {
  return typename detail::HeadsOf<T>::Type{
      data,
      HeadsShape::contiguous(Layout::thd, dtype_of<std::remove_const_t<T>>, 1, tokens, heads, head_dim)};
}

}  // namespace rotary
