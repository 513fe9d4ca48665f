// SPDX-License-Identifier: Apache-2.0
// What the table of families takes for granted, against Transformers' classes: the base, the part of the head that
// turns and the pairing, where a config says nothing of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <rotary/model.hpp>
#include <set>

#include "support/json.hpp"

namespace rotary {
namespace {

using nlohmann::json;

// Younger than the table, or with layer types of their own that a silent file leaves open.
const std::set<std::string> absent = {"beam",   "cohere_compass_text", "dory", "dots3_note_text", "lfm3",
                                      "neomme", "ultrabert",           "zaya"};
std::string rope_name(const std::string& layer_type) {
  if (layer_type.empty()) return "default";
  if (layer_type == "full_attention") return "global";
  return layer_type == "sliding_attention" ? "local" : layer_type;
}

bool is_latent(const json& family) {
  const std::string type = family.at("model_type");
  return family.at("pairing") == "interleaved_to_half" || type == "deepseek_v2" || type == "minicpm3" ||
         type.starts_with("hy_v4");
}

TEST(Families, EqualTransformersWhereAConfigIsSilent) {
  int compared = 0, pairings = 0;
  const json families = testing::data_json("hf_families.json").at("families");
  for (const json& family : families) {
    const std::string type = family.at("model_type");
    SCOPED_TRACE(type);
    // 320 lanes, of which every part is a whole and even number.
    json config = {{"model_type", type}, {"head_dim", 320}, {"num_hidden_layers", 12}};
    if (type == "zamba2") config["use_mem_rope"] = true;
    if (type == "granitemoehybrid") config["position_embedding_type"] = "rope";
    if (type == "esm") config["position_embedding_type"] = "rotary";
    if (is_latent(family)) config.update(json{{"qk_nope_head_dim", 256}, {"qk_rope_head_dim", 64}});
    const auto model = Model::from_config(config.dump());
    if (absent.contains(type)) continue;
    ASSERT_TRUE(model) << model.status().message();
    for (const auto& warning : model->warnings())
      EXPECT_EQ(warning.find("not known"), warning.npos) << warning;
    for (const json& expected : family.at("ropes")) {
      const ModelRope* rope = model->find_rope(rope_name(expected.at("layer_type")));
      ASSERT_NE(rope, nullptr) << expected;
      EXPECT_EQ(rope->rope.spectrum().base(), expected.at("base").get<double>());
      EXPECT_EQ(name(rope->rope.spectrum().scaling()), expected.at("type").get<std::string>());
      if (!is_latent(family) && expected.at("type") != "proportional") {
        // Of a family with a width of its own on global layers, that one.
        const std::int64_t head_dim = type == "embedding_gemma2_text" && rope->name == "global" ? 512 : 320;
        const double width = expected.at("part").get<double>() * static_cast<double>(head_dim);
        EXPECT_EQ(rope->rope.rotary_dim(), static_cast<std::int64_t>(width));
      }
      if (!family.at("pairing").is_null()) {
        EXPECT_EQ(name(rope->rope.pairing()), family.at("pairing").get<std::string>());
        ++pairings;
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 174);
  EXPECT_GE(pairings, 164);
}

}  // namespace
}  // namespace rotary
