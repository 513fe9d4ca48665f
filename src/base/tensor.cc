// SPDX-License-Identifier: Apache-2.0
#include <rotary/tensor.hpp>

#include "base/names.hpp"

namespace rotary {
namespace {

constexpr std::string_view layout_names[] = {"bthd", "bhtd", "thd"};

/// Wraps instead of overflowing; the shape's user checks the extents before any memory is touched.
std::int64_t wrapping_mul(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace

std::string_view name(Layout layout) noexcept { return impl::name_at(layout_names, layout); }

std::optional<Layout> layout_from_name(std::string_view word) noexcept {
  return impl::find_name<Layout>(layout_names, word);
}

HeadsShape HeadsShape::contiguous(Layout layout, DType dtype, std::int64_t batch, std::int64_t tokens,
                                  std::int64_t heads, std::int64_t head_dim) noexcept {
  HeadsShape shape{.dtype = dtype, .batch = batch, .tokens = tokens, .heads = heads, .head_dim = head_dim};
  const bool heads_outside = layout == Layout::bhtd;
  shape.head_stride = heads_outside ? wrapping_mul(tokens, head_dim) : head_dim;
  shape.token_stride = heads_outside ? head_dim : wrapping_mul(heads, head_dim);
  shape.batch_stride = wrapping_mul(wrapping_mul(tokens, heads), head_dim);
  return shape;
}

}  // namespace rotary
