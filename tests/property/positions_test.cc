// SPDX-License-Identifier: Apache-2.0
// Laws of positions that are put together: a table is the same whatever it is made of, and so are the bits of a
// rotation by it.
#include <rotary/multimodal.hpp>
#include <rotary/shards.hpp>

#include "support.hpp"

namespace rotary::testing {
namespace {

/// A table of any axes, rows and tokens, held as runs or as ids.
Positions draw_table(std::int64_t axes, std::int64_t batch, std::int64_t tokens) {
  std::vector<Positions> each;
  for (std::int64_t a = 0; a < axes; ++a) {
    const Positions one = draw_positions(batch, tokens);
    each.push_back(one.batch() == batch
                       ? one
                       : Positions::rows(std::vector(static_cast<std::size_t>(batch), one)).value());
  }
  return Positions::axes(each).value();
}

std::vector<Position> list(const Positions& p, std::int64_t axis, std::int64_t row) {
  std::vector<Position> all(static_cast<std::size_t>(p.tokens()));
  p.read(axis, row, 0, all);
  return all;
}

/// Body for each axis and row.
template <class Body>
void for_each_row(const Positions& p, Body body) {
  for (std::int64_t axis = 0; axis < p.axes(); ++axis) {
    for (std::int64_t row = 0; row < p.batch(); ++row) body(axis, row);
  }
}

/// A rope whose pairs follow `axes` axes, turn and turn about.
Rope draw_rope_of_axes(std::int64_t axes) {
  const std::int64_t pairs = axes * draw("pairs of an axis", 1, 20);
  std::vector<std::uint8_t> map;
  for (std::int64_t i = 0; i < pairs; ++i) map.push_back(static_cast<std::uint8_t>(i % axes));
  const auto spectrum = Spectrum::make({.rotary_dim = 2 * pairs}).value().with_axis(map).value();
  return Rope::make({.spectrum = spectrum,
                     .pairing = draw_one<Pairing>("pairing", {Pairing::half_split, Pairing::interleaved})})
      .value();
}

RC_GTEST_PROP(Table, ConcatenatedAndTakenApartIsTheSame, ()) {
  const std::int64_t axes = draw("axes", 1, 3), batch = draw("batch", 1, 3);
  std::vector<Positions> parts;
  for (std::int64_t p = draw("parts", 1, 4); p > 0; --p)
    parts.push_back(draw_table(axes, batch, draw("tokens", 1, 7)));
  const Positions whole = Positions::concatenate(parts).value();
  for_each_row(whole, [&](std::int64_t axis, std::int64_t row) {
    std::vector<Position> expected;
    for (const Positions& part : parts) {
      const auto more = list(part, axis, row);
      expected.insert(expected.end(), more.begin(), more.end());
    }
    RC_ASSERT(list(whole, axis, row) == expected);
  });
  std::int64_t begin = 0;
  for (const Positions& part : parts) {
    RC_ASSERT(whole.take(std::vector<TokenSegment>{{begin, part.tokens()}}).value() == part);
    begin += part.tokens();
  }
}

RC_GTEST_PROP(Table, TakeIsAnIndex, ()) {
  const Positions p = draw_table(draw("axes", 1, 3), draw("batch", 1, 2), draw("tokens", 1, 30));
  std::vector<TokenSegment> segments;
  std::vector<std::size_t> index;
  for (std::int64_t s = draw("segments", 0, 4); s > 0; --s) {
    const std::int64_t first = draw("first", 0, p.tokens() - 1), step = draw("step", 1, 5);
    const std::int64_t count = draw("count", 0, (p.tokens() - 1 - first) / step + 1);
    segments.push_back({first, count, step});
    for (std::int64_t i = 0; i < count; ++i) index.push_back(static_cast<std::size_t>(first + i * step));
  }
  const Positions taken = p.take(segments).value();
  for_each_row(taken, [&](std::int64_t axis, std::int64_t row) {
    const auto all = list(p, axis, row), some = list(taken, axis, row);
    RC_ASSERT(some.size() == index.size());
    for (std::size_t i = 0; i < index.size(); ++i) RC_ASSERT(some[i] == all[index[i]]);
  });
}

RC_GTEST_PROP(Table, AGridIsEveryCell, ()) {
  const std::int64_t t = draw("t", 1, 4), h = draw("h", 1, 4), w = draw("w", 1, 4);
  const Positions at[] = {draw_positions(1, t), draw_positions(1, h), draw_positions(1, w)};
  const Positions grid = Positions::grid(at).value();
  for (std::int64_t token = 0; token < t * h * w; ++token) {
    const std::int64_t cell[] = {token / (h * w), token / w % h, token % w};
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      RC_ASSERT(grid.at(axis, 0, token) == at[axis].at(0, 0, cell[axis]));
    }
  }
}

RC_GTEST_PROP(Table, ShiftedThereAndBack, ()) {
  const std::int64_t axes = draw("axes", 1, 3);
  const Positions p = draw_table(axes, draw("batch", 1, 2), draw("tokens", 1, 9));
  const auto by = draw_ids("by", axes);
  std::vector<std::int64_t> back;
  for (const std::int64_t b : by) back.push_back(-b);
  const Positions moved = p.shifted(by).value();
  RC_ASSERT(moved.shifted(back).value() == p);
  for_each_row(p, [&](std::int64_t axis, std::int64_t row) {
    RC_ASSERT(moved.at(axis, row, 0).whole - p.at(axis, row, 0).whole == by[static_cast<std::size_t>(axis)]);
  });
}

/// Packed documents of several axes, each of a length that the ranks divide.
struct Packed {
  std::vector<std::int64_t> cu_seqlens{0};
  std::vector<Positions> documents;
};
Packed draw_documents(std::int64_t axes, std::int64_t unit) {
  Packed packed;
  for (std::int64_t d = draw("documents", 1, 4); d > 0; --d) {
    packed.documents.push_back(draw_table(axes, 1, unit * draw("units", 0, 3)));
    packed.cu_seqlens.push_back(packed.cu_seqlens.back() + packed.documents.back().tokens());
  }
  return packed;
}
RC_GTEST_PROP(Shards, OfAllRanksAreTheSequenceToTheBit, ()) {
  const std::int64_t axes = draw("axes", 1, 3), ranks = draw("ranks", 1, 4);
  const auto how =
      draw_one<Sharding>("sharding", {Sharding::contiguous, Sharding::zigzag, Sharding::striped});
  const Packed packed = draw_documents(axes, 2 * ranks);
  const Positions whole = Positions::concatenate(packed.documents).value();
  RC_PRE(whole.tokens() > 0);
  const Rope rope = draw_rope_of_axes(axes);
  const Tensor x = random_tensor(dense(draw_dtype(), 1, whole.tokens(), 2, rope.head_dim()), draw_seed());
  const Tensor expected = rotated(rope, whole, x);
  std::vector<int> seen(static_cast<std::size_t>(whole.tokens()), 0);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const auto mine = shard(how, packed.cu_seqlens, rank, ranks).value();
    const Tensor turned = rotated(rope, whole.take(mine).value(), take_tokens(x, mine));
    RC_ASSERT(same_bits(turned, take_tokens(expected, mine)));
    RC_ASSERT(turned.shape.tokens * ranks == whole.tokens());
    for (const auto& [first, count, step] : mine) {
      for (std::int64_t i = 0; i < count; ++i) ++seen[static_cast<std::size_t>(first + i * step)];
    }
  }
  RC_ASSERT(seen == std::vector<int>(seen.size(), 1));
}

RC_GTEST_PROP(Packed, OnSeveralAxesEqualsSeparateCallsToTheBit, ()) {
  const std::int64_t axes = draw("axes", 1, 3);
  const Packed packed = draw_documents(axes, 1);
  const Positions whole = Positions::concatenate(packed.documents).value();
  RC_PRE(whole.tokens() > 0);
  const Rope rope = draw_rope_of_axes(axes);
  const Tensor x = random_tensor(dense(draw_dtype(), 1, whole.tokens(), 2, rope.head_dim()), draw_seed());
  const Tensor expected = rotated(rope, whole, x);
  for (std::size_t d = 0; d < packed.documents.size(); ++d) {
    const std::vector<TokenSegment> mine{{packed.cu_seqlens[d], packed.documents[d].tokens()}};
    RC_ASSERT(
        same_bits(rotated(rope, packed.documents[d], take_tokens(x, mine)), take_tokens(expected, mine)));
  }
}

RC_GTEST_PROP(Multimodal, DecodingAfterAnImageEqualsPrefillToTheBit, ()) {
  const auto after =
      draw_one<TextAfterVision>("text after", {TextAfterVision::largest, TextAfterVision::extent});
  MultimodalSequence prompt(after);
  for (std::int64_t part = draw("parts", 1, 4); part > 0; --part) {
    prompt.text(draw("text", 0, 5));
    if (draw_chance("vision", 60)) {
      prompt.vision(
          {.time = draw("time", 1, 3), .height = draw("height", 1, 4), .width = draw("width", 1, 4)});
    }
  }
  prompt.text(
      draw("last words", 1, 3));  // after which both rules go on from the largest position or before it
  const std::int64_t tokens = draw("decoded", 1, 3);
  const Rope rope = draw_rope_of_axes(3);
  const Tensor x =
      random_tensor(dense(draw_dtype(), 1, prompt.tokens() + tokens, 2, rope.head_dim()), draw_seed());
  // Prefill of prompt and answer at once: token n behind the prompt stands at n + rope_delta on every axis.
  const Positions answer = Positions::range(prompt.tokens(), prompt.tokens() + tokens)
                               .shifted(prompt.rope_delta())
                               .value()
                               .select_axes({0, 0, 0})
                               .value();
  const Positions whole = Positions::concatenate({prompt.positions().value(), answer}).value();
  const Tensor expected = rotated(rope, whole, x);
  const std::vector<TokenSegment> last{{prompt.tokens(), tokens}};
  RC_ASSERT(same_bits(rotated(rope, prompt.decode(tokens).value(), take_tokens(x, last)),
                      take_tokens(expected, last)));
  if (after == TextAfterVision::largest) {  // the model's own rule: as if the text simply went on
    MultimodalSequence longer = prompt;
    RC_ASSERT(longer.text(tokens).positions().value() == whole);
  }
}

}  // namespace
}  // namespace rotary::testing
