// SPDX-License-Identifier: Apache-2.0
// Every preset whose class Transformers has, against the frequencies and the attention factor of the model's own
// module. scripts/fixtures/transformers_presets.py writes the file and also compares live.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <rotary/model.hpp>
#include <set>

#include "support/json.hpp"

namespace rotary {
namespace {

using nlohmann::json;

// Transformers' fp32 power is off by an ulp here and there, and a blend widens that; tables of sines, from which the
// angle of position 1 is taken back, by a little more.
constexpr double most_relative = 1e-6;

json entries() { return testing::data_json("hf_presets.json").at("entries"); }

/// An image encoder's module holds one schedule, each axis takes all or half of it; DINOv3's leaves 2 pi to its
/// coordinates.
std::vector<double> distinct(std::vector<double> frequencies, double first) {
  std::set<double, std::greater<>> values(frequencies.begin(), frequencies.end());
  std::vector<double> result(values.begin(), values.end());
  for (double& value : result) value *= first / *values.begin();
  return result;
}

TEST(Presets, EqualTransformers) {
  std::size_t presets_compared = 0, ropes_compared = 0;
  for (const json& entry : entries()) {
    if (!entry.contains("ropes")) continue;
    const std::string name = entry.at("name");
    const auto model = Model::from_preset(name);
    ASSERT_TRUE(model) << model.status().message();
    const auto theirs_of_it = model->as(Peer::transformers);
    EXPECT_NE(theirs_of_it.ok(), name == "hunyuan-vl");  // whose class deals no axes that could be described
    for (const json& expected : entry.at("ropes")) {
      SCOPED_TRACE(name + " " + expected.at("rope").get<std::string>());
      const ModelRope* found = model->find_rope(expected.at("rope").get<std::string>());
      ASSERT_NE(found, nullptr);
      if (theirs_of_it) {
        EXPECT_EQ(theirs_of_it->find_rope(found->name)->rope, found->rope) << "as Transformers";
      }
      const Spectrum& spectrum = found->rope.spectrum();
      EXPECT_NEAR(spectrum.attention_factor(), expected.at("attention_factor"), 1e-12);
      auto theirs = expected.at("inv_freq").get<std::vector<double>>();
      std::vector<double> ours(spectrum.inv_freq().begin(), spectrum.inv_freq().end());
      if (expected.at("rope") == "vision") {
        theirs = distinct(theirs, ours.front());
        ours = distinct(ours, ours.front());
      }
      ASSERT_EQ(ours.size(), theirs.size());
      for (std::size_t i = 0; i < ours.size(); ++i)
        EXPECT_LE(std::abs(ours[i] - theirs[i]), most_relative * std::abs(theirs[i])) << "pair " << i;
      ++ropes_compared;
    }
    ++presets_compared;
  }
  EXPECT_GE(presets_compared, 97U);
  EXPECT_GE(ropes_compared, 110U);
}

TEST(Presets, EachIsComparedOrSaysWhyNot) {
  std::set<std::string> listed;
  for (const json& entry : entries()) {
    listed.insert(entry.at("name"));
    EXPECT_NE(entry.contains("ropes"), entry.contains("skipped")) << entry.at("name");
  }
  for (const Preset& preset : presets()) EXPECT_TRUE(listed.count(std::string(preset.name))) << preset.name;
}

}  // namespace
}  // namespace rotary
