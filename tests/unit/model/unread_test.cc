// SPDX-License-Identifier: Apache-2.0
// What a config says of positions and the ropes do not express: it is named, or the file is refused.
#include <gtest/gtest.h>

#include <rotary/model.hpp>

#include "model_checks.hpp"

namespace rotary {
namespace {

using testing::base_of;
using testing::find_value;
using testing::llama;
using testing::load;
using testing::picture;
using testing::source_of;

/// The only warning, or all of them.
std::string warning_of(const Model& model) {
  std::string all;
  for (const auto& warning : model.warnings()) all += (all.empty() ? "" : "\n") + warning;
  return all;
}

TEST(OtherPositions, NoRopeWithoutASwitch) {
  const std::string before = R"({"model_type": "zamba2", "hidden_size": 2560, "num_attention_heads": 32,
      "num_hidden_layers": 2, "attention_head_dim": 160)";
  EXPECT_FAILS(Model::from_config(before + R"(, "use_mem_rope": false})"), StatusCode::unsupported,
               "use_mem_rope false: model_type zamba2 has no rotary embedding then");
  EXPECT_FAILS(Model::from_config(before + "}"), StatusCode::unsupported,
               "use_mem_rope: missing, which means false: model_type zamba2 has no rotary embedding then");
  EXPECT_EQ(load(before + R"(, "use_mem_rope": true})").ropes()[0].rope.head_dim(), 160);
}

TEST(OtherPositions, BaichuansLargerModelsHaveAlibi) {
  EXPECT_FAILS(
      Model::from_config(R"({"model_type": "baichuan", "hidden_size": 5120, "num_attention_heads": 40,
                             "num_hidden_layers": 40})"),
      StatusCode::unsupported,
      "hidden_size 5120: of baichuan, only the models of width 4096 have a rotary embedding; the others have "
      "ALiBi");
}

TEST(OtherPositions, WordsThatMeanNoRope) {
  for (const std::string word : {"absolute", "alibi", "relative_key", "nope"}) {
    EXPECT_FAILS(Model::from_config(llama(", \"position_embedding_type\": \"" + word + "\"")),
                 StatusCode::unsupported,
                 "position_embedding_type \"" + word + "\": it has no rotary embedding");
  }
  for (const std::string word : {"rope", "rotary", "ROPE"})
    EXPECT_SUCCEEDS(Model::from_config(llama(", \"position_embedding_type\": \"" + word + "\"")));
}

TEST(OtherPositions, SwitchesOfTheRope) {
  for (const std::string key : {"rotary", "use_rope", "use_rotary", "use_rotary_emb"}) {
    EXPECT_FAILS(Model::from_config(llama(", \"" + key + "\": false")), StatusCode::unsupported,
                 key + " false: it has no rotary embedding");
    EXPECT_FAILS(Model::from_config(llama(", \"" + key + "\": 1")), StatusCode::malformed,
                 key + ": expected true or false, got a number");
  }
}

TEST(OtherPositions, XposIsMoreThanARope) {
  EXPECT_FAILS(Model::from_config(llama(R"(, "rotary_emb_scale_base": 512)")), StatusCode::unsupported,
               "rotary_emb_scale_base 512: xPos stretches queries and keys by position");
  EXPECT_TRUE(load(llama(R"(, "rotary_emb_scale_base": null)")).warnings().empty());
}

TEST(OtherPositions, DualChunkIsNamedWithItsNumbers) {
  const auto model = load(llama(R"(, "dual_chunk_attention_config": {"chunk_size": 262144, "local_size": 8192,
                                     "original_max_position_embeddings": 262144})"));
  EXPECT_EQ(warning_of(model),
            "dual_chunk_attention_config: beyond 253952 tokens the model takes the positions of dual_chunk() "
            "(chunk_size 262144, local_size 8192); the ropes are those shown");
  EXPECT_EQ(source_of(model, "chunk_size"), "dual_chunk_attention_config.chunk_size");
  EXPECT_FAILS(Model::from_config(llama(R"(, "dual_chunk_attention_config": {"chunk_size": 6})")),
               StatusCode::malformed, "dual_chunk_attention_config.local_size: missing");
  EXPECT_FAILS(
      Model::from_config(llama(R"(, "dual_chunk_attention_config": {"chunk_size": 6, "local_size": 6})")),
      StatusCode::malformed, "must be 0 <= local_size < chunk_size");
}

TEST(Unread, KeysBesideTheTextModel) {
  const auto model = load(R"({"model_type": "llava", "rope_theta": 5e5, "rope_scaling": {"type": "linear",
      "factor": 2}, "partial_rotary_factor": 0.5, "text_config": {"model_type": "llama", "head_dim": 64,
      "num_hidden_layers": 1, "rope_theta": 1e4, "partial_rotary_factor": 0.5}})");
  EXPECT_EQ(base_of(model), 1e4);
  EXPECT_EQ(warning_of(model),
            "rope_theta: not read, since text_config describes the text model and says otherwise\n"
            "rope_scaling: not read, since text_config describes the text model and has no such key");
}

TEST(Unread, AnyKeyThatNamesARope) {
  EXPECT_EQ(warning_of(load(llama(R"(, "rope_style": 1)"))), "rope_style: not a key that is read");
  EXPECT_EQ(warning_of(load(llama(R"(, "use_rope": true)"))), "");
  EXPECT_EQ(warning_of(load(llama(R"(, "ropetheta": 5)"))),
            "ropetheta: not a key that is read; did you mean rope_theta?");
}

TEST(Unread, VllmsWordForAnImageEncoder) {
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"rope_type": "mllama4"})")),
               StatusCode::unsupported,
               "rope_scaling.rope_type \"mllama4\": vLLM's word for Llama 4's image encoder");
  const auto encoder = load(R"({"model_type": "llama4_vision_model", "hidden_size": 1408,
      "num_attention_heads": 16, "num_hidden_layers": 2, "rope_parameters": {"rope_type": "mllama4",
      "rope_theta": 10000}})");
  EXPECT_TRUE(encoder.warnings().empty());
  EXPECT_EQ(encoder.ropes()[0].rope.pairing(), Pairing::interleaved);
}

// CodeGenConfig: max_position_embeddings is n_positions; GPTJConfig the same.
TEST(Unread, AnOlderWordForTheContext) {
  const auto both = testing::load(
      R"({"model_type": "codegen", "n_embd": 512, "n_head": 8, "n_layer": 2, "n_ctx": 1024, "n_positions": 2048})");
  EXPECT_EQ(both.ropes()[0].context, 2048);
  ASSERT_EQ(both.warnings().size(), 1U);
  EXPECT_EQ(both.warnings()[0], "n_ctx 1024: not read beside n_positions 2048");
  const auto alone =
      testing::load(R"({"model_type": "codegen", "n_embd": 512, "n_head": 8, "n_layer": 2, "n_ctx": 1024})");
  EXPECT_EQ(alone.ropes()[0].context, 1024);
  EXPECT_TRUE(alone.warnings().empty());
}

// Python's json writes NaN and Infinity, and a config holds them for keys that have nothing to do with a rope.
TEST(Unread, NumbersThatJsonHasNot) {
  const auto model = testing::load(testing::llama(
      R"(, "time_step_limit": [0.0, Infinity], "router_bias": NaN, "x": {"y": -Infinity}, "rope_theta": 50000.0)"));
  EXPECT_EQ(model.ropes()[0].rope.spectrum().base(), 50000);
  EXPECT_TRUE(model.warnings().empty());
}

TEST(Unread, MisspellingsOfOtherKeys) {
  EXPECT_EQ(warning_of(load(llama(R"(, "head_dmi": 64)"))),
            "head_dmi: not a key that is read; did you mean head_dim?");
  EXPECT_EQ(warning_of(load(R"({"model_type": "llama", "head_dim": 64, "num_hidden_layer": 2})")),
            "num_hidden_layer: not a key that is read; did you mean num_hidden_layers?\n"
            "num_hidden_layers: missing, so nothing is known about the layers");
  EXPECT_EQ(
      warning_of(load(llama(R"(, "head_dims": 64, "head_dim": 64, "v_head_dim": 7, "hidden_act": "silu")"))),
      "")
      << "the key itself is there; the others are words of their own";
  EXPECT_EQ(warning_of(
                load(R"({"model_type": "deepseek_v4", "num_hidden_layers": 2, "compress_rates": {"x": 4}})")),
            "")
      << "Transformers' own key beside compress_ratios";
  EXPECT_EQ(warning_of(load(
                R"({"model_type": "pixtral", "head_dim": 64, "num_hidden_layers": 2, "rope_thtea": 5})")),
            "rope_thtea: not a key that is read; did you mean rope_theta?");
  EXPECT_EQ(warning_of(load(llama(R"(, "visoin_config": {"model_type": "pixtral"})"))),
            "visoin_config: not a key that is read; did you mean vision_config?");
  EXPECT_EQ(warning_of(load(R"({"model_type": "laguna", "num_hidden_layers": 2, "rope_parameters": {
      "full_attention": {"rope_theta": 1e4}, "sliding_atention": {"rope_theta": 1e4}}})")),
            "rope_parameters.sliding_atention: no layer is of that type");
}

TEST(Unread, OtherPartsWithARope) {
  EXPECT_EQ(warning_of(load(R"({"model_type": "x", "text_config": {"model_type": "llama", "head_dim": 64,
      "num_hidden_layers": 1}, "audio_config": {"rope_parameters": {"rope_theta": 1e4}}})")),
            "audio_config.rope_parameters: not read, since this part is none that is described");
}

TEST(Unread, ThePartThatThinks) {
  const auto model = load(R"({"architectures": ["Qwen2_5OmniModel"], "model_type": "qwen2_5_omni",
      "thinker_config": {"text_config": {"model_type": "qwen2_5_omni_text", "head_dim": 128,
      "num_hidden_layers": 2, "rope_theta": 1e6, "rope_scaling": {"type": "mrope", "mrope_section":
      [16, 24, 24]}}}, "talker_config": {"rope_theta": 5}})");
  EXPECT_EQ(base_of(model), 1e6);
  EXPECT_EQ(model.architecture(), "Qwen2_5OmniModel");
  EXPECT_EQ(source_of(model, "base"), "thinker_config.text_config.rope_theta");
}

TEST(Unread, ValuesThatTurnToo) {
  EXPECT_EQ(warning_of(load(R"({"model_type": "roformer", "head_dim": 64, "num_hidden_layers": 2,
                               "rotary_value": true})")),
            "rotary_value true: the value vectors are turned too, by the same rope");
}

TEST(Assumed, TheScalingOfAClass) {
  // Transformers 5.24: W[12] and A of gpt-oss, whose own files state the same numbers.
  const auto model = load(R"({"model_type": "gpt_oss", "num_hidden_layers": 2})");
  EXPECT_EQ(
      warning_of(model),
      "rope_parameters: missing, so the scaling is the one that Transformers' class assumes; a file that "
      "means none states rope_type default");
  EXPECT_EQ(source_of(model, "factor"), "default of gpt_oss.factor");
  const Spectrum& spectrum = model.ropes()[0].rope.spectrum();
  EXPECT_NEAR(spectrum.inv_freq()[12], 0.00679495949, 1e-11);
  EXPECT_NEAR(spectrum.attention_factor(), 1.3465735903, 1e-10);
  const auto plain = load(R"({"model_type": "gpt_oss", "num_hidden_layers": 2,
                              "rope_parameters": {"rope_type": "default"}})");
  EXPECT_EQ(name(plain.ropes()[0].rope.spectrum().scaling()), "default");
  EXPECT_TRUE(plain.warnings().empty());
  for (const std::string type : {"ministral3", "mistral4", "cwm", "apertus", "openai_privacy_filter"}) {
    const auto silent = load(R"({"head_dim": 64, "num_hidden_layers": 2, "model_type": ")" + type + "\"}");
    EXPECT_NE(name(silent.ropes()[0].rope.spectrum().scaling()), "default") << type;
    EXPECT_FALSE(silent.warnings().empty()) << type;
  }
  EXPECT_EQ(load(R"({"model_type": "ministral3", "num_hidden_layers": 1})").temperature()->query.length,
            16384);
}

TEST(Assumed, TheOriginalLengthOfPhi3) {
  const std::string config = R"({"model_type": "phi3", "num_hidden_layers": 1, "head_dim": 4,
      "max_position_embeddings": 131072, "rope_scaling": {"type": "longrope", "short_factor": [1, 1],
      "long_factor": [2, 2]}})";
  const auto model = load(config);
  EXPECT_EQ(model.ropes()[0].original_context, 4096);
  EXPECT_EQ(source_of(model, "original_max_position_embeddings"), "default of phi3");
  EXPECT_NEAR(model.ropes()[0].rope.spectrum().attention_factor(), 1.1902380714, 1e-10);
}

TEST(Nested, KeysBesideTheLayerTypes) {
  const auto config = [](const std::string& outer, const std::string& inner) {
    return R"({"model_type": "gemma3_text", "num_hidden_layers": 6, "rope_parameters": {
        "full_attention": {"rope_type": "linear", "factor": 8, "rope_theta": 1000000},
        "sliding_attention": {)" +
           inner + R"("rope_theta": 10000}, )" + outer + "}}";
  };
  // Transformers 5.24 reads the two dictionaries and nothing beside them.
  const auto model = load(config(R"("rope_type": "default")", R"("rope_type": "default", )"));
  EXPECT_EQ(picture(model), "lllllg");
  EXPECT_EQ(base_of(model, "global"), 1e6);
  EXPECT_EQ(base_of(model, "local"), 1e4);
  EXPECT_EQ(warning_of(model), "rope_parameters.rope_type: not read, since each layer type states its own");
  EXPECT_FAILS(Model::from_config(config(R"("factor": 4)", R"("rope_type": "default", )")),
               StatusCode::malformed,
               "rope_parameters.factor: stands beside the dictionaries of layer types, and "
               "rope_parameters.sliding_attention has none of its own; must stand in each of them");
}

TEST(Nested, DeepSeekV4sFlatDictionaryIsTheCompressedRopes) {
  const auto config = [](const std::string& keys) {
    return R"({"model_type": "deepseek_v4", "num_hidden_layers": 2, "compress_ratios": [0, 4],
        "rope_parameters": {)" +
           keys + "}}";
  };
  const std::string yarn = R"("rope_type": "yarn", "factor": 16, "original_max_position_embeddings": 65536)";
  const auto model = load(config(yarn));
  EXPECT_EQ(picture(model), "mc");
  EXPECT_EQ(base_of(model, "main"), 1e4);
  EXPECT_EQ(base_of(model, "compress"), 160000);
  EXPECT_EQ(name(model.find_rope("main")->rope.spectrum().scaling()), "default");
  EXPECT_EQ(name(model.find_rope("compress")->rope.spectrum().scaling()), "yarn");
  EXPECT_FAILS(Model::from_config(config(yarn + R"(, "rope_theta": 10000)")), StatusCode::malformed,
               "rope_parameters.rope_theta: for which of the two ropes?");
  EXPECT_FAILS(Model::from_config(config(R"("main": {"rope_theta": 10000})")), StatusCode::malformed,
               "rope_parameters.compress: missing, where the other rope has an entry");
}

TEST(Diffusers, AreToldByTheirClass) {
  const auto model =
      load(R"({"_class_name": "FluxTransformer2DModel", "num_layers": 2, "num_single_layers": 3,
      "attention_head_dim": 64, "axes_dims_rope": [16, 24, 24]})");
  EXPECT_EQ(model.architecture(), "FluxTransformer2DModel");
  EXPECT_EQ(model.layers().size(), 5U);
  EXPECT_EQ(model.ropes()[0].rope.rotary_dim(), 64);
  EXPECT_EQ(source_of(model, "axis_sections"), "axes_dims_rope");
  EXPECT_TRUE(model.warnings().empty());
}

TEST(Diffusers, WrongFilesAreRefused) {
  const auto flux = [](const std::string& keys) {
    return Model::from_config(R"({"_class_name": "FluxTransformer2DModel", "num_layers": 2, )" + keys + "}");
  };
  EXPECT_FAILS(Model::from_config(R"({"_class_name": "UNet2DConditionModel"})"), StatusCode::unsupported,
               "_class_name \"UNet2DConditionModel\": a model of diffusers that is not known");
  EXPECT_FAILS(Model::from_config(R"({"_class_name": "MochiTransformer3DModel"})"), StatusCode::unsupported,
               "its frequencies are learned and stand in the weights (pos_frequencies)");
  EXPECT_FAILS(Model::from_config(R"({"_class_name": 3})"), StatusCode::malformed,
               "_class_name: expected text, got a number");
  EXPECT_FAILS(flux(R"("axes_dims_rope": [15, 56, 56])"), StatusCode::malformed, "axes_dims_rope");
  EXPECT_FAILS(flux(R"("axes_dims_rope": [16, 56.5])"), StatusCode::malformed,
               "axes_dims_rope: 56.5: must be a whole number from 2 to 8192");
  EXPECT_FAILS(flux(R"("axes_dims_rope": [64, 128])"), StatusCode::malformed,
               "axes_dims_rope: sum 192, expected head_dim 128 (default of FluxTransformer2DModel)");
  EXPECT_FAILS(flux(R"("axes_dims_rope": "x")"), StatusCode::malformed, "axes_dims_rope: expected a list");
  EXPECT_EQ(flux(R"("rope_theta": 5)")->warnings()[0], "rope_theta: not read by FluxTransformer2DModel");
  EXPECT_EQ(flux(R"("theta": 5)")->warnings()[0], "theta: not read by FluxTransformer2DModel");
  EXPECT_EQ(flux(R"("axes_dims": [32, 48, 48])")->warnings()[0],
            "axes_dims: not read by FluxTransformer2DModel");
  EXPECT_EQ(flux(R"("rope_axes_dim": [16, 56, 56])")->warnings().size(), 1U);
  EXPECT_FAILS(flux(R"("num_single_layers": 10000)"), StatusCode::malformed,
               "num_layers + num_single_layers 10002: must be from 0 to 10000");
}

TEST(Diffusers, AxesFillTheHead) {
  const auto refused = [](std::string_view class_name, std::string_view keys, const std::string& why) {
    EXPECT_FAILS(Model::from_config(R"({"num_layers": 2, "_class_name": ")" + std::string(class_name) +
                                    "\", " + std::string(keys) + "}"),
                 StatusCode::malformed, why);
  };
  refused("FluxTransformer2DModel", R"("attention_head_dim": 128, "axes_dims_rope": [16, 24, 24])",
          "axes_dims_rope: sum 64, expected head_dim 128 (attention_head_dim)");
  refused("Flux2Transformer2DModel", R"("attention_head_dim": 128, "axes_dims_rope": [32, 32, 32])",
          "axes_dims_rope: sum 96, expected head_dim 128 (attention_head_dim)");
  refused("Lumina2Transformer2DModel", R"("hidden_size": 2304, "num_attention_heads": 18)",
          "default of Lumina2Transformer2DModel: sum 96, expected head_dim 128 (derived: hidden_size / "
          "num_attention_heads)");
}

TEST(Unread, WordsForABase) {
  for (const char* key : {"Rope_theta", "theta", "base"}) {
    const auto model = load(llama(R"(, ")" + std::string(key) + R"(": 5e5)"));
    ASSERT_EQ(model.warnings().size(), 1U) << key;
    EXPECT_EQ(model.warnings()[0], std::string(key) + ": not a key that is read; did you mean rope_theta?");
  }
}

TEST(Unread, ModelsKnownToHaveNoRope) {
  for (const char* type : {"clip", "clip_text_model", "siglip", "siglip_vision_model", "siglip2", "whisper",
                           "wav2vec2", "parakeet_encoder"}) {
    EXPECT_FAILS(Model::from_config(R"({"model_type": ")" + std::string(type) + R"(", "hidden_size": 768,
        "num_attention_heads": 12, "num_hidden_layers": 2})"),
                 StatusCode::unsupported,
                 "model_type " + std::string(type) + ": not supported: it has no rotary embedding");
  }
}

}  // namespace
}  // namespace rotary
