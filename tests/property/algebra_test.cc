// SPDX-License-Identifier: Apache-2.0
// What makes a rotation a rotation, within the rounding of the element type, for every kernel. Errors are
// measured against the length of the pair.
#include "support.hpp"

namespace rotary::testing {
namespace {

using Complex = std::complex<double>;
constexpr std::int64_t half_range = std::int64_t{1} << 30;  // so that sums stay within 2^31

RC_GTEST_PROP(Law, ScoreDependsOnTheDistanceAlone, ()) {
  const Rope rope = draw_rope(exact_only);
  const HeadsShape shape = draw_shape(rope);
  const double a = rope.spectrum().attention_factor();
  const std::int64_t count = shape.batch * shape.tokens;
  const auto here = draw_ids("position", count, half_range), there = draw_ids("other", count, half_range);
  const auto distance = draw_ids("distance", count, half_range);
  const auto moved = [&](std::vector<std::int64_t> ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] += distance[i];
    return ids_of(ids, shape.batch, shape.tokens);
  };
  const std::uint64_t seed = draw_seed();
  const Tensor q = random_tensor(shape, seed), k = random_tensor(shape, seed + 1);
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    const Tensor q1 = rotated(rope, ids_of(here, shape.batch, shape.tokens), q, {.kernel = kernel});
    const Tensor q2 = rotated(rope, ids_of(there, shape.batch, shape.tokens), q, {.kernel = kernel});
    const Tensor k1 = rotated(rope, moved(here), k, {.kernel = kernel});
    const Tensor k2 = rotated(rope, moved(there), k, {.kernel = kernel});
    double score = 0, bound = 0;
    for_each_pair(rope, shape, [&](HeadIndex h, PairLanes read, PairLanes written, std::int64_t) {
      const auto dot = [&](const Tensor& x, const Tensor& y) {
        return (std::conj(pair(x, h, written)) * pair(y, h, written)).real();
      };
      const double lq = a * std::abs(pair(q, h, read)), lk = a * std::abs(pair(k, h, read));
      const double eq = rotation_error(rope, shape.dtype, lq), ek = rotation_error(rope, shape.dtype, lk);
      const double difference = dot(q1, k1) - dot(q2, k2);
      const double allowed = 2 * (lq * ek + lk * eq + eq * ek) + 0x1p-50 * lq * lk;
      RC_ASSERT(std::abs(difference) <= allowed);
      score += difference;
      bound += allowed;
    });
    RC_ASSERT(std::abs(score) <= bound);
  });
}

RC_GTEST_PROP(Law, EachPairKeepsItsLengthTimesTheAttentionFactor, ()) {
  const Rope rope = draw_rope();
  const HeadsShape shape = draw_shape(rope);
  const double a = rope.spectrum().attention_factor();
  const Positions positions = draw_positions(shape.batch, shape.tokens);
  const Tensor x = random_tensor(shape, draw_seed());
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    const Tensor out = rotated(rope, positions, x, {.kernel = kernel});
    for_each_pair(rope, shape, [&](HeadIndex h, PairLanes read, PairLanes written, std::int64_t) {
      const double length = a * std::abs(pair(x, h, read));
      RC_ASSERT(std::abs(std::abs(pair(out, h, written)) - length) <=
                rotation_error(rope, shape.dtype, length));
    });
  });
}

/// The window of `after` is back at `before`, after two rotations of pairs as long as theirs.
void assert_restored(const Rope& rope, const Tensor& before, const Tensor& after) {
  for_each_pair(rope, before.shape, [&](HeadIndex h, PairLanes read, PairLanes, std::int64_t) {
    const Complex x = pair(before, h, read);
    const double allowed = 2 * rotation_error(rope, before.shape.dtype, std::abs(x));
    RC_ASSERT(std::abs(pair(after, h, read) - x) <= 1.5 * allowed);  // up to 1 / 0.7 where A divides
  });
}

RC_GTEST_PROP(Law, InverseUndoesForward, ()) {
  const Rope rope = draw_rope({.directions = {Direction::forward, Direction::inverse, Direction::gradient,
                                              Direction::inverse_gradient}});
  const HeadsShape shape = draw_shape(rope);
  const Positions positions = draw_positions(shape.batch, shape.tokens);
  const Tensor x = random_tensor(shape, draw_seed());
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    const Angles angles = rope.angles(positions).value();
    const Tensor there = rotated(rope, angles, x, {.kernel = kernel});
    assert_restored(rope, x, rotated(rope.inverse(), angles, there, {.kernel = kernel}));
  });
}

RC_GTEST_PROP(Law, InverseUndoesAnyTable, ()) {
  const std::int64_t pairs = draw("pairs", 1, 40), rows = draw("rows", 1, 9);
  std::mt19937_64 random(draw_seed());
  std::uniform_real_distribution<double> length(0.7, 1.4), turn(-3.2, 3.2);
  std::vector<float> cos, sin;
  for (std::int64_t i = 0; i < pairs * rows; ++i) {
    const Complex z = std::polar(length(random), turn(random));
    cos.push_back(static_cast<float>(z.real()));
    sin.push_back(static_cast<float>(z.imag()));
  }
  const Rope rope =
      Rope::from_table({.cos = cos, .sin = sin, .rows = rows, .width = pairs},
                       {.pairing = draw_one("pairing", {Pairing::half_split, Pairing::interleaved})})
          .value();
  const Tensor x = random_tensor(dense(draw_dtype(), 1, rows, 2, rope.head_dim()), random());
  const Angles angles = rope.angles(Positions::range(0, rows)).value();
  for_each_kernel(rope, x.shape, [&](std::string_view kernel) {
    const Tensor there = rotated(rope, angles, x, {.kernel = kernel});
    assert_restored(rope, x, rotated(rope.inverse(), angles, there, {.kernel = kernel}));
  });
}

RC_GTEST_PROP(Law, GradientIsTheTranspose, ()) {
  const Rope rope = draw_rope({.directions = {Direction::forward, Direction::inverse}});
  const HeadsShape shape = draw_shape(rope);
  const Positions positions = draw_positions(shape.batch, shape.tokens);
  const std::uint64_t seed = draw_seed();
  const Tensor x = random_tensor(shape, seed), y = random_tensor(shape, seed + 1);
  const double factor = rope.spectrum().attention_factor();
  const double a = rope.direction() == Direction::forward ? factor : 1 / factor;
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    const Angles angles = rope.angles(positions).value();
    const Tensor rx = rotated(rope, angles, x, {.kernel = kernel});
    const Tensor ry = rotated(rope.gradient(), angles, y, {.kernel = kernel});
    for_each_pair(rope, shape, [&](HeadIndex h, PairLanes read, PairLanes written, std::int64_t) {
      const Complex x_in = pair(x, h, read), y_in = pair(y, h, written);
      const double left = (std::conj(pair(rx, h, written)) * y_in).real();
      const double right = (std::conj(x_in) * pair(ry, h, read)).real();
      const double lx = std::abs(x_in), ly = std::abs(y_in);
      RC_ASSERT(std::abs(left - right) <= ly * rotation_error(rope, shape.dtype, a * lx) +
                                              lx * rotation_error(rope, shape.dtype, a * ly) +
                                              0x1p-50 * lx * ly);
    });
  });
}

RC_GTEST_PROP(Law, PositionsAdd, ()) {
  RopeLimits limits = exact_only;
  limits.pairings = {Pairing::half_split, Pairing::interleaved};  // the other changes the lane order
  const Rope rope = draw_rope(limits);
  const HeadsShape shape = draw_shape(rope);
  const double a = rope.spectrum().attention_factor();
  const std::int64_t count = shape.batch * shape.tokens;
  const auto p = draw_ids("p", count, half_range), q = draw_ids("q", count, half_range);
  auto sum = p;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += q[i];
  const Tensor x = random_tensor(shape, draw_seed());
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    const auto turned = [&](const std::vector<std::int64_t>& ids, const Tensor& from) {
      return rotated(rope, ids_of(ids, shape.batch, shape.tokens), from, {.kernel = kernel});
    };
    const Tensor twice = turned(q, turned(p, x)), once = turned(sum, x);
    for_each_pair(rope, shape, [&](HeadIndex h, PairLanes read, PairLanes written, std::int64_t) {
      const double length = a * std::abs(pair(x, h, read));
      RC_ASSERT(std::abs(pair(twice, h, written) - a * pair(once, h, written)) <=
                3 * rotation_error(rope, shape.dtype, a * length) * std::max(1.0, a));
    });
  });
}

// Steps of 2^-21 are exact in a double beside any position to 2^31.
RC_GTEST_PROP(Law, ASmallStepInPositionIsAProportionalStepInAngle, ()) {
  RopeLimits limits = exact_only;
  limits.max_pairs = 40;
  const Rope rope = draw_rope(limits);
  const double a = rope.spectrum().attention_factor();
  const std::int64_t denominator = std::int64_t{1} << 21;
  const auto start = *position().as("whole position");
  const double p = static_cast<double>(start) +
                   static_cast<double>(draw("fraction * 2^21", 1 - denominator, denominator - 1)) * 0x1p-21;
  const double step = static_cast<double>(draw_chance("tiny", 50) ? draw("step * 2^21", 1, 16)
                                                                  : draw("step * 2^21", 1, denominator)) *
                      0x1p-21;
  const double both[] = {p, p + step};
  const Angles angles = rope.angles(Positions::ids(std::span<const double>(both)).value()).value();
  const auto pairs = static_cast<std::size_t>(rope.pairs());
  const auto steps_in_proportion = [&](auto number, double row_error) {
    using Number = decltype(number);
    std::vector<Number> cos(2 * pairs), sin(2 * pairs);
    for (std::int64_t t = 0; t < 2; ++t) {
      const auto begin = static_cast<std::size_t>(t) * pairs;
      check(angles.row(0, t, std::span(cos).subspan(begin, pairs), std::span(sin).subspan(begin, pairs)));
    }
    for (std::size_t i = 0; i < pairs; ++i) {
      const Complex before(static_cast<double>(cos[i]), static_cast<double>(sin[i]));
      const Complex after(static_cast<double>(cos[pairs + i]), static_cast<double>(sin[pairs + i]));
      const double turned = std::arg(after * std::conj(before));
      RC_ASSERT(std::abs(turned - step * rope.spectrum().inv_freq()[i]) <= 2 * row_error);
    }
  };
  steps_in_proportion(0.0, 6e-16);  // sqrt 2 * 2e-16 each, and the arithmetic of this test
  steps_in_proportion(0.0F, 6e-8);  // sqrt 2 * 3e-8, and A's rounding

  const HeadsShape shape = dense(draw_dtype(), 1, 1, 2, rope.head_dim());
  const Tensor x = random_tensor(shape, draw_seed());
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    const auto at = [&](const double& id) {
      return rotated(rope, Positions::ids(std::span<const double>(&id, 1)).value(), x, {.kernel = kernel});
    };
    const Tensor before = at(both[0]), after = at(both[1]);
    for_each_pair(rope, shape, [&](HeadIndex h, PairLanes read, PairLanes written, std::int64_t i) {
      const double length = a * std::abs(pair(x, h, read));
      const double chord = 2 * std::sin(step * rope.spectrum().inv_freq()[static_cast<std::size_t>(i)] / 2);
      const double moved = std::abs(pair(after, h, written) - pair(before, h, written));
      RC_ASSERT(std::abs(moved - chord * length) <= 2 * rotation_error(rope, shape.dtype, length));
    });
  });
}

/// Half-split lane i + pairs j is interleaved lane 2i + j.
Tensor reordered(const Rope& rope, const Tensor& x) {
  Tensor to = x;
  for_each_head(x.shape, [&](HeadIndex h) {
    for (std::int64_t i = 0; i < rope.pairs(); ++i) {
      const PairLanes from = lanes(false, rope, i), at = lanes(true, rope, i);
      std::memcpy(to.at(h, at.x), x.at(h, from.x), size_of(x.shape.dtype));
      std::memcpy(to.at(h, at.y), x.at(h, from.y), size_of(x.shape.dtype));
    }
  });
  return to;
}

RC_GTEST_PROP(Law, PairingsAreEqualAfterTheLaneOrderToTheBit, ()) {
  RopeOptions options = draw_rope_options({.directions = {Direction::forward, Direction::inverse}});
  const auto with = [&](Pairing pairing) {
    options.pairing = pairing;
    return Rope::make(options).value();
  };
  const Rope half = with(Pairing::half_split), adjacent = with(Pairing::interleaved);
  const Rope crossing = with(Pairing::interleaved_to_half);
  const HeadsShape shape = draw_shape(half);
  const Positions positions = draw_positions(shape.batch, shape.tokens);
  const Tensor x = random_tensor(shape, draw_seed(), Values::any);
  const bool back = options.direction == Direction::inverse;
  const Tensor y = reordered(half, x);
  for_each_kernel(half, shape, [&](std::string_view kernel) {
    const Tensor expected = rotated(half, positions, x, {.kernel = kernel});
    if (takes(kernel, adjacent, shape)) {
      const Tensor out = rotated(adjacent, positions, y, {.kernel = kernel});
      RC_ASSERT(same_bits(out, reordered(half, expected)));
    }
    if (takes(kernel, crossing, shape)) {
      const Tensor out = rotated(crossing, positions, back ? x : y, {.kernel = kernel});
      RC_ASSERT(same_bits(out, back ? reordered(half, expected) : expected));
    }
  });
}

}  // namespace
}  // namespace rotary::testing
