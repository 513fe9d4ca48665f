// SPDX-License-Identifier: Apache-2.0
#include "rotate/check.hpp"

#include <cmath>

#include "base/message.hpp"
#include "rotate/overlap.hpp"
#include "rotate/shape.hpp"

namespace rotary::impl {
namespace {

Status check_extents(std::string_view operand, const HeadsShape& shape, std::int64_t head_dim) {
  if (shape.batch < 0 || shape.tokens < 0 || shape.heads < 0) {
    return invalid(operand, ": batch ", shape.batch, ", tokens ", shape.tokens, ", heads ", shape.heads,
                   ": none may be negative");
  }
  if (shape.head_dim < 0) return invalid(operand, ": head_dim ", shape.head_dim, ": must not be negative");
  if (shape.head_dim != head_dim)
    return invalid(operand, ": head_dim ", shape.head_dim, ", expected ", head_dim);
  if (!empty(shape) && !addressable(shape)) {
    return invalid(operand, ": batch ", shape.batch, ", tokens ", shape.tokens, ", heads ", shape.heads,
                   " with these strides reach beyond 2^63 bytes");
  }
  return {};
}

Status check_output(std::string_view operand, const HeadsShape& shape, const HeadsShape& in) {
  if (!is_storable(shape.dtype)) {
    return invalid(operand, ": output of ", name(shape.dtype),
                   ", expected f64, f32, f16, bf16, f8_e4m3, f8_e5m2 or i8");
  }
  if (shape.batch != in.batch || shape.tokens != in.tokens || shape.heads != in.heads) {
    return invalid(operand, ": output of ", name(shape.dtype), " with batch ", shape.batch, ", tokens ",
                   shape.tokens, ", heads ", shape.heads, ", expected batch ", in.batch, ", tokens ",
                   in.tokens, ", heads ", in.heads, " as the input");
  }
  return {};
}

/// Heads that go through the stage must fit it.
Status check_stage(std::string_view operand, const HeadsShape& shape) {
  if (shape.head_dim <= OperandOptions::max_head_dim) return {};
  return invalid(operand, ": head_dim ", shape.head_dim, ", expected at most ", OperandOptions::max_head_dim,
                 " where heads are normed, scaled or cast");
}

/// Numbers one behind the other, as a view.
ConstHeads one_row(const void* data, DType dtype, std::int64_t count) noexcept {
  return {data, HeadsShape::contiguous(Layout::thd, dtype, 1, 1, 1, count)};
}

}  // namespace

Status check_shape(std::string_view operand, const OperandShape& shape, std::int64_t head_dim) {
  if (!is_rotatable(shape.in.dtype)) {
    return invalid(operand, ": dtype ", name(shape.in.dtype), ", expected f64, f32, f16 or bf16",
                   is_storable(shape.in.dtype) ? "; 8 bits are only written, out of place" : "");
  }
  if (Status status = check_extents(operand, shape.in, head_dim); !status.ok()) return status;
  if (!(shape.out == shape.in)) {
    if (Status status = check_output(operand, shape.out, shape.in); !status.ok()) return status;
    if (Status status = check_extents(operand, shape.out, head_dim); !status.ok()) return status;
    if (shape.out.dtype != shape.in.dtype) {
      if (Status status = check_stage(operand, shape.in); !status.ok()) return status;
    }
  }
  if (overlaps_itself(shape.out)) {
    return invalid(operand, ": output strides (batch ", shape.out.batch_stride, ", token ",
                   shape.out.token_stride, ", head ", shape.out.head_stride, ", lane ", shape.out.lane_stride,
                   ") make elements overlap");
  }
  return {};
}

bool plainly_good(const OperandShape& shape, std::int64_t head_dim) noexcept {
  const HeadsShape& s = shape.in;
  if (!same_shape(s, shape.out) || !is_rotatable(s.dtype) || s.head_dim != head_dim) return false;
  const auto within = [](std::int64_t value, std::int64_t most) { return value >= 1 && value <= most; };
  constexpr std::int64_t extent = std::int64_t{1} << 24, stride = std::int64_t{1} << 33;
  if (!within(s.batch, extent) || !within(s.tokens, extent) || !within(s.heads, extent) ||
      !within(head_dim, extent) || !within(s.token_stride, stride) || !within(s.head_stride, stride) ||
      !within(s.lane_stride, stride)) {
    return false;
  }
  const std::int64_t lanes = (head_dim - 1) * s.lane_stride + 1;
  const bool tokens_outside = s.token_stride >= s.head_stride;
  const auto inner = tokens_outside ? s.head_stride : s.token_stride;
  const auto outer = tokens_outside ? s.token_stride : s.head_stride;
  const std::int64_t inner_span = ((tokens_outside ? s.heads : s.tokens) - 1) * inner + lanes;
  const std::int64_t outer_span = ((tokens_outside ? s.tokens : s.heads) - 1) * outer + inner_span;
  const bool batch_nests = s.batch == 1 || (within(s.batch_stride, stride) && s.batch_stride >= outer_span);
  return inner >= lanes && outer >= inner_span && batch_nests;
}

Status check_pointers(std::string_view operand, const Operand& x) {
  if (x.in.data == nullptr || x.out.data == nullptr) return invalid(operand, ": null pointer");
  for (const ConstHeads& view : {x.in, ConstHeads(x.out)}) {
    if (aligned(view)) continue;
    return invalid(operand, ": pointer is not a multiple of the ", size_of(view.shape.dtype), " bytes of ",
                   name(view.shape.dtype));
  }
  if (!same_view(x) && overlap(x.in, x.out)) {
    return invalid(operand, ": output overlaps the input without being the same view");
  }
  return {};
}

Status check_options(std::string_view operand, const Operand& x) {
  const OperandOptions& around = x.options;
  if (around.overflow > Overflow::special)
    return invalid(operand, ": overflow: must be one of the library's");
  if (around.empty()) return {};
  if (Status status = check_stage(operand, x.in.shape); !status.ok()) return status;
  if (!std::isfinite(around.scale)) {
    return invalid(operand, ": scale ", around.scale, ", expected a finite number");
  }
  if (around.head_scales.data() != nullptr) {
    if (around.scale != 1) {
      return invalid(operand, ": scale ", around.scale, " and head_scales, expected one of them");
    }
    if (static_cast<std::int64_t>(around.head_scales.size()) != x.in.shape.heads) {
      return invalid(operand, ": ", around.head_scales.size(), " head_scales, expected one for each of ",
                     x.in.shape.heads, " heads");
    }
    for (std::size_t head = 0; head < around.head_scales.size(); ++head) {
      if (std::isfinite(around.head_scales[head])) continue;
      return invalid(operand, ": head_scales[", head, "] ", around.head_scales[head],
                     ", expected a finite number");
    }
  }
  if (!around.norm) return {};
  const RmsNorm& norm = *around.norm;
  if (!std::isfinite(norm.epsilon) || norm.epsilon < 0) {
    return invalid(operand, ": norm: epsilon ", norm.epsilon, ", expected a finite number, 0 or more");
  }
  if (norm.plus > RmsNorm::one_plus_weight) {
    return invalid(operand, ": norm: as_given or one_plus_weight, expected one of the library's");
  }
  if (!norm.weighted) return {};
  const bool wide = x.in.shape.dtype == DType::f64;
  if (!is_rotatable(norm.dtype) || (norm.dtype == DType::f64 && !wide)) {
    return invalid(operand, ": norm: weight of ", name(norm.dtype), ", expected ", wide ? "f64, " : "",
                   "f32, f16 or bf16");
  }
  if (norm.weight == nullptr) {
    return invalid(operand, ": norm: null weight; RmsNorm::without_weight has none");
  }
  if (!aligned(one_row(norm.weight, norm.dtype, x.in.shape.head_dim))) {
    return invalid(operand, ": norm: weight is not a multiple of the ", size_of(norm.dtype), " bytes of ",
                   name(norm.dtype));
  }
  return {};
}

Status check_overwritten(std::string_view operand, const Operand& x, std::string_view writer,
                         const Heads& out) {
  const OperandOptions& around = x.options;
  const std::string_view of = writer == operand ? "" : " of ", other = writer == operand ? "" : writer;
  if (around.norm && around.norm->weighted &&
      overlap(one_row(around.norm->weight, around.norm->dtype, x.in.shape.head_dim), out)) {
    return invalid(operand, ": norm: output", of, other, " overlaps the weight");
  }
  if (around.head_scales.data() != nullptr &&
      overlap(one_row(around.head_scales.data(), DType::f32, x.in.shape.heads), out)) {
    return invalid(operand, ": head_scales: output", of, other, " overlaps them");
  }
  return {};
}

}  // namespace rotary::impl
