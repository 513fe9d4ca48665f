// SPDX-License-Identifier: Apache-2.0
// params.json of Mistral and Meta, the original config.json of gpt-oss, and how a file is told from another.
#include <gtest/gtest.h>

#include <cmath>
#include <rotary/model.hpp>

#include "model_checks.hpp"
#include "support/files.hpp"

namespace rotary {
namespace {

using testing::base_of;
using testing::find_value;
using testing::source_of;

std::string object(std::string_view common, std::string_view keys) {
  return "{" + std::string(common) + (keys.empty() ? "" : ", ") + std::string(keys) + "}";
}
std::string mistral(std::string_view keys = "") {
  return object(
      R"("dim": 4096, "n_layers": 3, "n_heads": 32, "n_kv_heads": 8, "head_dim": 128, "norm_eps": 1e-05)",
      keys);
}
std::string meta(std::string_view keys = "") {
  return object(R"("dim": 4096, "n_layers": 4, "n_heads": 32, "n_kv_heads": 8, "multiple_of": 1024)", keys);
}
std::string gpt_oss(std::string_view keys = "") {
  return object(R"("num_hidden_layers": 24, "hidden_size": 2880, "head_dim": 64, "num_attention_heads": 64,
                   "initial_context_length": 4096)",
                keys);
}
Model load(const std::string& json, const ModelOptions& options = {}) {
  auto model = Model::from_config(json, "params.json", options);
  EXPECT_SUCCEEDS(model);
  return model.value();
}
const Spectrum& spectrum_of(const Model& model) { return model.ropes()[0].rope.spectrum(); }

TEST(MistralParams, PlainAndInterleaved) {
  const auto model = load(mistral(R"("rope_theta": 1000000.0)"));
  EXPECT_EQ(model.source(), Model::Source::params);
  EXPECT_EQ(model.model_type(), "mistral");
  EXPECT_EQ(source_of(model, "model_type"), "derived: the keys of the file");
  EXPECT_EQ(base_of(model), 1e6);
  EXPECT_EQ(model.layers().size(), 3U);
  EXPECT_EQ(model.ropes()[0].rope.pairing(), Pairing::interleaved);
  EXPECT_EQ(source_of(model, "pairing"), "how mistral-inference rotates");
  EXPECT_TRUE(model.warnings().empty());
  EXPECT_EQ(load(mistral(), {.pairing = Pairing::half_split}).ropes()[0].rope.pairing(), Pairing::half_split);
  EXPECT_FALSE(load(mistral(R"("model_type": "transformer")")).ropes().empty());
}

TEST(MistralParams, TheSilentBase) {
  EXPECT_EQ(base_of(load(mistral())), 1e6);
  EXPECT_EQ(source_of(load(mistral()), "base"), "default of mistral-inference (assumed)");
  const auto window = load(mistral(R"("sliding_window": 4096)"));
  EXPECT_EQ(base_of(window), 1e4);
  EXPECT_EQ(source_of(window, "base"), "default: base 10000 with a sliding_window (assumed)");
}

TEST(MistralParams, YarnIsTheOneOfItsConfig) {
  constexpr std::string_view yarn =
      R"("rope_theta": 1e6, "max_position_embeddings": 262144, "yarn": {"original_max_position_embeddings": 16384,
         "factor": 16, "apply_scale": false, "beta": 32, "alpha": 1},
         "llama_4_scaling": {"original_max_position_embeddings": 16384, "beta": 0.1})";
  const auto model = load(mistral(yarn));
  EXPECT_TRUE(model.warnings().empty());
  const auto preset = Model::from_preset("ministral-3-3b").value();
  EXPECT_EQ(spectrum_of(model).attention_factor(), 1);
  EXPECT_TRUE(std::ranges::equal(spectrum_of(model).inv_freq(), spectrum_of(preset).inv_freq()));
  EXPECT_EQ(source_of(model, "beta_fast"), "yarn.beta");
  EXPECT_EQ(source_of(model, "beta_slow"), "yarn.alpha");
  EXPECT_EQ(source_of(model, "attention_factor"), "yarn.apply_scale");
  EXPECT_EQ(model.ropes()[0].original_context, 16384);
  EXPECT_EQ(model.ropes()[0].context, 262144);
  EXPECT_EQ(std::get<double>(find_value(model, "temperature_scale")->value), 0.1);
  EXPECT_EQ(source_of(model, "temperature_length"), "llama_4_scaling.original_max_position_embeddings");
  const auto scaled = load(mistral(R"("yarn": {"original_max_position_embeddings": 16384, "factor": 16})"));
  EXPECT_NEAR(spectrum_of(scaled).attention_factor(), 1.2772588722, 1e-10);
}

TEST(MistralParams, LatentAttentionScalesTheSoftmax) {
  const auto large = [&](std::string_view scale) {
    return load(
        object(R"("dim": 7168, "n_layers": 2, "n_heads": 128, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
                          "rope_theta": 10000.0, "yarn": {"original_max_position_embeddings": 8192, "factor": 128,
                          "apply_scale": )" +
                   std::string(scale) + "}",
               ""));
  };
  const auto without = large("false"), with = large("true");
  EXPECT_EQ(without.ropes()[0].rope.rotary_offset(), 128);
  EXPECT_EQ(without.ropes()[0].rope.pairing(), Pairing::interleaved);
  EXPECT_EQ(spectrum_of(without).softmax_factor(), 1);
  EXPECT_EQ(spectrum_of(with).attention_factor(), 1);
  EXPECT_NEAR(spectrum_of(with).softmax_factor(), 1.4852030264 * 1.4852030264, 1e-9);
}

TEST(MistralParams, PixtralsImageEncoder) {
  const auto model = load(mistral(R"("vision_encoder": {"hidden_size": 1024, "num_attention_heads": 16,
                                     "num_hidden_layers": 24, "rope_theta": 10000.0})"));
  ASSERT_EQ(model.ropes().size(), 2U);
  const auto& vision = *model.find_rope("vision");
  EXPECT_FALSE(vision.of_layers);
  EXPECT_EQ(vision.rope.pairing(), Pairing::interleaved);
  EXPECT_EQ(vision.rope.head_dim(), 64);
  EXPECT_EQ(vision.rope.spectrum().axes(), 2);
  // Rows take every other frequency of one schedule, columns those between.
  EXPECT_NEAR(vision.rope.spectrum().inv_freq()[1], std::pow(1e4, -4.0 / 64), 1e-15);
  EXPECT_NEAR(vision.rope.spectrum().inv_freq()[16], std::pow(1e4, -2.0 / 64), 1e-15);
  EXPECT_EQ(source_of(model, "base", 1), "vision_encoder.rope_theta");
  EXPECT_EQ(model.rope_for_layer(2).value(), model.ropes()[0].rope);
}

TEST(MistralParams, Errors) {
  EXPECT_FAILS(Model::from_config(mistral(R"("yarn": {"factor": 16})"), "params.json"), StatusCode::malformed,
               "params.json: yarn.original_max_position_embeddings: missing, and the scaling needs it");
  EXPECT_FAILS(
      Model::from_config(mistral(R"("yarn": {"factor": "x", "original_max_position_embeddings": 1})")),
      StatusCode::malformed, "yarn.factor: expected a number, got text \"x\"");
  EXPECT_FAILS(Model::from_config(mistral(R"("yarn": 4)")), StatusCode::malformed,
               "yarn: expected an object, got a number");
  EXPECT_FAILS(Model::from_config(mistral(R"("llama_4_scaling": {"beta": 0.1})")), StatusCode::malformed,
               "llama_4_scaling.original_max_position_embeddings: missing");
  EXPECT_FAILS(Model::from_config(mistral(R"("vision_encoder": {"rope_theta": 10000.0})")),
               StatusCode::malformed, "vision_encoder.head_dim: missing");
  EXPECT_FAILS(Model::from_config(mistral(R"("vision_encoder": {"head_dim": 6})")), StatusCode::malformed,
               "vision_encoder.head_dim: head_dim 6 of an image encoder: must be a multiple of 4");
  EXPECT_FAILS(Model::from_config(mistral(R"("rope_theta": -1)")), StatusCode::malformed,
               "base -1: must be positive");
  const auto model =
      load(mistral(R"("yarn": {"factor": 2, "original_max_position_embeddings": 4096, "betta": 3},
                                     "rope_theeta": 3)"));
  ASSERT_EQ(model.warnings().size(), 2U);
  EXPECT_EQ(model.warnings()[0], "rope_theeta: not a key that is read; did you mean rope_theta?");
  EXPECT_EQ(model.warnings()[1], "yarn.betta: Mistral's YaRN has no such key, so it is not read");
}

TEST(MetaParams, PlainLlama2) {
  const auto model = load(meta());
  EXPECT_EQ(model.model_type(), "llama");
  EXPECT_EQ(model.ropes()[0].rope.head_dim(), 128);
  EXPECT_EQ(model.ropes()[0].rope.pairing(), Pairing::interleaved);
  EXPECT_EQ(base_of(model), 1e4);
  EXPECT_EQ(source_of(model, "base"), "default of Meta's code for Llama 2 (assumed)");
  EXPECT_TRUE(load(meta(R"("rope_theta": 500000.0, "use_scaled_rope": false)")).warnings().empty());
}

TEST(MetaParams, ScaledRopeIsTheOneOfLlama31) {
  const auto model = load(meta(R"("rope_theta": 500000.0, "use_scaled_rope": true)"));
  const auto preset = Model::from_preset("llama-3.1-8b").value();
  EXPECT_TRUE(std::ranges::equal(spectrum_of(model).inv_freq(), spectrum_of(preset).inv_freq()));
  EXPECT_EQ(source_of(model, "scaling"), "use_scaled_rope");
  EXPECT_EQ(source_of(model, "factor"), "default of Meta's code (assumed)");
  ASSERT_EQ(model.warnings().size(), 1U) << "Llama 3.2's file looks the same, and is scaled by 32";
  EXPECT_NE(model.warnings()[0].find("Llama 3.2 say 32"), std::string::npos);
}

TEST(MetaParams, Llama4StatesWhatItIsScaledBy) {
  const auto model = load(meta(R"("rope_theta": 500000.0, "use_scaled_rope": true, "rope_scaling_factor": 16,
                                  "rope_high_freq_factor": 1, "nope_layer_interval": 4)"));
  EXPECT_TRUE(model.warnings().empty());
  const auto& llama3 = std::get<scaling::Llama3>(spectrum_of(model).scaling());
  EXPECT_EQ(llama3.factor, 16);
  EXPECT_EQ(llama3.high_freq_factor, 1);
  EXPECT_TRUE(model.layers()[2]);
  EXPECT_FALSE(model.layers()[3]);
}

TEST(GptOssOriginal, EqualsThePreset) {
  const auto model = load(gpt_oss(R"("rope_theta": 150000, "rope_scaling_factor": 32.0, "rope_ntk_alpha": 1.0,
                                     "rope_ntk_beta": 32.0)"));
  const auto preset = Model::from_preset("gpt-oss-20b").value();
  EXPECT_EQ(model.ropes()[0].rope, preset.ropes()[0].rope);
  EXPECT_EQ(model.layers().size(), 24U);
  EXPECT_EQ(model.ropes()[0].context, 131072);
  EXPECT_EQ(model.ropes()[0].original_context, 4096);
  EXPECT_EQ(source_of(model, "beta_fast"), "rope_ntk_beta");
  EXPECT_EQ(source_of(model, "truncate"), "default of gpt-oss's code");
  EXPECT_TRUE(model.warnings().empty());
  EXPECT_EQ(load(gpt_oss()).ropes()[0].rope, preset.ropes()[0].rope) << "its code's defaults";
  EXPECT_EQ(name(spectrum_of(load(gpt_oss(R"("rope_scaling_factor": 1)"))).scaling()), "default");
  EXPECT_FAILS(Model::from_config(gpt_oss(R"("rope_ntk_beta": [])")), StatusCode::malformed,
               "rope_ntk_beta: expected a number, got a list");
}

TEST(Params, AreToldByTheirKeys) {
  EXPECT_EQ(load(testing::llama("")).source(), Model::Source::hf_config);
  // A config of Transformers may speak of dim, n_layers and n_heads too.
  EXPECT_EQ(load(R"({"model_type": "llama", "dim": 512, "n_layers": 1, "n_heads": 8})").source(),
            Model::Source::hf_config);
}

TEST(Params, AFolderHasOneOfTheTwo) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder / "params.json", mistral());
  EXPECT_EQ(Model::from_path(folder.path())->source(), Model::Source::params);
  EXPECT_EQ(Model::from_path(folder / "consolidated.safetensors")->source(), Model::Source::params);
  testing::write_file(folder / "config.json", testing::llama(""));
  EXPECT_EQ(Model::from_path(folder.path())->source(), Model::Source::hf_config);
  EXPECT_EQ(Model::from_path(folder / "params.json")->source(), Model::Source::params);
}

// inference/configs/config_671B.json of DeepSeek-V3, which states no number of its rope.
constexpr std::string_view deepseek_v3 = R"({"vocab_size": 129280, "dim": 7168, "inter_dim": 18432,
    "moe_inter_dim": 2048, "n_layers": 61, "n_dense_layers": 3, "n_heads": 128, "n_routed_experts": 256,
    "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128)";

TEST(DeepSeek, V3ByTheConstantsOfItsCode) {
  const auto model = load(std::string(deepseek_v3) + "}");
  EXPECT_EQ(model.source(), Model::Source::params);
  EXPECT_EQ(model.model_type(), "deepseek_v3");
  const Rope& rope = model.ropes()[0].rope;
  EXPECT_EQ(rope.head_dim(), 192);
  EXPECT_EQ(rope.rotary_offset(), 128);
  EXPECT_EQ(rope.pairing(), Pairing::interleaved);
  const Spectrum& spectrum = rope.spectrum();
  EXPECT_EQ(spectrum.attention_factor(), 1);
  EXPECT_NEAR(spectrum.softmax_factor(), 1.8738542071, 1e-10);
  EXPECT_NEAR(spectrum.inv_freq()[12], 0.0268793601, 1e-10);
  EXPECT_NEAR(spectrum.inv_freq()[16], 0.0055, 1e-12);
  EXPECT_NEAR(spectrum.inv_freq()[31], 3.33380358e-06, 1e-14);
  EXPECT_EQ(source_of(model, "factor"), "default of DeepSeek's code");
}

TEST(DeepSeek, V3WithoutScalingWithinTheOriginalLength) {
  const auto model = load(std::string(deepseek_v3) + R"(, "max_seq_len": 4096, "mscale": 0.707})");
  EXPECT_EQ(name(model.ropes()[0].rope.spectrum().scaling()), "default");
  EXPECT_EQ(source_of(model, "scaling"),
            "derived: max_seq_len 4096 is not over original_seq_len 4096 (default of DeepSeek's code)");
  const auto longer = load(std::string(deepseek_v3) + R"(, "max_seq_len": 8192, "mscale": 0.707})");
  EXPECT_NEAR(longer.ropes()[0].rope.spectrum().softmax_factor(), 1.5896261652, 1e-10);
}

TEST(DeepSeek, V3WithoutTheLanesThatStandStill) {
  const auto model = load(R"({"dim": 2048, "inter_dim": 10944, "n_layers": 27, "n_heads": 16,
                              "qk_rope_head_dim": 64})");
  EXPECT_EQ(model.ropes()[0].rope.head_dim(), 192);
  EXPECT_EQ(model.ropes()[0].rope.rotary_offset(), 128);
  EXPECT_EQ(source_of(model, "rotary_offset"), "default of DeepSeek's code");
  EXPECT_EQ(
      source_of(model, "scaling"),
      "derived: max_seq_len 16384 (default of DeepSeek's code) is over original_seq_len 4096 (default of "
      "DeepSeek's code)");
  const auto stated = load(R"({"dim": 2048, "inter_dim": 10944, "n_layers": 27, "n_heads": 16,
                               "qk_rope_head_dim": 64, "qk_nope_head_dim": 0})");
  EXPECT_EQ(stated.ropes()[0].rope.head_dim(), 64);
  EXPECT_FAILS(Model::from_config(R"({"dim": 2048, "inter_dim": 10944, "n_layers": 27, "n_heads": 16,
                                      "qk_rope_head_dim": 0})"),
               StatusCode::malformed, "qk_rope_head_dim 0: must be at least 2");
}

TEST(DeepSeek, V4HasTwoRopes) {
  const auto model =
      load(R"({"dim": 4096, "moe_inter_dim": 2048, "n_layers": 3, "n_mtp_layers": 1, "n_heads": 64,
      "head_dim": 512, "rope_head_dim": 64, "compress_ratios": [0, 4, 128, 0], "rope_theta": 10000.0,
      "compress_rope_theta": 160000.0, "rope_factor": 16, "original_seq_len": 65536, "beta_fast": 32,
      "beta_slow": 1})");
  EXPECT_EQ(testing::picture(model), "mcc");
  EXPECT_EQ(model.ropes()[0].rope, Model::from_preset("deepseek-v4")->find_rope("main")->rope);
  EXPECT_EQ(model.ropes()[1].rope, Model::from_preset("deepseek-v4")->find_rope("compress")->rope);
}

std::string v4(std::string_view keys) {
  return object(R"("dim": 4096, "n_layers": 3, "n_mtp_layers": 1, "n_heads": 64)", keys);
}

TEST(DeepSeek, V4IsToldByItsRatios) {
  const auto model = load(v4(R"("compress_ratios": [0, 4, 128, 0])"));
  EXPECT_EQ(model.model_type(), "deepseek_v4");
  EXPECT_EQ(testing::picture(model), "mcc");
  EXPECT_EQ(model.ropes()[0].rope.rotary_offset(), 448);
  EXPECT_EQ(base_of(model, "compress"), 40000);
}

TEST(DeepSeek, V4WithWrongNumbers) {
  const auto refused = [](std::string_view keys, const std::string& why) {
    EXPECT_FAILS(Model::from_config(v4(keys)), StatusCode::malformed, why);
  };
  refused(R"("compress_ratios": [])", "compress_ratios: expected one number a layer, got an empty list");
  refused(R"("rope_head_dim": 64)", "compress_ratios: expected one number a layer, got none");
  refused(R"("compress_ratios": [0, -4, 128])", "compress_ratios: -4: must be 0 (no compression) or more");
  refused(R"("compress_ratios": [0, 4, 128], "original_seq_len": -5)",
          "original_seq_len -5: must be 0 (no scaling) or more tokens");
  const auto doubtful = load(v4(R"("compress_ratios": [0, 4, 128], "mscale": 2)"));
  ASSERT_EQ(doubtful.warnings().size(), 1U);
  EXPECT_EQ(doubtful.warnings()[0], "mscale: not read by DeepSeek's code of V4");
}

}  // namespace
}  // namespace rotary
