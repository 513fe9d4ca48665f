// SPDX-License-Identifier: Apache-2.0
#include "gguf_writer.hpp"
#include "model_checks.hpp"

namespace rotary::testing {
namespace {

Result<Model> llama4(const std::string& keys) {
  return Model::from_config(R"({"model_type": "llama4_text", "hidden_size": 5120, "num_attention_heads": 40,
      "num_hidden_layers": 8, "max_position_embeddings": 131072)" +
                            keys + "}");
}
std::optional<QueryTemperature> of_layer(const Model& model, std::int64_t layer) {
  return model.temperature_for_layer(layer).value();
}

// Numbers: 1 + 0.1 ln(1 + floor((p + 1) / 8192)), at 8190 ln 1, at 8191 ln 2, at 131071 ln 17.
TEST(ModelTemperature, Llama4OnItsLayersWithoutRope) {
  const Model model = llama4("").value();
  ASSERT_TRUE(model.temperature());
  EXPECT_EQ(of_layer(model, 0), std::nullopt);
  ASSERT_TRUE(of_layer(model, 3)) << "every fourth layer has no rope";
  EXPECT_EQ(of_layer(model, 3)->at(8190), 1);
  EXPECT_NEAR(of_layer(model, 3)->at(8191), 1.0693147181, 1e-10);
  EXPECT_NEAR(of_layer(model, 3)->at(131071), 1.2833213344, 1e-10);
  EXPECT_EQ(source_of(model, "temperature_scale"), "default of llama4_text");
  const Model stated =
      llama4(R"(, "attn_scale": 0.2, "floor_scale": 4096, "attn_temperature_tuning": 4)").value();
  EXPECT_EQ(stated.temperature()->query, (QueryTemperature{.scale = 0.2, .length = 4096, .first = 1}));
  EXPECT_EQ(llama4(R"(, "attn_temperature_tuning": false)")->temperature().has_value(), false);
  EXPECT_EQ(llama4(R"(, "attn_temperature_tuning": 0)")->temperature().has_value(), false);
  EXPECT_TRUE(llama4(R"(, "attn_temperature_tuning": 1)")->temperature());
  for (const auto& [value, got] :
       {std::pair{"7", "7"}, {"-1", "-1"}, {"0.5", "a number"}, {"\"4\"", "text"}}) {
    EXPECT_FAILS(
        llama4(R"(, "attn_temperature_tuning": )" + std::string(value)), StatusCode::malformed,
        "attn_temperature_tuning: expected true or false (or 0, 1, or the 4 of published files), got " +
            std::string(got));
  }
}

// 1 + 0.1 ln(1 + floor(p / 16384)), at 262143 ln 16.
TEST(ModelTemperature, Ministral3OnEveryLayer) {
  const Model model = Model::from_preset("ministral-3-3b").value();
  EXPECT_EQ(of_layer(model, 0)->at(16383), 1);
  EXPECT_NEAR(of_layer(model, 25)->at(262143), 1.2772588722, 1e-10);
  EXPECT_FAILS(model.temperature_for_layer(26), StatusCode::out_of_range, "layer 26: there are 26");
  EXPECT_EQ(Model::from_preset("llama-2-7b")->temperature_for_layer(0).value(), std::nullopt);
}

TEST(ModelTemperature, RefusesBadNumbers) {
  EXPECT_FAILS(llama4(R"(, "attn_scale": -1)"), StatusCode::malformed,
               "attn_scale -1: must be finite and not negative");
  EXPECT_FAILS(llama4(R"(, "floor_scale": 0)"), StatusCode::malformed,
               "floor_scale 0: must be finite and at least 1 token");
  EXPECT_FAILS(
      Model::from_config(
          llama(R"(, "rope_parameters": {"rope_type": "default", "llama_4_scaling_beta": 0.1})")),
      StatusCode::malformed,
      "rope_parameters.original_max_position_embeddings: missing, and rope_parameters.llama_4_scaling_beta");
}

TEST(ModelTemperature, OfGguf) {
  const auto gguf = [](const std::string& architecture) {
    return GgufWriter(architecture).set("attention.key_length", 128U).set("block_count", 8U);
  };
  const Model by_heart = gguf("llama4").load().value();
  EXPECT_EQ(by_heart.temperature()->query, (QueryTemperature{.scale = 0.1, .length = 8192, .first = 1}));
  EXPECT_TRUE(by_heart.temperature()->without_rope);
  const Model stated = gguf("mistral3")
                           .set("attention.temperature_scale", 0.5F)
                           .set("rope.scaling.original_context_length", 16384U)
                           .load()
                           .value();
  EXPECT_EQ(stated.temperature()->query, (QueryTemperature{.scale = 0.5, .length = 16384}));
  EXPECT_FALSE(gguf("mistral3").set("attention.temperature_scale", 0.0F).load()->temperature());
  EXPECT_FAILS(gguf("mistral3").set("attention.temperature_scale", 0.5F).load(), StatusCode::malformed,
               "mistral3.attention.temperature_length: missing");
}

}  // namespace
}  // namespace rotary::testing
