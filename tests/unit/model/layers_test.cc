// SPDX-License-Identifier: Apache-2.0
// Which layer has which rope.
#include <gtest/gtest.h>

#include <rotary/model.hpp>

#include "model_checks.hpp"

namespace rotary {
namespace {

using testing::base_of;
using testing::llama;
using testing::load;
using testing::picture;
using testing::source_of;

TEST(Layers, OneRopeForAll) {
  const auto model = Model::from_config(llama("")).value();
  EXPECT_EQ(picture(model), "dd");
  EXPECT_EQ(model.rope_for_layer(1).value(), model.ropes()[0].rope);
  EXPECT_FAILS(model.rope_for_layer(2), StatusCode::out_of_range, "config: layer 2: there are 2");
  EXPECT_FAILS(model.rope_for_layer(-1), StatusCode::out_of_range, "layer -1");
}

TEST(Layers, Gemma3OldLayout) {
  // Linear scaling belongs to the global layers alone.
  const auto model = Model::from_preset("gemma-3-4b").value();
  EXPECT_EQ(picture(model), "lllllglllllglllllglllllglllllgllll");
  EXPECT_EQ(base_of(model, "local"), 1e4);
  EXPECT_EQ(base_of(model, "global"), 1e6);
  EXPECT_EQ(name(model.find_rope("local")->rope.spectrum().scaling()), "default");
  EXPECT_EQ(std::get<scaling::Linear>(model.find_rope("global")->rope.spectrum().scaling()).factor, 8);
  EXPECT_EQ(source_of(model, "base", 0), "default of gemma3_text");
  EXPECT_EQ(source_of(model, "layer_pattern"), "default of gemma3_text");
  EXPECT_EQ(source_of(model, "factor", 1), "text_config.rope_scaling.factor");
}

TEST(Layers, Gemma3OfTransformers5) {
  const auto model = Model::from_path(testing::data_path("gemma3_270m_config.json")).value();
  EXPECT_EQ(picture(model), "lllllglllllglllllg");
  EXPECT_EQ(base_of(model, "local"), 1e4);
  EXPECT_EQ(base_of(model, "global"), 1e6);
  EXPECT_EQ(source_of(model, "base", 0), "rope_parameters.sliding_attention.rope_theta");
  EXPECT_TRUE(model.warnings().empty());
}

TEST(Layers, OldAndNewLayoutMustAgreePerLayerType) {
  EXPECT_FAILS(
      Model::from_config(R"({"model_type": "gemma3_text", "num_hidden_layers": 6,
      "rope_local_base_freq": 5000, "rope_parameters": {"sliding_attention": {"rope_theta": 10000},
      "full_attention": {"rope_theta": 1000000}}})"),
      StatusCode::malformed,
      "rope_parameters.sliding_attention.rope_theta 10000 and rope_local_base_freq 5000: must agree");
}

TEST(Layers, PartialFactorPerLayerType) {
  const auto model = load(R"({"model_type": "llama", "head_dim": 128, "num_hidden_layers": 3,
      "layer_types": ["full_attention", "sliding_attention", "full_attention"],
      "rope_parameters": {"full_attention": {"rope_theta": 5e5, "partial_rotary_factor": 0.5},
                          "sliding_attention": {"rope_theta": 1e4}}})");
  EXPECT_EQ(picture(model), "glg");
  EXPECT_EQ(model.find_rope("global")->rope.rotary_dim(), 64);
  EXPECT_EQ(model.find_rope("local")->rope.rotary_dim(), 128);
}

TEST(Layers, NullIsALayerWithoutRope) {
  const auto model = load(R"({"model_type": "llama", "head_dim": 128, "num_hidden_layers": 2,
      "layer_types": ["full_attention", "sliding_attention"],
      "rope_parameters": {"full_attention": null, "sliding_attention": {"rope_theta": 1e4}}})");
  EXPECT_EQ(picture(model), "-l");
  EXPECT_FAILS(model.rope_for_layer(0), StatusCode::invalid_argument, "layer 0 has no rope");
  EXPECT_FAILS(Model::from_config(R"({"model_type": "llama", "head_dim": 128, "num_hidden_layers": 1,
      "layer_types": ["full_attention"], "rope_parameters": {"full_attention": null}})"),
               StatusCode::malformed, "rope_parameters: null for every layer type");
}

TEST(Layers, EveryLayerTypeNeedsADescription) {
  EXPECT_FAILS(Model::from_config(R"({"model_type": "llama", "head_dim": 128, "num_hidden_layers": 1,
      "layer_types": ["chunked_attention"], "rope_parameters": {"full_attention": {"rope_theta": 1e4}}})"),
               StatusCode::malformed, "layer_types: no rope is described for \"chunked_attention\"");
  EXPECT_EQ(picture(load(R"({"model_type": "qwen3_next", "num_hidden_layers": 4, "layer_types":
      ["linear_attention", "linear_attention", "linear_attention", "full_attention"]})")),
            "---d");
}

TEST(Layers, FullLayersWithoutRope) {
  EXPECT_EQ(
      picture(load(
          R"({"model_type": "cohere2", "head_dim": 128, "num_hidden_layers": 8, "sliding_window": 4096})")),
      "ddd-ddd-");
  EXPECT_EQ(
      picture(load(
          R"({"model_type": "exaone4", "head_dim": 64, "num_hidden_layers": 4, "sliding_window": null})")),
      "dddd");
}

TEST(Layers, WithoutAWindow) {
  // Of Cohere 2, only the layers with a window turn, and here none has one.
  EXPECT_EQ(
      picture(load(
          R"({"model_type": "cohere2", "head_dim": 128, "num_hidden_layers": 4, "sliding_window": null})")),
      "----");
  EXPECT_EQ(
      picture(load(
          R"({"model_type": "afmoe", "head_dim": 128, "num_hidden_layers": 4, "sliding_window": null})")),
      "ddd-");
}

TEST(Layers, DenseOnesInFrontHaveARope) {
  const std::string six = R"({"model_type": "cohere2_moe", "num_hidden_layers": 6, "sliding_window": )";
  EXPECT_EQ(picture(load(six + "4096}")), "ddd-dd");
  EXPECT_EQ(picture(load(six + R"(4096, "first_k_dense_replace": 1})")), "dddd-d");
  EXPECT_EQ(
      picture(load(six + R"(4096, "first_k_dense_replace": 2, "prefix_dense_sliding_window_pattern": 2})")),
      "d-ddd-");
  EXPECT_EQ(picture(load(six + R"(null, "first_k_dense_replace": 1})")), "d-----");
  EXPECT_EQ(
      picture(load(
          six + R"(4096, "mlp_layer_types": ["dense", "sparse", "sparse", "dense", "sparse", "sparse"]})")),
      "dddddd");
  EXPECT_FAILS(Model::from_config(six + R"(4096, "first_k_dense_replace": -1})"), StatusCode::malformed,
               "first_k_dense_replace -1: must be at least 0");
}

/// Four layers of that model.
std::string four(const std::string& model_type, const std::string& keys) {
  return R"({"model_type": ")" + model_type +
         R"(", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 4, )" + keys + "}";
}

TEST(Layers, OnlyThoseWithAttention) {
  EXPECT_EQ(
      picture(load(four(
          "zamba2",
          R"("use_mem_rope": true, "layers_block_type": ["mamba", "hybrid", "linear_attention", "hybrid"])"))),
      "-d-d");
  EXPECT_EQ(picture(load(four("bamba", R"("attn_layer_indices": [2])"))), "--d-");
  EXPECT_EQ(picture(load(four("bamba", R"("attn_layer_indices": [])"))), "----");
  EXPECT_EQ(picture(load(four("lfm2", R"("full_attn_idxs": [0, 3])"))), "d--d");
  EXPECT_EQ(picture(load(four("lfm2", R"("full_attn_idxs": null)"))), "dddd");
  EXPECT_EQ(picture(load(four("recurrent_gemma", R"("block_types": ["attention", "recurrent"])"))), "d-d-");
  EXPECT_EQ(picture(load(four("minimax", R"("attn_type_list": [0, 0, 0, 1])"))), "---d");
  EXPECT_TRUE(load(four("bamba", R"("attn_layer_indices": [2])")).warnings().empty());
}

// Transformers 5.24: layer_types of silent configs, and which of them its model hands cosines and sines.
TEST(Layers, OfLinearAttentionThatOnlyAClassKnows) {
  const auto silent = [](const std::string& type, int layers, const std::string& more = "") {
    return load(R"({"model_type": ")" + type + R"(", "hidden_size": 512, "num_attention_heads": 8,
        "qk_rope_head_dim": 64, "qk_nope_head_dim": 32, "rope_theta": 10000.0, "num_hidden_layers": )" +
                std::to_string(layers) + more + "}");
  };
  EXPECT_EQ(picture(silent("bailing_hybrid", 13)), "-----d-----d-");
  EXPECT_EQ(picture(silent("bailing_hybrid", 4, R"(, "layer_group_size": 2)")), "-d-d");
  EXPECT_EQ(picture(silent("olmo_hybrid", 9)), "---d---d-");
  EXPECT_EQ(picture(silent("olmo_hybrid", 3)), "--d") << "at least one";
  EXPECT_EQ(picture(silent("lara_mini", 12)), "-d--d-d--d-d") << "layers of full attention have none";
  EXPECT_EQ(picture(silent("lara_mini", 3, R"(, "layer_types": ["full_attention", "sliding_attention",
                                                "linear_attention"])")),
            "-d-");
  EXPECT_EQ(picture(silent("qwen4_exp_text", 6)), "---d--");
}

// config.rope_parameters.get("rope_theta") is not None: else OlmoHybridModel has no rotary_emb.
TEST(Layers, OlmoHybridWithoutABaseHasNoRope) {
  const std::string words = "null: model_type olmo_hybrid has no rotary embedding then";
  for (const char* keys : {R"("rope_theta": null)", R"("rope_parameters": {"rope_theta": null})",
                           R"("rope_parameters": null, "rope_theta": null)"})
    EXPECT_FAILS(Model::from_config(four("olmo_hybrid", keys)), StatusCode::unsupported, words);
  EXPECT_SUCCEEDS(Model::from_config(
      four("olmo_hybrid", R"("rope_theta": null, "rope_parameters": {"rope_theta": 10000.0})")));
  EXPECT_SUCCEEDS(Model::from_config(four("olmo_hybrid", R"("rope_parameters": null)")));
}

TEST(Layers, ListsOfThoseWithAttentionMustFit) {
  EXPECT_FAILS(Model::from_config(four("bamba", R"("attn_layer_indices": [4])")), StatusCode::malformed,
               "attn_layer_indices: expected indices of layers, 0 to 3, got 4");
  EXPECT_FAILS(Model::from_config(four("lfm2", R"("full_attn_idxs": ["x"])")), StatusCode::malformed,
               "full_attn_idxs: expected indices of layers, 0 to 3, got text");
  EXPECT_FAILS(Model::from_config(four("lfm2", R"("full_attn_idxs": [0], "attn_layer_indices": [1])")),
               StatusCode::malformed, "attn_layer_indices and full_attn_idxs: must agree");
  EXPECT_FAILS(Model::from_config(four("recurrent_gemma", R"("block_types": [1])")), StatusCode::malformed,
               "block_types: expected texts, got a number");
  EXPECT_FAILS(
      Model::from_config(four(
          "llama", R"("layer_types": ["mamba", "a", "a", "a"], "layers_block_type": ["a", "a", "a", "a"])")),
      StatusCode::malformed, "layer_types and layers_block_type: must agree");
}

TEST(Layers, WithoutAListThatTellsThem) {
  const auto bamba = load(four("bamba", R"("rope_theta": 10000)"));
  EXPECT_EQ(picture(bamba), "----");
  ASSERT_EQ(bamba.warnings().size(), 1U);
  EXPECT_EQ(bamba.warnings()[0], "attn_layer_indices: missing, so no layer has a rope");
  const auto zamba = load(four("zamba2", R"("use_mem_rope": true)"));
  EXPECT_EQ(picture(zamba), "dddd");
  ASSERT_EQ(zamba.warnings().size(), 1U);
  EXPECT_EQ(zamba.warnings()[0], "layers_block_type: missing, so every layer is taken to have a rope");
  const auto period = load(four("llama", R"("attn_layer_period": 2)"));
  ASSERT_EQ(period.warnings().size(), 1U);
  EXPECT_EQ(period.warnings()[0],
            "attn_layer_period: not read, so layers without attention are not told from others");
}

TEST(Layers, EveryNthWithoutRope) {
  EXPECT_EQ(picture(Model::from_preset("smollm3-3b").value()), "ddd-ddd-ddd-ddd-ddd-ddd-ddd-ddd-ddd-");
  EXPECT_EQ(picture(load(llama(R"(, "no_rope_layers": [0, 1])"))), "-d");
  EXPECT_EQ(picture(load(llama(R"(, "no_rope_layers": [])"))), "dd") << "empty is not stated";
  EXPECT_FAILS(Model::from_config(llama(R"(, "no_rope_layers": ["x", 1])")), StatusCode::malformed,
               "no_rope_layers[0]: expected 0 or 1, got text");
}

TEST(Layers, ModernBertBeginsWithAGlobalLayer) {
  EXPECT_EQ(picture(load(R"({"model_type": "modernbert", "hidden_size": 768, "num_attention_heads": 12,
      "num_hidden_layers": 5, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0})")),
            "gllgl");
}

TEST(Layers, CountsMustFit) {
  EXPECT_FAILS(Model::from_config(R"({"head_dim": 8, "layer_types": ["full_attention", 0]})"),
               StatusCode::malformed, "layer_types: expected texts, got a number");
  EXPECT_FAILS(Model::from_config(llama(R"(, "layer_types": ["full_attention"])")), StatusCode::malformed,
               "layer_types: 1 entries, must be one a layer, 2");
  EXPECT_FAILS(
      Model::from_config(R"({"model_type": "llama", "head_dim": 8, "num_hidden_layers": 1000000000})"),
      StatusCode::malformed, "num_hidden_layers 1000000000: must be from 0 to 10000");
  EXPECT_FAILS(Model::from_config(R"({"model_type": "gemma3_text", "num_hidden_layers": 6,
                                      "sliding_window_pattern": 0})"),
               StatusCode::malformed, "sliding_window_pattern 0: must be at least 1");
}

TEST(Layers, WithoutACountTheOnlyRopeServesAll) {
  const auto model = load(R"({"model_type": "llama", "head_dim": 128})");
  ASSERT_EQ(model.warnings().size(), 1U);
  EXPECT_EQ(model.warnings()[0], "num_hidden_layers: missing, so nothing is known about the layers");
  EXPECT_SUCCEEDS(model.rope_for_layer(77));
}

}  // namespace
}  // namespace rotary
