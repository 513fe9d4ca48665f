// SPDX-License-Identifier: Apache-2.0
#include "rotate/overlap.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/checked.hpp"
#include "rotate/shape.hpp"

namespace rotary::impl {
namespace {

/// A view in bytes: strides positive and falling, axes of one element dropped. Addresses wrap like pointers
/// do.
struct ByteView {
  std::uint64_t begin = 0;
  std::uint64_t element = 0;
  int axes = 0;
  std::uint64_t extent[4] = {};
  std::uint64_t stride[4] = {};
  bool empty = false;

  ByteView(const void* data, const HeadsShape& shape) noexcept
      : begin(reinterpret_cast<std::uintptr_t>(data)), element(size_of(shape.dtype)) {
    const std::int64_t extents[] = {shape.batch, shape.tokens, shape.heads, shape.head_dim};
    const std::int64_t strides[] = {shape.batch_stride, shape.token_stride, shape.head_stride,
                                    shape.lane_stride};
    for (int axis = 0; axis < 4; ++axis) {
      empty |= extents[axis] == 0;
      if (extents[axis] <= 1) continue;
      const auto count = static_cast<std::uint64_t>(extents[axis]);
      auto bytes = static_cast<std::uint64_t>(strides[axis]) * element;
      if (strides[axis] < 0) {  // start at the other end
        begin += (count - 1) * bytes;
        bytes = 0 - bytes;
      }
      int at = axes++;
      for (; at > 0 && stride[at - 1] < bytes; --at) {
        stride[at] = stride[at - 1];
        extent[at] = extent[at - 1];
      }
      stride[at] = bytes;
      extent[at] = count;
    }
  }

  /// Bytes from the first to the end of the last, over the axes from `axis` on.
  std::uint64_t span(int axis) const noexcept {
    std::uint64_t bytes = element;
    for (; axis < axes; ++axis) bytes += (extent[axis] - 1) * stride[axis];
    return bytes;
  }
};

/// Views of the axes from `ia` and `ib` on, b beginning `delta` bytes after a.
bool overlap_from(const ByteView& a, int ia, const ByteView& b, int ib, std::int64_t delta) noexcept {
  const auto span_a = static_cast<std::int64_t>(a.span(ia));
  const auto span_b = static_cast<std::int64_t>(b.span(ib));
  if (delta >= span_a || delta <= -span_b) return false;
  const std::uint64_t stride_a = ia < a.axes ? a.stride[ia] : 0;
  const std::uint64_t stride_b = ib < b.axes ? b.stride[ib] : 0;
  const std::uint64_t stride = std::max(stride_a, stride_b);
  // The axis with the larger stride repeats everything within it; the other view must fit between two
  // repeats.
  const int next_a = ia + (stride_a == stride ? 1 : 0);
  const int next_b = ib + (stride_b == stride ? 1 : 0);
  if (stride == 0 || a.span(next_a) > stride || b.span(next_b) > stride) return true;
  const auto step = static_cast<std::int64_t>(stride);
  const std::int64_t residue = ((delta % step) + step) % step;
  return overlap_from(a, next_a, b, next_b, residue) || overlap_from(a, next_a, b, next_b, residue - step);
}

/// The views' outermost bytes do not meet: what nearly every call is, and quick to see.
bool apart(const ConstHeads& a, const ConstHeads& b) noexcept {
  std::uint64_t begin[2], end[2];
  for (int i = 0; i < 2; ++i) {
    const ConstHeads& view = i == 0 ? a : b;
    const Reach reach = reach_of(view.shape);
    const std::uint64_t size = size_of(view.shape.dtype), first = reinterpret_cast<std::uintptr_t>(view.data);
    begin[i] = first + static_cast<std::uint64_t>(reach.low) * size;
    end[i] = first + static_cast<std::uint64_t>(reach.high) * size;
  }
  return end[0] <= begin[1] || end[1] <= begin[0];
}

}  // namespace

bool addressable(const HeadsShape& shape) noexcept {
  const std::int64_t extents[] = {shape.batch, shape.tokens, shape.heads, shape.head_dim};
  const std::int64_t strides[] = {shape.batch_stride, shape.token_stride, shape.head_stride,
                                  shape.lane_stride};
  const auto size = static_cast<std::int64_t>(size_of(shape.dtype));
  std::int64_t elements = size, low = 0, high = 0;
  for (int axis = 0; axis < 4; ++axis) {
    const auto more = checked_mul(elements, extents[axis]);
    if (!more) return false;
    elements = *more;
    const auto steps = checked_mul(extents[axis] - 1, strides[axis]);
    const auto bytes = steps ? checked_mul(*steps, size) : std::nullopt;
    if (!bytes) return false;
    const auto end = checked_add(*bytes < 0 ? low : high, *bytes);
    if (!end || *end == std::numeric_limits<std::int64_t>::min()) return false;
    (*bytes < 0 ? low : high) = *end;
  }
  return true;
}

bool overlaps_itself(const HeadsShape& shape) noexcept {
  const ByteView view(nullptr, shape);
  if (view.empty) return false;
  std::uint64_t inner = view.element;
  for (int axis = view.axes; axis-- > 0;) {
    if (view.stride[axis] < inner) return true;
    inner += (view.extent[axis] - 1) * view.stride[axis];
  }
  return false;
}

bool aligned(const ConstHeads& x) noexcept {
  return reinterpret_cast<std::uintptr_t>(x.data) % size_of(x.shape.dtype) == 0;
}

bool overlap(const ConstHeads& a, const ConstHeads& b) noexcept {
  if (apart(a, b)) return false;
  const ByteView view_a(a.data, a.shape), view_b(b.data, b.shape);
  if (view_a.empty || view_b.empty) return false;
  return overlap_from(view_a, 0, view_b, 0, static_cast<std::int64_t>(view_b.begin - view_a.begin));
}

}  // namespace rotary::impl
