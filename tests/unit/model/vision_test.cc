// SPDX-License-Identifier: Apache-2.0
// Ropes of image encoders, against the angles of Transformers' own modules for one step along each axis.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <rotary/model.hpp>

#include "model_checks.hpp"
#include "support/json.hpp"

namespace rotary {
namespace {

using nlohmann::json;

void expect_angle(double ours, double theirs, const std::string& what) {
  EXPECT_NEAR(ours, theirs, 1e-6 * std::abs(theirs)) << what;
}

/// The pairs of a half-split rope, whose first lanes are `lane` and those behind it.
void expect_equal(const Rope& rope, const json& angles, std::size_t lane, std::size_t first_axis) {
  const Spectrum& spectrum = rope.spectrum();
  EXPECT_EQ(rope.pairing(), Pairing::half_split);
  for (std::size_t axis = 0; axis < angles.size(); ++axis) {
    for (std::size_t pair = 0; pair < spectrum.inv_freq().size(); ++pair) {
      const bool follows = spectrum.axis()[pair] + first_axis == axis;
      expect_angle(follows ? spectrum.inv_freq()[pair] : 0, angles[axis][lane + pair],
                   "axis " + std::to_string(axis) + " pair " + std::to_string(pair));
    }
  }
}

TEST(Vision, EqualTransformersEncoders) {
  const json encoders = testing::data_json("vision_ropes.json").at("encoders");
  for (const json& encoder : encoders) {
    SCOPED_TRACE(encoder.at("model_type").get<std::string>());
    const auto model = Model::from_config(encoder.at("config").dump());
    ASSERT_SUCCEEDS(model);
    EXPECT_TRUE(model->warnings().empty());
    const json& angles = encoder.at("angles");
    const std::size_t lanes = angles[0].size();
    if (model->ropes().size() == 2) {  // Gemma 4: x on lanes 0-31, y on lanes 32-63
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const Rope& rope = model->ropes()[axis].rope;
        EXPECT_EQ(rope.rotary_offset(), static_cast<std::int64_t>(axis * lanes / 2));
        EXPECT_EQ(rope.rotary_dim(), static_cast<std::int64_t>(lanes / 2));
        expect_equal(rope, angles, axis * lanes / 2, axis);
      }
      continue;
    }
    ASSERT_EQ(model->ropes().size(), 1U);
    EXPECT_EQ(model->ropes()[0].rope.rotary_dim(), static_cast<std::int64_t>(lanes));
    EXPECT_FALSE(model->layers().empty());
    expect_equal(model->ropes()[0].rope, angles, 0, 0);
  }
  EXPECT_EQ(encoders.size(), 15U);
}

TEST(Vision, Gemma4HasTwoRopesALayer) {
  const auto model = testing::load(R"({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text",
      "num_hidden_layers": 6}, "vision_config": {"model_type": "gemma4_vision"}})");
  const ModelRope *x = model.find_rope("vision-x"), *y = model.find_rope("vision-y");
  ASSERT_NE(x, nullptr);
  ASSERT_NE(y, nullptr);
  EXPECT_FALSE(x->of_layers);
  EXPECT_EQ(y->rope.rotary_offset(), 32);
  EXPECT_EQ(y->rope.spectrum().base(), 100);
  EXPECT_EQ(model.layers().size(), 6U);
  // Not width by heads, 128.
  const auto wide =
      testing::load(R"({"model_type": "gemma4_vision", "hidden_size": 4096, "num_attention_heads": 32})");
  EXPECT_EQ(wide.find_rope("vision-x")->rope.head_dim(), 64);
}

}  // namespace
}  // namespace rotary
