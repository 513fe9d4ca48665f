// SPDX-License-Identifier: Apache-2.0
// GGUF keys, from a real header and from small ones made here.
#include <gtest/gtest.h>

#include <limits>
#include <rotary/model.hpp>
#include <vector>

#include "gguf_writer.hpp"
#include "model_checks.hpp"

namespace rotary {
namespace {

using testing::base_of;
using testing::source_of;

using testing::GgufWriter;
using testing::llama_gguf;

TEST(GgufModel, RealGemma3) {
  const auto model = Model::from_path(testing::data_path("gemma3_270m_header.gguf"));
  ASSERT_SUCCEEDS(model);
  EXPECT_EQ(model->source(), Model::Source::gguf);
  EXPECT_EQ(model->model_type(), "gemma3");
  ASSERT_EQ(model->layers().size(), 18U);
  for (std::size_t i = 0; i < 18; ++i)
    EXPECT_EQ(model->ropes()[*model->layers()[i]].name, i % 6 == 5 ? "global" : "local");
  EXPECT_EQ(base_of(*model, "local"), 1e4);
  EXPECT_EQ(base_of(*model, "global"), 1e6);
  EXPECT_EQ(source_of(*model, "base", 0), "default of gemma3");
  EXPECT_EQ(source_of(*model, "base", 1), "gemma3.rope.freq_base");
  EXPECT_EQ(source_of(*model, "layer_pattern"), "default of gemma3");
  EXPECT_EQ(model->ropes()[0].rope.head_dim(), 256);
  EXPECT_EQ(model->ropes()[0].context, 32768);
  EXPECT_EQ(model->ropes()[0].rope.pairing(), Pairing::half_split);
  EXPECT_TRUE(model->warnings().empty());
  // The same ropes as the model's config.json describes.
  const auto config = Model::from_path(testing::data_path("gemma3_270m_config.json")).value();
  EXPECT_EQ(config.find_rope("local")->rope, model->find_rope("local")->rope);
  EXPECT_EQ(config.find_rope("global")->rope, model->find_rope("global")->rope);
}

TEST(GgufModel, LlamaRowsAreInterleaved) {
  const auto model = llama_gguf().load().value();
  EXPECT_EQ(model.ropes()[0].rope.pairing(), Pairing::interleaved);
  EXPECT_EQ(source_of(model, "pairing"), "row order of llama in GGUF");
  EXPECT_EQ(model.layers().size(), 2U);
  EXPECT_EQ(name(model.ropes()[0].rope.spectrum().scaling()), "default");
}

TEST(GgufModel, MissingBaseIsAssumed) {
  const auto model = GgufWriter("qwen2")
                         .set("embedding_length", 896U)
                         .set("attention.head_count", 14U)
                         .set("block_count", 1U)
                         .load();
  EXPECT_EQ(base_of(*model), 10000);
  EXPECT_EQ(source_of(*model, "base"), "default: the file states no base (assumed)");
  EXPECT_EQ(model->ropes()[0].rope.head_dim(), 64);
  EXPECT_EQ(source_of(*model, "head_dim"), "derived: qwen2.embedding_length / qwen2.attention.head_count");
}

TEST(GgufModel, DivisorsAreLlama3Scaling) {
  // 1, ... 1, then factors between, then 8: as llama.cpp's converter writes Llama 3.1.
  const auto scaled =
      Spectrum::make({.rotary_dim = 128, .base = 500000, .scaling = scaling::Llama3{}}).value();
  const auto plain = Spectrum::make({.rotary_dim = 128, .base = 500000}).value();
  std::vector<float> divisors;
  for (std::size_t i = 0; i < 64; ++i)
    divisors.push_back(static_cast<float>(plain.inv_freq()[i] / scaled.inv_freq()[i]));
  const auto model = llama_gguf().divisors(divisors).load();
  ASSERT_SUCCEEDS(model);
  const auto inv_freq = model->ropes()[0].rope.spectrum().inv_freq();
  EXPECT_NEAR(inv_freq[29] / 0.00216657076, 1, 1e-7);
  EXPECT_NEAR(inv_freq[63] / 3.06892599e-07, 1, 1e-7);
  EXPECT_EQ(source_of(*model, "divisors"), "rope_freqs.weight");
  EXPECT_EQ(source_of(*model, "base"), "llama.rope.freq_base");
  EXPECT_FAILS(llama_gguf().divisors(std::vector<float>(32, 1)).load(), StatusCode::malformed,
               "rope_freqs.weight: expected 64 numbers of type f32, one a pair");
  divisors[5] = 0;
  EXPECT_FAILS(llama_gguf().divisors(divisors).load(), StatusCode::malformed,
               "rope_freqs.weight[5] 0: must be positive");
}

// ggml divides the position's angle first and mixes YaRN's two frequencies then: both count. Expected: that, apart.
TEST(GgufModel, DivisorsBesideYarn) {
  std::vector<float> divisors;
  for (int i = 0; i < 64; ++i) divisors.push_back(1 + static_cast<float>(i) / 16);
  auto file = std::move(GgufWriter("llama")
                            .set("attention.key_length", 128U)
                            .set("block_count", 2U)
                            .set("context_length", 131072U)
                            .set("rope.freq_base", 1e6F)
                            .set("rope.scaling.type", "yarn")
                            .set("rope.scaling.factor", 4.0F)
                            .set("rope.scaling.original_context_length", 32768U)
                            .divisors(divisors));
  const auto model = file.load();
  ASSERT_SUCCEEDS(model);
  const Spectrum& spectrum = model->ropes()[0].rope.spectrum();
  EXPECT_TRUE(std::holds_alternative<scaling::Yarn>(spectrum.scaling()));
  EXPECT_EQ(spectrum.base(), 1e6);
  ASSERT_EQ(spectrum.divisors().size(), 64U);
  EXPECT_NEAR(spectrum.inv_freq()[10] / 0.0710635067501205, 1, 1e-14);
  EXPECT_NEAR(spectrum.inv_freq()[30] / 0.0003702125152163485, 1, 1e-14);
  EXPECT_NEAR(spectrum.inv_freq()[63] / 6.283229168363137e-08, 1, 1e-14);
  EXPECT_NEAR(spectrum.attention_factor(), 1.1386294361119891, 1e-15);
  EXPECT_EQ(model->as(Peer::llama_cpp)->ropes()[0].rope, model->ropes()[0].rope);
  EXPECT_FAILS(model->as(Peer::vllm), StatusCode::unsupported, "scaling type divided: vllm has none");
  EXPECT_EQ(model->rope_at(0, 100).value(), model->ropes()[0].rope);
  EXPECT_FAILS(file.divisors(divisors, "rope_factors_long.weight")
                   .divisors(divisors, "rope_factors_short.weight")
                   .load(),
               StatusCode::malformed, "rope_freqs.weight and rope_factors_long.weight: must be one of them");
}

TEST(GgufModel, LongropeArrivesAsTwoTensors) {
  std::vector<float> ones(48, 1), rising(48);
  for (std::size_t i = 0; i < 48; ++i) rising[i] = 1 + static_cast<float>(i) / 4;
  const auto phi = [&](std::size_t numbers) {
    return GgufWriter("phi3")
        .set("attention.key_length", 128U)
        .set("rope.dimension_count", 96U)
        .set("block_count", 1U)
        .set("context_length", 131072U)
        .set("rope.scaling.original_context_length", 4096U)
        .set("rope.scaling.attn_factor", 1.19023807F)
        .divisors(ones, "rope_factors_short.weight")
        .divisors(std::vector<float>(rising.begin(), rising.begin() + static_cast<long>(numbers)),
                  "rope_factors_long.weight");
  };
  const auto plain = Spectrum::make({.rotary_dim = 96}).value();
  const auto shorter = phi(48).load({.length = 4096}).value();
  const auto longer = phi(48).load({.length = 4097}).value();
  for (std::size_t i = 0; i < 48; ++i) {
    EXPECT_EQ(shorter.ropes()[0].rope.spectrum().inv_freq()[i], plain.inv_freq()[i]);
    EXPECT_DOUBLE_EQ(longer.ropes()[0].rope.spectrum().inv_freq()[i] * static_cast<double>(rising[i]),
                     plain.inv_freq()[i]);
  }
  EXPECT_NEAR(longer.ropes()[0].rope.spectrum().attention_factor(), 1.1902380714, 1e-7);
  EXPECT_EQ(source_of(longer, "attention_factor"), "phi3.rope.scaling.attn_factor");
  EXPECT_EQ(longer.ropes()[0].original_context, 4096);
  EXPECT_FAILS(phi(47).load(), StatusCode::malformed,
               "rope_factors_long.weight: expected 48 numbers of type f32, one a pair");
}

TEST(GgufModel, Gemma4HasItsOwnLocalWindow) {
  std::vector<float> divisors(256, 1e30F);
  std::fill_n(divisors.begin(), 64, 1.0F);
  const auto model = GgufWriter("gemma4")
                         .set("attention.key_length", 512U)
                         .set("attention.key_length_swa", 256U)
                         .set("rope.dimension_count", 512U)
                         .set("rope.dimension_count_swa", 256U)
                         .set("rope.freq_base", 1e6F)
                         .set("rope.freq_base_swa", 10000.0F)
                         .set("block_count", 6U)
                         .divisors(divisors)
                         .load()
                         .value();
  const auto config = Model::from_config(R"({"model_type": "gemma4_text", "num_hidden_layers": 6})").value();
  for (const char* name : {"local", "global"}) {
    const Rope& mine = model.find_rope(name)->rope;
    const Rope& other = config.find_rope(name)->rope;
    EXPECT_EQ(mine.head_dim(), other.head_dim()) << name;
    EXPECT_TRUE(std::ranges::equal(mine.spectrum().inv_freq(), other.spectrum().inv_freq())) << name;
  }
}

TEST(GgufModel, LinearAndNone) {
  const auto scaling_of = [](const GgufWriter& writer) {
    return writer.load()->ropes()[0].rope.spectrum().scaling();
  };
  EXPECT_EQ(scaling_of(llama_gguf().set("rope.scaling.factor", 4.0F)), Scaling(scaling::Linear{4}));
  EXPECT_EQ(scaling_of(llama_gguf().set("rope.scale_linear", 4.0F)), Scaling(scaling::Linear{4}));
  EXPECT_EQ(scaling_of(llama_gguf().set("rope.scaling.type", "linear").set("rope.scaling.factor", 8.0F)),
            Scaling(scaling::Linear{8}));
  EXPECT_EQ(scaling_of(llama_gguf().set("rope.scaling.type", "linear").set("rope.scaling.factor", 0.0F)),
            Scaling());
  EXPECT_EQ(scaling_of(llama_gguf().set("rope.scaling.type", "none").set("rope.scaling.factor", 8.0F)),
            Scaling());
  EXPECT_FAILS(llama_gguf().set("rope.scaling.type", "banana").load(), StatusCode::malformed,
               "llama.rope.scaling.type \"banana\": unknown scaling type");
  EXPECT_FAILS(llama_gguf().set("rope.scaling.type", "longrope").load(), StatusCode::malformed,
               "rope_factors_short.weight: missing, and longrope needs it");
}

TEST(GgufModel, YarnOfDeepSeekGivesTheSameMagnitudeAsItsConfig) {
  const auto gguf = GgufWriter("deepseek2")
                        .set("attention.key_length", 192U)
                        .set("rope.dimension_count", 64U)
                        .set("block_count", 27U)
                        .set("rope.freq_base", 10000.0F)
                        .set("rope.scaling.type", "yarn")
                        .set("rope.scaling.factor", 40.0F)
                        .set("rope.scaling.original_context_length", 4096U)
                        .set("rope.scaling.yarn_log_multiplier", 0.0707F)
                        .load();
  ASSERT_SUCCEEDS(gguf);
  const Rope& rope = gguf->ropes()[0].rope;
  const auto config = Model::from_preset("deepseek-v2-lite").value();
  EXPECT_EQ(rope.rotary_offset(), 128);
  EXPECT_EQ(rope.spectrum().attention_factor(), 1);
  EXPECT_NEAR(rope.spectrum().softmax_factor(), 1.58962616512, 1e-7);
  EXPECT_EQ(rope.pairing(), config.ropes()[0].rope.pairing());
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(rope.spectrum().inv_freq()[i], config.ropes()[0].rope.spectrum().inv_freq()[i]) << i;
  }
}

TEST(GgufModel, GptOssDoesNotRoundItsRamp) {
  // The file cannot state it; the family does.
  const auto model = GgufWriter("gpt-oss")
                         .set("attention.key_length", 64U)
                         .set("block_count", 1U)
                         .set("context_length", 131072U)
                         .set("rope.freq_base", 150000.0F)
                         .set("rope.scaling.type", "yarn")
                         .set("rope.scaling.factor", 32.0F)
                         .set("rope.scaling.original_context_length", 4096U)
                         .load()
                         .value();
  EXPECT_EQ(source_of(model, "truncate"), "default of gpt-oss");
  EXPECT_NEAR(model.ropes()[0].rope.spectrum().inv_freq()[12] / 0.00679495949, 1, 1e-9);
}

TEST(GgufModel, YarnTakesTheContextForTheOriginalLength) {
  const auto model =
      llama_gguf().set("rope.scaling.type", "yarn").set("rope.scaling.factor", 4.0F).load().value();
  EXPECT_EQ(source_of(model, "original_max_position_embeddings"),
            "llama.context_length, since no original length is stated (assumed)");
}

TEST(GgufModel, StatedLocalBaseAndPattern) {
  const auto model = GgufWriter("gemma3")
                         .set("attention.key_length", 256U)
                         .set("block_count", 4U)
                         .set("rope.freq_base", 1e6F)
                         .set("rope.freq_base_swa", 20000.0F)
                         .set("attention.sliding_window_pattern", 2U)
                         .load()
                         .value();
  EXPECT_EQ(base_of(model, "local"), 20000);
  EXPECT_EQ(source_of(model, "base", 0), "gemma3.rope.freq_base_swa");
  EXPECT_EQ(model.ropes()[*model.layers()[1]].name, "global");
  EXPECT_EQ(model.ropes()[*model.layers()[2]].name, "local");
}

TEST(GgufModel, LayersWithoutRope) {
  const auto model = GgufWriter("cohere2")
                         .set("attention.key_length", 128U)
                         .set("block_count", 4U)
                         .set("rope.freq_base", 1e4F)
                         .load()
                         .value();
  EXPECT_TRUE(model.layers()[2]);
  EXPECT_FALSE(model.layers()[3]);
}

TEST(GgufModel, BadNumbers) {
  EXPECT_FAILS(
      GgufWriter("llama").set("block_count", 1U).load(), StatusCode::malformed,
      "llama.attention.key_length: missing, and embedding_length / attention.head_count does not replace it");
  EXPECT_FAILS(GgufWriter("llama").set("embedding_length", 64U).set("attention.head_count", 0U).load(),
               StatusCode::malformed, "llama.attention.key_length: missing");
  EXPECT_FAILS(GgufWriter("llama")
                   .set("embedding_length", 64U)
                   .set("attention.head_count", std::vector<std::int32_t>{4, 8})
                   .load(),
               StatusCode::malformed, "llama.attention.head_count: differs between layers");
  EXPECT_FAILS(llama_gguf().set("rope.dimension_count", 256U).load(), StatusCode::malformed,
               "rotary_dim 256");
  EXPECT_FAILS(GgufWriter("llama").set("attention.key_length", 8U).set("block_count", 4000000000U).load(),
               StatusCode::malformed, "llama.block_count 4000000000: must be finite and from 0 to 10000");
  EXPECT_FAILS(GgufWriter("llama").set("attention.key_length", 8U).set("rope.freq_base", -1.0F).load(),
               StatusCode::malformed, "base -1: must be positive and finite");
  EXPECT_FAILS(GgufWriter("gemma3")
                   .set("attention.key_length", 8U)
                   .set("block_count", 2U)
                   .set("attention.sliding_window_pattern", 0U)
                   .load(),
               StatusCode::malformed, "sliding_window_pattern 0: must be finite and from 1");
}

TEST(GgufModel, AKeyOfTheWrongTypeIsNoMissingKey) {
  const std::vector<std::int32_t> list = {8, 8};
  EXPECT_FAILS(GgufWriter("llama").set("attention.key_length", 8U).set("rope.freq_base", "500000").load(),
               StatusCode::malformed, "llama.rope.freq_base: expected a number, got text");
  EXPECT_FAILS(llama_gguf().set("rope.dimension_count", list).load(), StatusCode::malformed,
               "llama.rope.dimension_count: expected a number, got a list");
  EXPECT_FAILS(llama_gguf().set("rope.scaling.type", 2U).load(), StatusCode::malformed,
               "llama.rope.scaling.type: expected text, got a number");
  EXPECT_FAILS(llama_gguf().set("rope.dimension_sections", 8U).load(), StatusCode::malformed,
               "llama.rope.dimension_sections: expected a list of numbers, got a number");
  EXPECT_FAILS(llama_gguf().set("rope.dimension_count", 16.5F).load(), StatusCode::malformed,
               "llama.rope.dimension_count 16.5: must be a whole number");
  EXPECT_FAILS(GgufWriter("gemma3")
                   .set("attention.key_length", 8U)
                   .set("block_count", 3U)
                   .set("attention.sliding_window_pattern", list)
                   .load(),
               StatusCode::malformed,
               "gemma3.attention.sliding_window_pattern: 2 entries, must be one a layer, 3");
}

TEST(GgufModel, KeysOfRopeThatAreNotReadAreNamed) {
  const auto model = llama_gguf().set("rope.freq_bsae", 1e6F).set("rope.scaling.factr", 4.0F).load().value();
  ASSERT_EQ(model.warnings().size(), 2U);
  EXPECT_EQ(model.warnings()[0],
            "llama.rope.freq_bsae: not a key that is read; did you mean llama.rope.freq_base?");
  EXPECT_EQ(model.warnings()[1],
            "llama.rope.scaling.factr: not a key that is read; did you mean llama.rope.scaling.factor?");
}

TEST(GgufModel, BaichuansLargerModelsHaveAlibi) {
  const auto baichuan = [](std::uint32_t width) {
    return GgufWriter("baichuan")
        .set("attention.key_length", 128U)
        .set("block_count", 2U)
        .set("embedding_length", width)
        .set("rope.freq_base", 10000.0F)
        .load();
  };
  EXPECT_SUCCEEDS(baichuan(4096));
  EXPECT_FAILS(
      baichuan(5120), StatusCode::unsupported,
      "baichuan.embedding_length 5120: of baichuan, only the models of width 4096 have a rotary embedding");
}

TEST(GgufModel, UnknownAndUnsupportedArchitectures) {
  const auto model = GgufWriter("brandnew").set("attention.key_length", 64U).load().value();
  ASSERT_EQ(model.warnings().size(), 2U);
  EXPECT_EQ(model.warnings()[0],
            "general.architecture brandnew: not known, so the pairing half_split is assumed");
  EXPECT_EQ(model.warnings()[1], "brandnew.block_count: missing, so nothing is known about the layers");
  EXPECT_FAILS(GgufWriter("mamba").load(), StatusCode::unsupported,
               "mamba: not supported: it has no rotary embedding");
}

}  // namespace
}  // namespace rotary
