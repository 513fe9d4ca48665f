// SPDX-License-Identifier: Apache-2.0
#include "attention/check.hpp"

#include <cmath>
#include <utility>

#include "base/message.hpp"
#include "rotate/overlap.hpp"

namespace rotary::impl {

bool empty(const HeadsShape& shape) noexcept {
  return shape.batch == 0 || shape.tokens == 0 || shape.heads == 0 || shape.head_dim == 0;
}

namespace {

Status check_strides(std::string_view name, const HeadsShape& shape) {
  if (empty(shape) || addressable(shape)) return {};
  return invalid(name, ": these strides reach beyond 2^63 bytes");
}

/// A view that the rotation does not check: v and out.
Status check_view(std::string_view name, const ConstHeads& x, const HeadsShape& expected) {
  const HeadsShape& shape = x.shape;
  if (shape.dtype != expected.dtype || shape.batch != expected.batch || shape.tokens != expected.tokens ||
      shape.heads != expected.heads || shape.head_dim != expected.head_dim) {
    return invalid(name, ": ", rotary::name(shape.dtype), " [", shape.batch, ", ", shape.tokens, ", ",
                   shape.heads, ", ", shape.head_dim, "], expected ", rotary::name(expected.dtype), " [",
                   expected.batch, ", ", expected.tokens, ", ", expected.heads, ", ", expected.head_dim, "]");
  }
  if (!empty(shape) && x.data == nullptr) return invalid(name, ": null pointer");
  if (!empty(shape) && !aligned(x)) {
    return invalid(name, ": pointer is not a multiple of the ", size_of(shape.dtype), " bytes of ",
                   rotary::name(shape.dtype));
  }
  return check_strides(name, shape);
}

}  // namespace

Status check_attention(const Rope& rope, const ConstHeads& q, const ConstHeads& k, const ConstHeads& v,
                       const Heads& out, const AttentionOptions& options) {
  const HeadsShape &qs = q.shape, &ks = k.shape, &vs = v.shape;
  if (qs.dtype != DType::f32 && qs.dtype != DType::f64) {
    return failure(StatusCode::unsupported, "q: dtype ", name(qs.dtype), ", expected f32 or f64");
  }
  for (const auto& [name, shape] : {std::pair("q", &qs), std::pair("k", &ks), std::pair("v", &vs)}) {
    if (shape->batch < 0 || shape->tokens < 0 || shape->heads < 0 || shape->head_dim < 0) {
      return invalid(name, ": [", shape->batch, ", ", shape->tokens, ", ", shape->heads, ", ",
                     shape->head_dim, "]: no extent may be negative");
    }
  }
  if (qs.head_dim != rope.head_dim() || qs.head_dim == 0) {
    return invalid("q: head_dim ", qs.head_dim, ", expected the rope's ", rope.head_dim(), " and at least 1");
  }
  if (ks.dtype != qs.dtype || ks.batch != qs.batch || ks.head_dim != qs.head_dim) {
    return invalid("k: ", name(ks.dtype), " with batch ", ks.batch, " and head_dim ", ks.head_dim,
                   ", expected ", name(qs.dtype), " with batch ", qs.batch, " and head_dim ", qs.head_dim,
                   " as q");
  }
  if (ks.heads == 0 ? qs.heads != 0 : qs.heads % ks.heads != 0) {
    return invalid("q has ", qs.heads, " heads and k ", ks.heads, ": must divide evenly");
  }
  if (options.scale && !std::isfinite(*options.scale)) {
    return invalid("scale ", *options.scale, ": must be finite");
  }
  HeadsShape expected = ks;
  expected.head_dim = vs.head_dim;
  if (Status status = check_view("v", v, expected); !status.ok()) return status;
  expected = qs;
  expected.head_dim = vs.head_dim;
  if (Status status = check_view("out", out, expected); !status.ok()) return status;
  if (overlaps_itself(out.shape)) return invalid("out: these strides make elements overlap");
  for (const auto& [name, in] : {std::pair("q", &q), std::pair("k", &k), std::pair("v", &v)}) {
    if (Status status = check_strides(name, in->shape); !status.ok()) return status;
    if (!empty(in->shape) && !empty(out.shape) && overlap(*in, out)) return invalid("out overlaps ", name);
  }
  return {};
}

}  // namespace rotary::impl
