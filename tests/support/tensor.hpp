// SPDX-License-Identifier: Apache-2.0
// Memory of its own with one view into it, of any element type and strides. What lies around and between the
// view's elements is guard: no rotation may touch it.
#pragma once

#include <algorithm>
#include <complex>
#include <cstring>
#include <random>
#include <rotary/rope.hpp>
#include <vector>

namespace rotary::testing {

inline double load(DType dtype, const void* at) {
  switch (dtype) {
    case DType::f64:
      return *static_cast<const double*>(at);
    case DType::f32:
      return static_cast<double>(*static_cast<const float*>(at));
    case DType::f16:
      return static_cast<double>(to_float(*static_cast<const f16*>(at)));
    default:
      return static_cast<double>(to_float(*static_cast<const bf16*>(at)));
  }
}

inline void store(DType dtype, void* at, double value) {
  switch (dtype) {
    case DType::f64:
      *static_cast<double*>(at) = value;
      break;
    case DType::f32:
      *static_cast<float*>(at) = static_cast<float>(value);
      break;
    case DType::f16:
      *static_cast<f16*>(at) = to_f16(static_cast<float>(value));
      break;
    default:
      *static_cast<bf16*>(at) = to_bf16(static_cast<float>(value));
      break;
  }
}

/// Which head: [batch row, token, head].
struct HeadIndex {
  std::int64_t row, token, head;
};

struct Tensor {
  static constexpr std::int64_t guard = 64;  // elements before and behind

  HeadsShape shape;
  std::int64_t first = 0;  // of [0, 0, 0, 0], in elements
  std::vector<std::byte> memory;

  Tensor() = default;
  explicit Tensor(const HeadsShape& of) : shape(of) {
    std::int64_t low = 0, high = 0;
    const std::int64_t reach[] = {(of.batch - 1) * of.batch_stride, (of.tokens - 1) * of.token_stride,
                                  (of.heads - 1) * of.head_stride, (of.head_dim - 1) * of.lane_stride};
    for (const std::int64_t r : reach) (r < 0 ? low : high) += r;
    first = guard - low;
    memory.resize(static_cast<std::size_t>(high - low + 1 + 2 * guard) * size_of(of.dtype));
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(0x5A + 31 * i);
  }

  void* data() { return memory.data() + offset({0, 0, 0}, 0); }
  const void* data() const { return memory.data() + offset({0, 0, 0}, 0); }
  Heads heads() { return {data(), shape}; }
  ConstHeads heads() const { return {data(), shape}; }

  std::byte* at(HeadIndex h, std::int64_t lane) { return memory.data() + offset(h, lane); }
  const std::byte* at(HeadIndex h, std::int64_t lane) const { return memory.data() + offset(h, lane); }
  double get(HeadIndex h, std::int64_t lane) const { return load(shape.dtype, at(h, lane)); }
  void set(HeadIndex h, std::int64_t lane, double value) { store(shape.dtype, at(h, lane), value); }

 private:
  std::size_t offset(HeadIndex h, std::int64_t lane) const {
    return static_cast<std::size_t>(first + h.row * shape.batch_stride + h.token * shape.token_stride +
                                    h.head * shape.head_stride + lane * shape.lane_stride) *
           size_of(shape.dtype);
  }
};

inline HeadsShape dense(DType dtype, std::int64_t batch, std::int64_t tokens, std::int64_t heads,
                        std::int64_t head_dim) {
  return HeadsShape::contiguous(Layout::bthd, dtype, batch, tokens, heads, head_dim);
}

template <class Body>
void for_each_head(const HeadsShape& shape, Body body) {
  for (std::int64_t row = 0; row < shape.batch; ++row) {
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
      for (std::int64_t head = 0; head < shape.heads; ++head) body(HeadIndex{row, token, head});
    }
  }
}

/// The bits of every element of `from` into the same place of a view with the same extents.
inline void copy_elements(const Tensor& from, Tensor& to) {
  for_each_head(from.shape, [&](HeadIndex h) {
    for (std::int64_t lane = 0; lane < from.shape.head_dim; ++lane) {
      std::memcpy(to.at(h, lane), from.at(h, lane), size_of(from.shape.dtype));
    }
  });
}

/// The same elements in another arrangement.
inline Tensor arranged(const Tensor& from, const HeadsShape& shape) {
  Tensor to(shape);
  copy_elements(from, to);
  return to;
}

/// Tokens [begin, end) and heads [first, first + count) as a dense tensor of their own.
inline Tensor cut(const Tensor& from, std::int64_t begin, std::int64_t end, std::int64_t first,
                  std::int64_t count) {
  Tensor view = from;
  view.first += begin * from.shape.token_stride + first * from.shape.head_stride;
  view.shape.tokens = end - begin;
  view.shape.heads = count;
  return arranged(view, dense(from.shape.dtype, from.shape.batch, end - begin, count, from.shape.head_dim));
}
inline Tensor cut_tokens(const Tensor& from, std::int64_t begin, std::int64_t end) {
  return cut(from, begin, end, 0, from.shape.heads);
}

/// The tokens of the segments, one segment behind the other, as a dense tensor of their own.
inline Tensor take_tokens(const Tensor& from, std::span<const TokenSegment> segments) {
  std::vector<std::int64_t> index;
  for (const auto& [first, count, step] : segments) {
    for (std::int64_t i = 0; i < count; ++i) index.push_back(first + i * step);
  }
  Tensor some(dense(from.shape.dtype, from.shape.batch, static_cast<std::int64_t>(index.size()),
                    from.shape.heads, from.shape.head_dim));
  for_each_head(some.shape, [&](HeadIndex to) {
    const HeadIndex at{to.row, index[static_cast<std::size_t>(to.token)], to.head};
    for (std::int64_t lane = 0; lane < some.shape.head_dim; ++lane) {
      std::memcpy(some.at(to, lane), from.at(at, lane), size_of(some.shape.dtype));
    }
  });
  return some;
}

/// Every element has the same bits; a NaN of f32 or f64 equals any other, as the processor chooses which.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  const std::size_t size = size_of(a.shape.dtype);
  if (a.shape.batch != b.shape.batch || a.shape.tokens != b.shape.tokens || a.shape.heads != b.shape.heads ||
      a.shape.head_dim != b.shape.head_dim || a.shape.dtype != b.shape.dtype) {
    return false;
  }
  bool same = true;
  for_each_head(a.shape, [&](HeadIndex h) {
    for (std::int64_t lane = 0; same && lane < a.shape.head_dim; ++lane) {
      same = std::memcmp(a.at(h, lane), b.at(h, lane), size) == 0 ||
             (size >= 4 && std::isnan(a.get(h, lane)) && std::isnan(b.get(h, lane)));
    }
  });
  return same;
}

/// Nothing but the view's elements differs between the two states of one memory.
inline bool guards_untouched(const Tensor& before, const Tensor& after) {
  Tensor expected = before;
  copy_elements(after, expected);
  return expected.memory == after.memory;
}

enum class Values {
  moderate,  ///< normal numbers around 1: nothing overflows, little is subnormal
  any,       ///< among them every bit pattern: infinities, NaNs, subnormals, the largest
};

inline void fill(Tensor& x, std::uint64_t seed, Values values = Values::moderate) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for_each_head(x.shape, [&](HeadIndex h) {
    for (std::int64_t lane = 0; lane < x.shape.head_dim; ++lane) {
      if (values == Values::any && random() % 8 == 0) {
        const std::uint64_t bits = random();
        std::memcpy(x.at(h, lane), &bits, size_of(x.shape.dtype));
      } else {
        x.set(h, lane, normal(random));
      }
    }
  });
}

inline Tensor random_tensor(const HeadsShape& shape, std::uint64_t seed, Values values = Values::moderate) {
  Tensor x(shape);
  fill(x, seed, values);
  return x;
}

/// The lanes of pair i within a head.
struct PairLanes {
  std::int64_t x, y;
};
inline PairLanes lanes(bool adjacent, const Rope& rope, std::int64_t i) {
  const std::int64_t begin = rope.rotary_offset();
  return adjacent ? PairLanes{begin + 2 * i, begin + 2 * i + 1}
                  : PairLanes{begin + i, begin + i + rope.pairs()};
}
inline bool turns_back(const Rope& rope) {
  return rope.direction() == Direction::inverse || rope.direction() == Direction::gradient;
}
inline PairLanes lanes_read(const Rope& rope, std::int64_t i) {
  return lanes(rope.pairing() == Pairing::interleaved ||
                   (rope.pairing() == Pairing::interleaved_to_half && !turns_back(rope)),
               rope, i);
}
inline PairLanes lanes_written(const Rope& rope, std::int64_t i) {
  return lanes(rope.pairing() == Pairing::interleaved ||
                   (rope.pairing() == Pairing::interleaved_to_half && turns_back(rope)),
               rope, i);
}

/// A pair as x + iy.
inline std::complex<double> pair(const Tensor& x, HeadIndex h, PairLanes at) {
  return {x.get(h, at.x), x.get(h, at.y)};
}

/// Half a step of the element type below 1.
inline double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f32:
      return 0x1p-24;
    case DType::f16:
      return 0x1p-11;
    default:
      return 0x1p-8;
  }
}

/// How far a rotated pair may be from the real one, given the length it should have. Of the length: one
/// rounding at the store; in the type that computes one of the inner product, one of the sum, and the rows'
/// own error (3.0e-8 each of cos and sin, half a roundoff; 2e-16 in f64, but only where the policy is not an
/// fp32 one). f16 also rounds subnormals to 2^-24.
inline double rotation_error(const Rope& rope, DType dtype, double length) {
  const bool fp32_rows = rope.policy() == AnglePolicy::fp32 || rope.policy() == AnglePolicy::ggml;
  const double compute = dtype == DType::f64 && !fp32_rows ? 0x1p-53 : 0x1p-24;
  return (unit_roundoff(dtype) + 4 * compute) * length + (dtype == DType::f16 ? 0x1p-24 : 0);
}

}  // namespace rotary::testing
