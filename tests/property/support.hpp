// SPDX-License-Identifier: Apache-2.0
// Random ropes, shapes, strides and positions for the laws. Sizes and positions are drawn by rapidcheck, so a
// failure prints and shrinks them; the elements come from a drawn seed.
#pragma once

#include <gtest/gtest.h>

#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <rotary/kernels.hpp>
#include <string>
#include <utility>

#include "support/tensor.hpp"

namespace rotary {

inline void showValue(DType dtype, std::ostream& out) { out << name(dtype); }
inline void showValue(Pairing pairing, std::ostream& out) { out << name(pairing); }
inline void showValue(Direction direction, std::ostream& out) { out << name(direction); }
inline void showValue(AnglePolicy policy, std::ostream& out) { out << name(policy); }

}  // namespace rotary

namespace rotary::testing {

/// Each number of [low, high] as likely as another, whatever the size rapidcheck is at.
inline rc::Gen<std::int64_t> uniform(std::int64_t low, std::int64_t high) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
}
inline std::int64_t draw(const std::string& what, std::int64_t low, std::int64_t high) {
  return *uniform(low, high).as(what);
}
inline bool draw_chance(const std::string& what, int percent) { return draw(what, 0, 99) < percent; }
inline std::uint64_t draw_seed() {
  return *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()).as("seed");
}
template <class T>
T draw_one(const std::string& what, std::initializer_list<T> of) {
  return *rc::gen::elementOf(std::vector<T>(of)).as(what);
}

/// Positions over the whole range, four in five beyond 500.
inline rc::Gen<std::int64_t> position(std::int64_t limit = std::int64_t{1} << 31) {
  return rc::gen::weightedOneOf<std::int64_t>(
      {{1, uniform(-500, 500)}, {2, uniform(500, 1 << 20)}, {2, uniform(-limit, limit)}});
}
inline std::vector<std::int64_t> draw_ids(const std::string& what, std::int64_t count,
                                          std::int64_t limit = std::int64_t{1} << 31) {
  return *rc::gen::container<std::vector<std::int64_t>>(static_cast<std::size_t>(count), position(limit))
              .as(what);
}
inline Positions ids_of(const std::vector<std::int64_t>& ids, std::int64_t batch, std::int64_t tokens) {
  return Positions::ids(std::span<const std::int64_t>(ids), batch, tokens).value();
}

/// The ways to say where tokens stand.
inline Positions draw_positions(std::int64_t batch, std::int64_t tokens) {
  const auto first = *position((std::int64_t{1} << 31) - tokens).as("first position");
  switch (draw("kind of positions", 0, 4)) {
    case 0:
      return Positions::range(first, first + tokens);
    case 1:
      return Positions::spaced(static_cast<double>(first) + 0.25, 0.375, tokens).value();
    case 2:
      return Positions::offsets(draw_ids("offsets", batch, (std::int64_t{1} << 31) - tokens), tokens).value();
    case 3:
      return ids_of(draw_ids("ids of one row", tokens), 1, tokens);
    default:
      return ids_of(draw_ids("ids", batch * tokens), batch, tokens);
  }
}

struct RopeLimits {
  std::vector<Pairing> pairings = {Pairing::half_split, Pairing::interleaved, Pairing::interleaved_to_half};
  std::vector<AnglePolicy> policies = {AnglePolicy::exact, AnglePolicy::fp32, AnglePolicy::ggml};
  std::vector<Direction> directions = {Direction::forward};
  std::int64_t max_pairs = 300;
};

/// Window widths: all small ones, where vectors end unevenly, and those of real models.
inline RopeOptions draw_rope_options(const RopeLimits& limits = {}) {
  const std::int64_t wide = draw_one<std::int64_t>("usual pairs", {16, 32, 36, 48, 64, 96, 128, 300});
  const std::int64_t pairs =
      std::min(limits.max_pairs, draw_chance("usual", 30) ? wide : draw("pairs", 1, 40));
  const double base = draw_one<double>("base", {10000, 500000, 1e6, 500, 1.5});
  RopeOptions options{.spectrum = Spectrum::make({.rotary_dim = 2 * pairs, .base = base}).value(),
                      .pairing = *rc::gen::elementOf(limits.pairings).as("pairing"),
                      .rotary_offset = draw_chance("offset", 40) ? draw("rotary_offset", 1, 19) : 0,
                      .direction = *rc::gen::elementOf(limits.directions).as("direction"),
                      .policy = *rc::gen::elementOf(limits.policies).as("policy")};
  if (options.policy != AnglePolicy::ggml) {  // which wants a base, not frequencies
    const double factor = draw_one<double>("attention_factor", {1, 1, 1.3465735902799727, 0.7});
    options.spectrum = Spectrum::from_inv_freq(options.spectrum.inv_freq(), factor).value();
  }
  const std::int64_t tail = draw_chance("tail", 40) ? draw("lanes behind the window", 1, 19) : 0;
  options.head_dim = options.rotary_offset + 2 * pairs + tail;
  return options;
}
inline Rope draw_rope(const RopeLimits& limits = {}) { return Rope::make(draw_rope_options(limits)).value(); }

/// The laws that need true angles.
inline const RopeLimits exact_only = {.policies = {AnglePolicy::exact}};

inline DType draw_dtype() {
  return draw_one<DType>("dtype", {DType::f32, DType::f64, DType::f16, DType::bf16});
}

/// A dense [batch, tokens, heads, head_dim] for this rope.
inline HeadsShape draw_shape(const Rope& rope) {
  return dense(draw_dtype(), draw("batch", 1, 3), draw("tokens", 1, 5), draw("heads", 1, 3), rope.head_dim());
}
inline HeadsShape with_heads(HeadsShape shape, std::int64_t heads) {
  return dense(shape.dtype, shape.batch, shape.tokens, heads, shape.head_dim);
}

/// The same extents in any order of the axes, with gaps, turned round here and there. Lanes mostly lie side
/// by side, as vector kernels want them.
inline HeadsShape draw_strides(HeadsShape shape) {
  struct Axis {
    std::int64_t extent, *stride;
  };
  Axis axes[] = {{shape.batch, &shape.batch_stride},
                 {shape.tokens, &shape.token_stride},
                 {shape.heads, &shape.head_stride},
                 {shape.head_dim, &shape.lane_stride}};
  const bool unit = draw_chance("unit lane stride", 70);
  for (std::int64_t i = 3; i > 0; --i) std::swap(axes[i], axes[draw("axis order", 0, i)]);
  if (unit)
    std::swap(axes[0],
              *std::find_if(axes, axes + 4, [&](const Axis& a) { return a.stride == &shape.lane_stride; }));
  std::int64_t step = 1;
  for (const Axis& axis : axes) {
    const bool fixed = unit && axis.stride == &shape.lane_stride;
    if (!fixed) step += draw("gap", 0, 5);
    *axis.stride = !fixed && draw_chance("turned round", 25) ? -step : step;
    step *= axis.extent;
  }
  return shape;
}

/// Runs `body` with the name of each kernel that takes this work here.
template <class Body>
void for_each_kernel(const Rope& rope, const OperandShape& q, const OperandShape& k, Body body) {
  for (const KernelVerdict& kernel : explain_kernels(rope, q, k)) {
    if (!kernel.accepted) continue;
    RC_LOG() << "kernel " << kernel.name << '\n';
    body(kernel.name);
  }
}
template <class Body>
void for_each_kernel(const Rope& rope, const HeadsShape& q, Body body) {
  for_each_kernel(rope, q, q, body);
}

inline bool takes(std::string_view name, const Rope& rope, const HeadsShape& shape) {
  const auto kernels = explain_kernels(rope, shape, shape);
  return std::any_of(kernels.begin(), kernels.end(),
                     [&](const KernelVerdict& k) { return k.name == name && k.accepted; });
}

inline void check(const Status& status) {
  if (!status.ok()) RC_FAIL(status.message());
}

/// x rotated in place in a copy; what surrounds its elements must stay.
inline Tensor rotated(const Rope& rope, const Angles& angles, const Tensor& x,
                      const RotateOptions& options = {}) {
  Tensor out = x;
  check(rope.rotate(angles, out.heads(), options));
  RC_ASSERT(guards_untouched(x, out));
  return out;
}
inline Tensor rotated(const Rope& rope, const Positions& positions, const Tensor& x,
                      const RotateOptions& options = {}) {
  return rotated(rope, rope.angles(positions).value(), x, options);
}

/// Body over every pair of every head: (head, lanes read, lanes written, index of the pair).
template <class Body>
void for_each_pair(const Rope& rope, const HeadsShape& shape, Body body) {
  for_each_head(shape, [&](HeadIndex h) {
    for (std::int64_t i = 0; i < rope.pairs(); ++i) body(h, lanes_read(rope, i), lanes_written(rope, i), i);
  });
}

}  // namespace rotary::testing
