// SPDX-License-Identifier: Apache-2.0
// Shapes of a config.json beyond one rope for all: lists by layer, letters, labels, encoders, models without a rope.
#include <gtest/gtest.h>

#include <cmath>
#include <rotary/model.hpp>

#include "gguf_writer.hpp"
#include "model_checks.hpp"

namespace rotary {
namespace {

using testing::base_of;
using testing::find_value;
using testing::llama;
using testing::load;
using testing::picture;
using testing::source_of;

std::string model_of(std::string_view type, std::string_view keys) {
  return R"({"model_type": ")" + std::string(type) + R"(", "num_hidden_layers": 4)" + std::string(keys) + "}";
}

TEST(Shapes, ABaseAndAPartForEachLayer) {
  const std::string keys = R"(, "layer_types": ["full_attention", "sliding_attention", "sliding_attention",
      "full_attention", "sliding_attention"], "num_nextn_predict_layers": 1, "rope_theta": [5e6, 1e4, 1e4, 5e6, 1e4],
      "partial_rotary_factors": [0.5, 1.0, 1.0, 0.5, 1.0], "yarn_only_types": ["full_attention"], "rope_scaling":
      {"rope_type": "llama3", "factor": 2.0, "low_freq_factor": 1, "high_freq_factor": 32,
       "original_max_position_embeddings": 131072})";
  const auto model = load(model_of("step3p5", keys));
  EXPECT_EQ(picture(model), "gllg");
  EXPECT_EQ(base_of(model, "global"), 5e6);
  EXPECT_EQ(source_of(model, "base", 0), "rope_theta[0]");
  EXPECT_EQ(model.find_rope("global")->rope.rotary_dim(), 64);
  EXPECT_EQ(source_of(model, "rotary_dim", 0), "derived: head_dim * partial_rotary_factors[0]");
  EXPECT_EQ(model.find_rope("local")->rope.rotary_dim(), 128);
  EXPECT_EQ(name(model.find_rope("global")->rope.spectrum().scaling()), "llama3");
  EXPECT_EQ(name(model.find_rope("local")->rope.spectrum().scaling()), "default");
  // Without layer types, layers of the same numbers share a rope.
  const auto plain = load(llama(R"(, "rope_theta": [10000, 20000])"));
  EXPECT_EQ(picture(plain), "dd");
  EXPECT_EQ(plain.ropes()[1].name, "default-2");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_theta": [10000, "x"])")), StatusCode::malformed,
               "rope_theta: expected a list of numbers, got text \"x\"");
  EXPECT_FAILS(Model::from_config(llama(R"(, "partial_rotary_factors": [0.5])")), StatusCode::malformed,
               "partial_rotary_factors: 1 entries, must be one a layer, 2");
}

TEST(Shapes, PatternOfLetters) {
  EXPECT_EQ(picture(load(model_of("exaone4", R"(, "head_dim": 128, "sliding_window_pattern": "LLLG")"))),
            "ddd-");
  EXPECT_EQ(picture(load(model_of("gemma3_text", R"(, "sliding_window_pattern": "LG")"))), "lglg");
  EXPECT_FAILS(
      Model::from_config(model_of("exaone4", R"(, "head_dim": 128, "sliding_window_pattern": "LLX")")),
      StatusCode::malformed, "sliding_window_pattern \"LLX\": must be a number, or letters L");
}

TEST(Shapes, DeepSeekV4HasAMainAndACompressedRope) {
  const auto model = load(model_of("deepseek_v4", R"(, "qk_rope_head_dim": 64, "rope_theta": 10000,
      "compress_rope_theta": 160000, "compress_ratios": [0, 0, 4, 128], "max_position_embeddings": 1048576,
      "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536})"));
  EXPECT_EQ(picture(model), "mmcc");
  const auto& compress = *model.find_rope("compress");
  EXPECT_EQ(base_of(model, "main"), 1e4);
  EXPECT_EQ(name(model.find_rope("main")->rope.spectrum().scaling()), "default");
  EXPECT_EQ(base_of(model, "compress"), 160000);
  EXPECT_EQ(compress.rope.spectrum().attention_factor(), 1) << "whatever YaRN's formula says";
  EXPECT_EQ(compress.rope.head_dim(), 512);
  EXPECT_EQ(compress.rope.rotary_offset(), 448);
  EXPECT_EQ(compress.rope.pairing(), Pairing::interleaved);
  EXPECT_EQ(source_of(model, "attention_output"), "default of deepseek_v4");
  EXPECT_TRUE(model.warnings().empty());
  const auto labels = load(model_of("deepseek_v4", R"(, "layer_types": ["sliding_attention",
      "compressed_sparse_attention", "heavily_compressed_attention", "sliding_attention"], "rope_parameters": {"main":
      {"rope_type": "default", "rope_theta": 20000}, "compress": {"rope_type": "default", "rope_theta": 80000}})"));
  EXPECT_EQ(picture(labels), "mccm");
  EXPECT_EQ(base_of(labels, "main"), 20000);
  EXPECT_EQ(base_of(labels, "compress"), 80000);
}

TEST(Shapes, PartsOfTheHeadByLayerType) {
  const auto laguna = load(model_of("laguna", R"(, "layer_types": ["full_attention", "sliding_attention",
      "sliding_attention", "sliding_attention"])"));
  EXPECT_EQ(picture(laguna), "glll");
  EXPECT_EQ(laguna.find_rope("global")->rope.rotary_dim(), 64);
  EXPECT_EQ(laguna.find_rope("local")->rope.rotary_dim(), 128);
  const auto mimo =
      load(R"({"model_type": "mimo_v2_flash", "num_hidden_layers": 7, "partial_rotary_factor": 0.334,
      "rope_theta": 5000000, "swa_rope_theta": 10000})");
  EXPECT_EQ(picture(mimo), "gllllgl");
  EXPECT_EQ(mimo.find_rope("local")->rope.rotary_dim(), 64);
  EXPECT_EQ(source_of(mimo, "base", 1), "swa_rope_theta");
  EXPECT_EQ(picture(load(R"({"model_type": "mimo_v2_flash", "hybrid_layer_pattern": [0, 1, 1]})")), "gll");
}

TEST(Shapes, Gemma4EndsWithAFullLayer) {
  const auto model = load(model_of("gemma4_text", ""));
  EXPECT_EQ(picture(model), "lllg");
  EXPECT_EQ(source_of(model, "last_layer"), "default of gemma4_text");
}

TEST(Shapes, Qwen1GrowsInSteps) {
  const std::string config = R"({"model_type": "qwen", "hidden_size": 2048, "num_attention_heads": 16,
      "num_hidden_layers": 24, "kv_channels": 128, "max_position_embeddings": 8192, "seq_length": 8192,
      "rotary_emb_base": 10000, "rotary_pct": 1.0, "use_dynamic_ntk": true})";
  const auto alpha = [&](std::optional<std::int64_t> length) {
    return std::get<scaling::NtkAlpha>(load(config, {.length = length}).ropes()[0].rope.spectrum().scaling())
        .alpha;
  };
  EXPECT_EQ(alpha({}), 1);
  EXPECT_EQ(alpha(8192), 1);
  EXPECT_EQ(alpha(8193), 3);
  EXPECT_EQ(alpha(16384), 3);
  EXPECT_EQ(alpha(20000), 7);
  EXPECT_EQ(source_of(load(config), "alpha"), "derived: use_dynamic_ntk beyond seq_length 8192");
}

TEST(Shapes, StatedPairing) {
  const auto unknown = load(R"({"model_type": "brandnew", "head_dim": 64, "num_hidden_layers": 1,
      "rotary_emb_interleaved": true})");
  EXPECT_EQ(unknown.ropes()[0].rope.pairing(), Pairing::interleaved);
  EXPECT_EQ(source_of(unknown, "pairing"), "rotary_emb_interleaved");
  EXPECT_TRUE(load(llama(R"(, "rope_interleaved": false)")).warnings().empty());
  const auto llama_says = load(llama(R"(, "rope_interleaved": true)"));
  ASSERT_EQ(llama_says.warnings().size(), 1U);
  EXPECT_EQ(llama_says.warnings()[0],
            "rope_interleaved true: not read for model_type llama, which is half_split");
}

TEST(Shapes, WhatIsNotReadSaysSo) {
  for (
      const auto& [keys, warning] :
      {std::pair{R"(, "original_rope": false)",
                 "original_rope false: only ChatGLM's original rope is described"},
       {R"(, "vision_config": {"model_type": "pixtral", "head_dim": 64, "rope_parameters": {"rope_type": "spiral"}})",
        "vision_config.rope_parameters.rope_type \"spiral\": not read; the encoder's own axes are taken"}}) {
    const auto model = load(llama(keys));
    ASSERT_EQ(model.warnings().size(), 1U) << keys;
    EXPECT_TRUE(model.warnings()[0].starts_with(warning)) << model.warnings()[0];
  }
}

TEST(Shapes, ModelsWithoutARope) {
  EXPECT_FAILS(Model::from_config(R"({"model_type": "falcon", "alibi": true})"), StatusCode::unsupported,
               "alibi true: it has no rotary embedding");
  EXPECT_FAILS(Model::from_config(R"({"model_type": "esm", "position_embedding_type": "absolute"})"),
               StatusCode::unsupported, "position_embedding_type \"absolute\": it has no rotary embedding");
  EXPECT_EQ(
      picture(load(model_of("granitemoehybrid", R"(, "head_dim": 64, "position_embedding_type": "nope")"))),
      "----");
  EXPECT_EQ(
      picture(load(model_of(
          "granitemoehybrid",
          R"(, "head_dim": 64, "position_embedding_type": "rope", "layer_types": ["mamba", "attention", "mamba", "attention"])"))),
      "-d-d");
  // Transformers' defaults: None and "absolute".
  EXPECT_FAILS(
      Model::from_config(model_of("granitemoehybrid", R"(, "head_dim": 64)")), StatusCode::unsupported,
      "position_embedding_type: missing, which means None: model_type granitemoehybrid has no rotary "
      "embedding then");
  EXPECT_FAILS(
      Model::from_config(model_of("esm", R"(, "head_dim": 64)")), StatusCode::unsupported,
      "position_embedding_type: missing, which means absolute: model_type esm has no rotary embedding then");
  // Of the speech models, the word has another spelling and the base another name.
  const std::string base = R"(, "head_dim": 64, "rotary_embedding_base": 500)";
  EXPECT_EQ(base_of(load(model_of("wav2vec2-conformer", base + R"(, "position_embeddings_type": "rotary")"))),
            500);
  EXPECT_FAILS(Model::from_config(model_of("wav2vec2-conformer", base)), StatusCode::unsupported,
               "position_embedding_type: missing, which means relative: model_type wav2vec2-conformer has no "
               "rotary embedding then");
}

TEST(Shapes, AScalingNeedsAType) {
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"factor": 4, "beta_fast": 32})"), "c.json"),
               StatusCode::malformed,
               "c.json: rope_scaling: expected a rope_type (or type), one of default, linear, llama3");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"factor": 4, "beta_fast": 32})")),
               StatusCode::malformed, "; got the keys factor, beta_fast");
}

TEST(Shapes, TheClassKnowsTheWidth) {
  const auto llava = load(R"({"model_type": "llava", "text_config": {"model_type": "llama",
      "max_position_embeddings": 4096, "num_hidden_layers": 32}, "vision_config": {"model_type": "clip_vision_model",
      "hidden_size": 1024, "num_attention_heads": 16}})");
  EXPECT_EQ(llava.ropes()[0].rope.head_dim(), 128);
  EXPECT_EQ(source_of(llava, "head_dim"), "default of llama");
  EXPECT_EQ(llava.ropes().size(), 1U) << "CLIP has none";
}

TEST(Vision, RowsAndColumns) {
  const auto model = load(R"({"model_type": "qwen2_vl", "hidden_size": 8192, "num_attention_heads": 64,
      "num_hidden_layers": 1, "rope_theta": 1e6, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
      "vision_config": {"embed_dim": 1280, "num_heads": 16, "hidden_size": 8192}})");
  const auto& vision = model.find_rope("vision")->rope;
  EXPECT_EQ(vision.head_dim(), 80);
  EXPECT_EQ(vision.spectrum().axes(), 2);
  EXPECT_EQ(vision.spectrum().axis()[19], 0);
  EXPECT_EQ(vision.spectrum().axis()[20], 1);
  EXPECT_NEAR(vision.spectrum().inv_freq()[21], std::pow(1e4, -2.0 / 40), 1e-15);
  EXPECT_EQ(vision.spectrum().inv_freq()[1], vision.spectrum().inv_freq()[21]);
}

TEST(Vision, Llama4BeginsWithColumns) {
  const auto model =
      load(R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text", "num_hidden_layers": 4},
      "vision_config": {"model_type": "llama4_vision_model", "hidden_size": 1408, "num_attention_heads": 16,
      "rope_theta": 10000}})");
  const auto& vision = model.find_rope("vision")->rope;
  EXPECT_EQ(vision.head_dim(), 88);
  EXPECT_EQ(vision.pairing(), Pairing::interleaved);
  EXPECT_EQ(vision.spectrum().axis()[0], 1);
  EXPECT_EQ(vision.spectrum().axis()[43], 0);
}

TEST(Vision, Dinov3IsAModelOfItsOwn) {
  const auto model = load(R"({"model_type": "dinov3_vit", "hidden_size": 384, "num_attention_heads": 6,
      "num_hidden_layers": 12, "rope_theta": 100.0})");
  EXPECT_EQ(picture(model), "vvvvvvvvvvvv");
  EXPECT_NEAR(model.ropes()[0].rope.spectrum().inv_freq()[1], 6.283185307179586 * std::pow(100, -1.0 / 16),
              1e-14);
}

TEST(Vision, WhatIsNotDescribedSaysSo) {
  const auto unknown = load(llama(R"(, "vision_config": {"model_type": "brandnew", "rope_theta": 100})"));
  ASSERT_EQ(unknown.warnings().size(), 1U);
  EXPECT_EQ(unknown.warnings()[0],
            "vision_config.rope_theta: of an image encoder that is not known, so it is not read");
}

}  // namespace
}  // namespace rotary
