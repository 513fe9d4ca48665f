// SPDX-License-Identifier: Apache-2.0
// mrope.json: what Transformers' multimodal models do with the axes, from their config to cos and sin, and from
// a prompt to its position ids.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <rotary/model.hpp>
#include <rotary/multimodal.hpp>

#include "support/json.hpp"

namespace rotary {
namespace {

using nlohmann::json;

json fixture() { return testing::data_json("mrope.json"); }

TEST(MRope, PairsFollowTheAxesOfTransformers) {
  const json all = fixture();
  std::vector<Positions> at;
  for (const std::int64_t position : all.at("at")) at.push_back(Positions::range(position, position + 1));
  const Positions token = Positions::axes(at).value();
  for (const json& expected : all.at("rows")) {
    SCOPED_TRACE(expected.at("name"));
    const auto model =
        Model::from_config(expected.at("config").dump(), "config", {.policy = AnglePolicy::fp32}).value();
    const Rope& rope = model.ropes()[0].rope;
    EXPECT_EQ(name(rope.pairing()), expected.at("pairing").get<std::string>());
    const auto pairs = static_cast<std::size_t>(rope.pairs());
    ASSERT_EQ(pairs, expected.at("cos").size());
    std::vector<float> cos(pairs), sin(pairs);
    rope.angles(token).value().row(0, 0, std::span(cos), std::span(sin)).value();
    for (std::size_t i = 0; i < pairs; ++i) {
      // An ulp of an inverse frequency, at position 1203, is 1.4e-4 radians of the first pairs.
      EXPECT_NEAR(cos[i], expected.at("cos")[i].get<float>(), 2e-4) << "pair " << i;
      EXPECT_NEAR(sin[i], expected.at("sin")[i].get<float>(), 2e-4) << "pair " << i;
    }
  }
}

/// What a model's code does with a grid of patches.
struct Reading {
  std::int64_t temporal_merge = 1;  ///< of videos
  double time_step = 1;             ///< of videos
  bool frames = false;              ///< a video is an image a frame
};
Reading reading_of(const std::string& name) {
  if (name == "ernie4_5_vl") return {.temporal_merge = 2};
  if (name == "qwen2_5_vl") return {.time_step = 2 * 0.7};  // tokens a second, seconds a grid step
  return {.frames = name == "qwen3_vl" || name == "glm4v"};
}

std::vector<VisionGrid> grids(const json& of_rows, std::size_t row, const Reading& reading, bool video) {
  std::vector<VisionGrid> found;
  if (of_rows.empty()) return found;
  for (const json& patches : of_rows.at(row)) {
    VisionGrid grid = VisionGrid::of_patches(patches.get<std::array<std::int64_t, 3>>(), 2,
                                             video ? reading.temporal_merge : 1)
                          .value();
    if (video) grid.time_step = reading.time_step;
    for (const VisionGrid& part : video&& reading.frames ? grid.frames() : std::vector{grid}) {
      found.push_back(part);
    }
  }
  return found;
}

TEST(MRope, PromptsHaveTheIdsOfTransformers) {
  const json all = fixture();
  for (const auto& [name, expected] : all.at("prompts").items()) {
    SCOPED_TRACE(name);
    const Reading reading = reading_of(name);
    std::vector<Positions> rows;
    for (std::size_t row = 0; row < expected.at("types").size(); ++row) {
      const auto prompt = MultimodalSequence::from_token_types(
                              expected.at("types")[row].get<std::vector<std::int32_t>>(),
                              grids(expected.at("images"), row, reading, false),
                              grids(expected.at("videos"), row, reading, true), TextAfterVision::extent)
                              .value();
      EXPECT_EQ(prompt.rope_delta(), expected.at("deltas")[row]);
      rows.push_back(prompt.positions().value().padded(expected.at("pads")[row], 0).value());
    }
    const Positions p = Positions::rows(rows).value();
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      for (std::int64_t row = 0; row < p.batch(); ++row) {
        std::vector<std::int64_t> ids;
        for (std::int64_t t = 0; t < p.tokens(); ++t) ids.push_back(p.at(axis, row, t).whole);
        EXPECT_EQ(json(ids),
                  expected.at("ids")[static_cast<std::size_t>(axis)][static_cast<std::size_t>(row)])
            << "axis " << axis << ", row " << row;
      }
    }
  }
}

TEST(MRope, HunyuanVlCountsOnAndNumbersItsImages) {
  const json all = fixture();
  const json& expected = all.at("hunyuan_vl");
  const auto text = [](std::int64_t first, std::int64_t last) {
    return Positions::range(first, last).select_axes({0, 0, 0, 0}).value();
  };
  // Of `rows` by `columns` tokens and one more at the end of each row.
  const auto image = [](std::int64_t first, std::int64_t number, std::int64_t rows, std::int64_t columns) {
    const auto cells = Positions::grid({Positions::range(0, rows), Positions::range(0, columns + 1)}).value();
    const std::int64_t tokens = cells.tokens();
    return Positions::axes({Positions::range(first, first + tokens), cells.select_axes({1}).value(),
                            cells.select_axes({0}).value(),
                            Positions::spaced(static_cast<double>(number), 0, tokens).value()})
        .value();
  };
  const Positions p =
      Positions::concatenate({text(0, 3), image(3, 0, 2, 3), text(11, 13), image(13, 1, 1, 2), text(16, 18)})
          .value();
  for (std::int64_t axis = 0; axis < 4; ++axis) {
    std::vector<std::int64_t> ids;
    for (std::int64_t t = 0; t < p.tokens(); ++t) ids.push_back(p.at(axis, 0, t).whole);
    EXPECT_EQ(json(ids), expected.at("ids")[static_cast<std::size_t>(axis)]) << "axis " << axis;
  }
  EXPECT_EQ(expected.at("delta"), 0);
}

TEST(MRope, TextGoesOnAsInTheModelsOwnCode) {
  // Where no video is longer than wide, both rules are one.
  const json all = fixture();
  const json& expected = all.at("prompts").at("qwen2_vl");
  const auto types = expected.at("types")[1].get<std::vector<std::int32_t>>();
  const auto images = grids(expected.at("images"), 1, {}, false);
  EXPECT_EQ(MultimodalSequence::from_token_types(types, images, {}).value().positions().value(),
            MultimodalSequence::from_token_types(types, images, {}, TextAfterVision::extent)
                .value()
                .positions()
                .value());
}

}  // namespace
}  // namespace rotary
