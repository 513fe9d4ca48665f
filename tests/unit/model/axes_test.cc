// SPDX-License-Identifier: Apache-2.0
// Which axis drives which pair, by what files and families say.
#include <gtest/gtest.h>

#include <rotary/model.hpp>

#include "model_checks.hpp"

namespace rotary {
namespace {

using testing::llama;
using testing::source_of;

std::string axes_of(const Model& model) {
  std::string text;
  for (const std::uint8_t axis : model.ropes()[0].rope.spectrum().axis()) {
    text += static_cast<char>('0' + axis);
  }
  return text;
}
std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// A config of that type, its rope_scaling with these keys.
Result<Model> config(const std::string& model_type, const std::string& head_dim, const std::string& keys) {
  return Model::from_config(R"({"num_hidden_layers": 1, "model_type": ")" + model_type +
                            R"(", "head_dim": )" + head_dim + R"(, "rope_theta": 1e6, "rope_scaling": {)" +
                            keys + "}}");
}

TEST(Axes, RunsOfMRope) {
  const auto qwen =
      config("qwen2_vl", "128", R"("type": "mrope", "rope_type": "default", "mrope_section": [16, 24, 24])")
          .value();
  EXPECT_TRUE(qwen.warnings().empty());
  EXPECT_EQ(axes_of(qwen), times(16, "0") + times(24, "1") + times(24, "2"));
  EXPECT_EQ(source_of(qwen, "axis_order"), "default");

  const auto glm =
      config("glm4v_text", "128",
             R"("rope_type": "default", "mrope_section": [8, 12, 12], "partial_rotary_factor": 0.5)")
          .value();
  EXPECT_EQ(axes_of(glm), times(8, "0") + times(12, "1") + times(12, "2"));
  EXPECT_EQ(glm.ropes()[0].rope.pairing(), Pairing::interleaved);
  EXPECT_EQ(glm.ropes()[0].rope.rotary_dim(), 64);

  const auto hunyuan =
      config("hunyuan_vl", "128", R"("type": "xdrope", "alpha": 1000, "xdrope_section": [16, 16, 16, 16])")
          .value();
  EXPECT_EQ(axes_of(hunyuan), times(16, "0") + times(16, "1") + times(16, "2") + times(16, "3"));

  EXPECT_FAILS(config("qwen2_vl", "128", R"("type": "mrope", "mrope_section": [16, 24, 23])"),
               StatusCode::malformed, "axis_sections: sum 63, must be the number of pairs, 64");
}

TEST(Axes, TurnsOfMRope) {
  const std::string sections = R"("rope_type": "default", "mrope_section": [24, 20, 20])";
  const std::string turns = times(20, "012") + "0000";
  const auto qwen = config("qwen3_vl_text", "128", sections + R"(, "mrope_interleaved": true)").value();
  EXPECT_EQ(axes_of(qwen), turns);
  EXPECT_EQ(source_of(qwen, "axis_order"), "default of qwen3_vl_text");
  // Of a family that has no way of its own, the file decides.
  const auto other = config("llama", "128", sections + R"(, "mrope_interleaved": true)").value();
  EXPECT_EQ(axes_of(other), turns);
  EXPECT_EQ(source_of(other, "axis_order"), "rope_scaling.mrope_interleaved");
  EXPECT_EQ(axes_of(config("llama", "128", sections + R"(, "mrope_interleaved": false)").value()),
            times(24, "0") + times(20, "1") + times(20, "2"));
  // Transformers does not read the key for Qwen3-VL.
  const auto no = config("qwen3_vl_text", "128", sections + R"(, "mrope_interleaved": false)").value();
  EXPECT_EQ(axes_of(no), turns);
  ASSERT_EQ(no.warnings().size(), 1U);
  EXPECT_EQ(no.warnings()[0],
            "rope_scaling.mrope_interleaved false: not read for model_type qwen3_vl_text, "
            "whose order is interleaved");
  EXPECT_FAILS(config("qwen3_vl_text", "128", R"("rope_type": "default", "mrope_section": [1, 1, 62])"),
               StatusCode::malformed,
               "axis_sections[2] 62: of 64 pairs only 21 fall to axis 2 when the axes take turns");
}

TEST(Axes, OrdersThatAKeyNames) {
  const auto glm = config("llama", "64", R"("rope_type": "default", "mrope_section": [8, 12, 12],
      "mrope_interleaved": true, "mrope_interleaved_glm": true)")
                       .value();
  EXPECT_TRUE(glm.warnings().empty());
  EXPECT_EQ(axes_of(glm), times(8, "012") + "11211222");
  const auto pangu = config("openpangu_vl", "64", R"("rope_type": "openpangu", "mrope_section": [8, 12, 12],
      "mrope_interleaved": true)")
                         .value();
  EXPECT_TRUE(pangu.warnings().empty());
  EXPECT_EQ(axes_of(pangu), "01212012120121201201212012120120");
  EXPECT_EQ(source_of(pangu, "axis_order"), "rope_scaling.rope_type");
}

TEST(Axes, ErnieStatesItsSectionsWithTimeLast) {
  const auto ernie =
      config("ernie4_5_vl_moe_text", "128", R"("rope_type": "default", "mrope_section": [22, 22, 20])")
          .value();
  EXPECT_TRUE(ernie.warnings().empty());
  EXPECT_EQ(axes_of(ernie), times(22, "12") + times(20, "0"));
  EXPECT_EQ(ernie.ropes()[0].rope.pairing(), Pairing::interleaved);
}

TEST(Axes, AFileThatStatesNoSectionsMeansThoseOfItsFamily) {
  const auto qwen = config("qwen2_vl_text", "128", R"("rope_type": "default")").value();
  EXPECT_TRUE(qwen.warnings().empty());
  EXPECT_EQ(axes_of(qwen), times(16, "0") + times(24, "1") + times(24, "2"));
  EXPECT_EQ(source_of(qwen, "axis_sections"), "default of qwen2_vl_text");
  EXPECT_EQ(axes_of(config("ernie4_5_vl_moe_text", "128", R"("rope_type": "default")").value()),
            times(22, "12") + times(20, "0"));
  EXPECT_EQ(axes_of(config("hy_v4_vl_text", "64", R"("rope_type": "default")").value()),
            times(10, "012") + "00");
  // Of another width they cannot be meant.
  const auto small = config("qwen2_vl_text", "64", R"("rope_type": "default")").value();
  EXPECT_EQ(axes_of(small), times(32, "0"));
  ASSERT_EQ(small.warnings().size(), 1U);
  EXPECT_EQ(small.warnings()[0],
            "mrope_section: missing, and that of qwen2_vl_text, 16, 24, 24, does not fit 32 "
            "pairs, so all of them follow one axis");
}

}  // namespace
}  // namespace rotary
