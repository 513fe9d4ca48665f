// SPDX-License-Identifier: Apache-2.0
// What the rotation reads and writes, to the bit: strides change nothing, and nothing outside the window
// moves.
#include "support.hpp"

namespace rotary::testing {
namespace {

const RopeLimits both_ways = {.directions = {Direction::forward, Direction::inverse}};

RC_GTEST_PROP(Memory, LanesOutsideTheWindowKeepTheirBits, ()) {
  const Rope rope = draw_rope(both_ways);
  const HeadsShape shape = draw_strides(draw_shape(rope)), out_shape = draw_strides(shape);
  const Angles angles = rope.angles(draw_positions(shape.batch, shape.tokens)).value();
  const Tensor x = random_tensor(shape, draw_seed(), Values::any);
  const auto assert_kept = [&](const Tensor& out) {
    for_each_head(shape, [&](HeadIndex h) {
      for (std::int64_t lane = 0; lane < rope.head_dim(); ++lane) {
        const bool turns = lane >= rope.rotary_offset() && lane < rope.rotary_offset() + rope.rotary_dim();
        RC_ASSERT(turns || std::memcmp(out.at(h, lane), x.at(h, lane), size_of(shape.dtype)) == 0);
      }
    });
  };
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    assert_kept(rotated(rope, angles, x, {.kernel = kernel}));
  });
  for_each_kernel(rope, {shape, out_shape}, {shape, out_shape}, [&](std::string_view kernel) {
    Tensor out(out_shape);
    const Tensor before = out;
    check(rope.rotate(angles, {x.heads(), out.heads()}, {.kernel = kernel}));
    RC_ASSERT(guards_untouched(before, out));
    assert_kept(out);
  });
}

RC_GTEST_PROP(Memory, StridedEqualsPacked, ()) {
  const Rope rope = draw_rope(both_ways);
  const HeadsShape packed = draw_shape(rope), in_shape = draw_strides(packed),
                   out_shape = draw_strides(packed);
  const Angles angles = rope.angles(draw_positions(packed.batch, packed.tokens)).value();
  const Tensor x = random_tensor(packed, draw_seed(), Values::any);
  const auto expected = [&](std::string_view kernel) { return rotated(rope, angles, x, {.kernel = kernel}); };
  for_each_kernel(rope, in_shape, [&](std::string_view kernel) {
    RC_ASSERT(same_bits(rotated(rope, angles, arranged(x, in_shape), {.kernel = kernel}), expected(kernel)));
  });
  for_each_kernel(rope, {in_shape, out_shape}, {in_shape, out_shape}, [&](std::string_view kernel) {
    const Tensor in = arranged(x, in_shape);
    Tensor out(out_shape);
    const Tensor before = out;
    check(rope.rotate(angles, {in.heads(), out.heads()}, {.kernel = kernel}));
    RC_ASSERT(guards_untouched(before, out));
    RC_ASSERT(same_bits(out, expected(kernel)));
  });
}

RC_GTEST_PROP(Memory, ViewsCutFromOnePackedQkvEqualTensorsOfTheirOwn, ()) {
  const Rope rope = draw_rope(both_ways);
  const HeadsShape q_shape = draw_shape(rope);
  const std::int64_t heads = q_shape.heads, kv_heads = draw("kv_heads", 1, 3);
  const Tensor qkv = random_tensor(with_heads(q_shape, heads + 2 * kv_heads), draw_seed(), Values::any);
  const auto part = [&](Tensor& all, std::int64_t first, std::int64_t count) {
    Heads view{all.at({0, 0, first}, 0), all.shape};
    view.shape.heads = count;
    return view;
  };
  const Positions positions = draw_positions(q_shape.batch, q_shape.tokens);
  const Angles angles = rope.angles(positions).value();
  for_each_kernel(rope, qkv.shape, [&](std::string_view kernel) {
    Tensor out = qkv;
    check(rope.rotate(angles, part(out, 0, heads), part(out, heads, kv_heads), {.kernel = kernel}));
    Tensor expected = qkv;
    check(rope.rotate(angles, part(expected, 0, heads + kv_heads), {.kernel = kernel}));
    RC_ASSERT(guards_untouched(qkv, out));
    RC_ASSERT(same_bits(out, expected));
    const auto own = [&](std::int64_t first, std::int64_t count) {
      return cut(qkv, 0, q_shape.tokens, first, count);
    };
    const auto of = [&](std::int64_t first, std::int64_t count) {
      return cut(out, 0, q_shape.tokens, first, count);
    };
    RC_ASSERT(same_bits(of(0, heads), rotated(rope, angles, own(0, heads), {.kernel = kernel})));
    RC_ASSERT(
        same_bits(of(heads, kv_heads), rotated(rope, angles, own(heads, kv_heads), {.kernel = kernel})));
    RC_ASSERT(same_bits(of(heads + kv_heads, kv_heads), own(heads + kv_heads, kv_heads)));
  });
}

RC_GTEST_PROP(Memory, InPlaceEqualsOutOfPlaceAndTheInputStays, ()) {
  const Rope rope = draw_rope(both_ways);
  const HeadsShape shape = draw_strides(draw_shape(rope));
  const Angles angles = rope.angles(draw_positions(shape.batch, shape.tokens)).value();
  const Tensor x = random_tensor(shape, draw_seed(), Values::any);
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    const Tensor in = x;
    Tensor out(shape);
    check(rope.rotate(angles, {in.heads(), out.heads()}, {.kernel = kernel}));
    RC_ASSERT(in.memory == x.memory);
    RC_ASSERT(same_bits(out, rotated(rope, angles, x, {.kernel = kernel})));
  });
}

RC_GTEST_PROP(Memory, InfinitiesAndNaNsStayInTheirPair, ()) {
  const Rope rope = draw_rope(both_ways);
  const HeadsShape shape = draw_shape(rope);
  const Angles angles = rope.angles(draw_positions(shape.batch, shape.tokens)).value();
  const Tensor x = random_tensor(shape, draw_seed());
  const HeadIndex where{draw("row", 0, shape.batch - 1), draw("token", 0, shape.tokens - 1),
                        draw("head", 0, shape.heads - 1)};
  const std::int64_t struck = draw("pair", 0, rope.pairs() - 1);
  Tensor ill = x;
  const PairLanes at = lanes_read(rope, struck);
  ill.set(where, draw_chance("x", 50) ? at.x : at.y, draw_chance("NaN", 50) ? std::nan("") : HUGE_VAL);
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    const Tensor well = rotated(rope, angles, x, {.kernel = kernel});
    Tensor out = rotated(rope, angles, ill, {.kernel = kernel});
    const PairLanes hit = lanes_written(rope, struck);
    RC_ASSERT(!std::isfinite(out.get(where, hit.x)) || !std::isfinite(out.get(where, hit.y)));
    for (const std::int64_t lane : {hit.x, hit.y}) {
      std::memcpy(out.at(where, lane), well.at(where, lane), size_of(shape.dtype));
    }
    RC_ASSERT(same_bits(out, well));
  });
}

}  // namespace
}  // namespace rotary::testing
