// SPDX-License-Identifier: Apache-2.0
// The RotaryEmbedding operator of ONNX: its eight node cases, whose cos and sin are random numbers, not on
// the unit circle.
#include <gtest/gtest.h>

#include "support/fixture.hpp"

namespace rotary::testing {
namespace {

struct Case {
  Rope rope;
  Positions positions;
  Tensor input, output;
};

Case read(const Fixture& file, const std::string& name) {
  const auto parameters = file.parameters(name);
  const bool flat = file.shape(name + ".input").size() == 3;
  const auto layout = flat ? Layout::bthd : Layout::bhtd;
  const auto heads = parameters.at("num_heads").get<std::int64_t>();
  Tensor input = file.heads(name + ".input", layout, heads),
         output = file.heads(name + ".output", layout, heads);
  const auto cos = file.numbers<float>(name + ".cos"), sin = file.numbers<float>(name + ".sin");
  const std::int64_t width = file.shape(name + ".cos").back();
  const bool adjacent = parameters.at("interleaved").get<int>() != 0;
  const Rope rope =
      Rope::from_table({.cos = cos, .sin = sin, .rows = std::ssize(cos) / width, .width = width},
                       {.pairing = adjacent ? Pairing::interleaved : Pairing::half_split,
                        .head_dim = input.shape.head_dim})
          .value();
  const auto rotary_dim = parameters.at("rotary_embedding_dim").get<std::int64_t>();
  EXPECT_EQ(rope.rotary_dim(), rotary_dim == 0 ? input.shape.head_dim : rotary_dim);
  // Without position ids there is one row a token of the batch.
  std::vector<std::int64_t> ids(static_cast<std::size_t>(input.shape.batch * input.shape.tokens));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
  if (file.has(name + ".position_ids")) ids = file.numbers<std::int64_t>(name + ".position_ids");
  return {rope, Positions::ids(ids, input.shape.batch, input.shape.tokens).value(), input, output};
}

TEST(Onnx, AllEightCasesOfTheOperator) {
  const Fixture file("onnx_rotary_embedding.safetensors");
  const auto names = file.names("rotary_embedding");
  ASSERT_GE(names.size(), 8U);
  int flat = 0, without_ids = 0, partial = 0, adjacent = 0;
  for (const std::string& name : names) {
    const Case c = read(file, name);
    const Tensor out = turned(c.rope, c.positions, c.input);
    double worst = 0;  // lengths change here: against the length of the input pair
    for_each_head(c.input.shape, [&](HeadIndex h) {
      for (std::int64_t i = 0; i < c.rope.pairs(); ++i) {
        const PairLanes at = lanes_written(c.rope, i);
        worst = std::max(worst,
                         std::abs(pair(out, h, at) - pair(c.output, h, at)) / std::abs(pair(c.input, h, at)));
      }
    });
    EXPECT_LT(worst, 2.5e-7) << name;
    EXPECT_TRUE(outside_kept(c.rope, c.input, out)) << name;
    EXPECT_TRUE(outside_kept(c.rope, c.output, out)) << name;
    flat += file.shape(name + ".input").size() == 3;
    without_ids += !file.has(name + ".position_ids");
    partial += c.rope.rotary_dim() < c.rope.head_dim();
    adjacent += c.rope.pairing() == Pairing::interleaved;
  }
  EXPECT_GT(flat, 0);
  EXPECT_GT(without_ids, 0);
  EXPECT_GT(partial, 0);
  EXPECT_GT(adjacent, 0);
}

TEST(Onnx, TheOtherPairingMisses) {
  const Fixture file("onnx_rotary_embedding.safetensors");
  for (const std::string& name : file.names("rotary_embedding")) {
    const Case c = read(file, name);
    const auto cos = file.numbers<float>(name + ".cos"), sin = file.numbers<float>(name + ".sin");
    const bool adjacent = c.rope.pairing() == Pairing::interleaved;
    const Rope wrong =
        Rope::from_table(
            {.cos = cos, .sin = sin, .rows = std::ssize(cos) / c.rope.pairs(), .width = c.rope.pairs()},
            {.pairing = adjacent ? Pairing::half_split : Pairing::interleaved, .head_dim = c.rope.head_dim()})
            .value();
    EXPECT_GT(worst_of_pair(wrong, turned(wrong, c.positions, c.input), c.output), 0.1) << name;
  }
}

}  // namespace
}  // namespace rotary::testing
