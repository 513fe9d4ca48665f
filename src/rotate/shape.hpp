// SPDX-License-Identifier: Apache-2.0
// Shapes as every call looks at them: small functions that the compiler can put in line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <rotary/rotate.hpp>

namespace rotary::impl {

/// As operator==, without a branch for every number.
inline bool same_shape(const HeadsShape& a, const HeadsShape& b) noexcept {
  return (a.dtype == b.dtype) &
         (((a.batch ^ b.batch) | (a.tokens ^ b.tokens) | (a.heads ^ b.heads) | (a.head_dim ^ b.head_dim) |
           (a.batch_stride ^ b.batch_stride) | (a.token_stride ^ b.token_stride) |
           (a.head_stride ^ b.head_stride) | (a.lane_stride ^ b.lane_stride)) == 0);
}

/// Goes through the stage instead of turning where it lies.
inline bool is_staged(const Operand& x) noexcept {
  return x.in.shape.dtype != x.out.shape.dtype || !x.options.empty();
}

inline bool empty(const HeadsShape& s) noexcept {
  return s.batch == 0 || s.tokens == 0 || s.heads == 0 || s.head_dim == 0;
}

/// Elements from the first to the lowest in memory and past the highest.
struct Reach {
  std::int64_t low = 0, high = 1;
};

/// The shape is addressable and not empty.
inline Reach reach_of(const HeadsShape& s) noexcept {
  Reach reach;
  const auto add = [&](std::int64_t extent, std::int64_t stride) {
    const std::int64_t far = (extent - 1) * stride;
    reach.low += far < 0 ? far : 0;
    reach.high += far < 0 ? 0 : far;
  };
  add(s.batch, s.batch_stride);
  add(s.tokens, s.token_stride);
  add(s.heads, s.head_stride);
  add(s.head_dim, s.lane_stride);
  return reach;
}

/// The stride of an axis of one element means nothing and may be any number, too large to step by even once.
inline std::int64_t step(std::int64_t extent, std::int64_t stride) noexcept {
  return extent > 1 ? stride : 0;
}

/// In place: the same elements, whatever stride an axis of one is said to have (one token in bthd and in bhtd).
inline bool same_view(const Operand& x) noexcept {
  const auto stepped = [](HeadsShape s) {
    s.batch_stride = step(s.batch, s.batch_stride);
    s.token_stride = step(s.tokens, s.token_stride);
    s.head_stride = step(s.heads, s.head_stride);
    s.lane_stride = step(s.head_dim, s.lane_stride);
    return s;
  };
  return x.in.data == x.out.data && same_shape(stepped(x.in.shape), stepped(x.out.shape));
}

/// A lane of the first head of a token; `size`: of an element, bytes.
inline const std::byte* at(const void* data, const HeadsShape& s, std::int64_t size, std::int64_t row,
                           std::int64_t token, std::int64_t lane) noexcept {
  return static_cast<const std::byte*>(data) +
         (row * s.batch_stride + token * s.token_stride + lane * step(s.head_dim, s.lane_stride)) * size;
}
inline std::byte* at(void* data, const HeadsShape& s, std::int64_t size, std::int64_t row, std::int64_t token,
                     std::int64_t lane) noexcept {
  return const_cast<std::byte*>(at(static_cast<const void*>(data), s, size, row, token, lane));
}

}  // namespace rotary::impl
