// SPDX-License-Identifier: Apache-2.0
// Big-endian and split files, as gguf-py writes them, and what is missing or does not belong together.
#include <gtest/gtest.h>

#include <filesystem>
#include <rotary/formats/gguf.hpp>
#include <rotary/model.hpp>

#include "gguf_writer.hpp"
#include "model_checks.hpp"
#include "support/data.hpp"
#include "support/files.hpp"

namespace rotary {
namespace {

using testing::base_of;
using testing::find_value;
using testing::GgufWriter;
using testing::llama_gguf;
using testing::source_of;
namespace fs = std::filesystem;

const std::vector<double> divisors = {1, 1, 1.25, 1.5, 2, 4, 8, 8};

void expect_the_small_llama(const Result<Model>& model) {
  ASSERT_SUCCEEDS(model);
  EXPECT_EQ(std::get<scaling::Divided>(model->ropes()[0].rope.spectrum().scaling()).divisors, divisors);
  EXPECT_EQ(base_of(*model), 500000);
  EXPECT_EQ(model->ropes()[0].context, 131072);
  EXPECT_EQ(model->layers().size(), 2U);
  EXPECT_TRUE(model->warnings().empty());
}

std::string part(int number) {
  return testing::data_path("gguf/split-0000" + std::to_string(number) + "-of-00003.gguf");
}

TEST(GgufFiles, BigEndian) {
  expect_the_small_llama(Model::from_path(testing::data_path("gguf/big_endian.gguf")));
}

TEST(GgufFiles, SplitInThree) {
  expect_the_small_llama(Model::from_path(part(1)));
  EXPECT_FAILS(Model::from_path(part(2)), StatusCode::malformed,
               "part 2 of 3: only the first has the description, the file that ends in -00001-of-00003.gguf");
}

TEST(GgufFiles, APartAloneIsReadWithADoubt) {
  const auto first = formats::Gguf::open(part(1)).value();
  const auto model = Model::from_gguf(first, "first").value();
  EXPECT_EQ(name(model.ropes()[0].rope.spectrum().scaling()), "default");
  ASSERT_EQ(model.warnings().size(), 2U);
  EXPECT_EQ(model.warnings()[0],
            "split.count 3: tensors of parts that are not read, such as rope_freqs.weight, "
            "are not seen");
}

TEST(GgufFiles, MissingAndForeignParts) {
  const testing::TemporaryFolder folder;
  const auto target = [&](int number) {
    return folder / ("m-0000" + std::to_string(number) + "-of-00003.gguf");
  };
  fs::copy_file(part(1), target(1));
  fs::copy_file(part(3), target(2));
  EXPECT_FAILS(Model::from_path(target(1)), StatusCode::malformed,
               "m-00002-of-00003.gguf: split.no 2 of 3: must be 1 of 3");
  fs::copy_file(part(2), target(2), fs::copy_options::overwrite_existing);
  EXPECT_FAILS(Model::from_path(target(1)), StatusCode::unreadable, "part 3 of 3: ");
  fs::copy_file(testing::data_path("gguf/big_endian.gguf"), target(3));
  EXPECT_FAILS(Model::from_path(target(1)), StatusCode::malformed,
               "m-00003-of-00003.gguf: split.no 0 of 1: must be 2 of 3");
  fs::copy_file(part(1), folder / "renamed.gguf");
  EXPECT_FAILS(
      Model::from_path(folder / "renamed.gguf"), StatusCode::malformed,
      "part 1 of 3, but the name does not end in -00001-of-00003.gguf, so the other parts cannot be found");
  EXPECT_FAILS(llama_gguf().set_plain("split.count", "three").load(), StatusCode::malformed,
               "split.count: must be a number from 0 to 99999");
}

TEST(GgufFiles, VeryOldLinearScale) {
  const auto model = llama_gguf().set("rope.scale_linear", 4.0F).load().value();
  EXPECT_EQ(model.ropes()[0].rope.spectrum().scaling(), Scaling(scaling::Linear{4}));
  EXPECT_EQ(source_of(model, "factor"), "llama.rope.scale_linear");
}

TEST(GgufFiles, AlphaIsANtkRule) {
  const auto model = GgufWriter("hunyuan_vl")
                         .set("attention.key_length", 128U)
                         .set("block_count", 1U)
                         .set("rope.freq_base", 10000.0F)
                         .set("rope.scaling.alpha", 1000.0F)
                         .set("rope.dimension_sections", std::vector<std::int32_t>{16, 16, 16, 16})
                         .load()
                         .value();
  EXPECT_EQ(model.ropes()[0].rope.spectrum().scaling(), Scaling(scaling::NtkAlpha{1000}));
  EXPECT_EQ(source_of(model, "alpha"), "hunyuan_vl.rope.scaling.alpha");
}

GgufWriter yarn_gguf(const std::string& architecture, const std::string& type = "yarn") {
  return std::move(GgufWriter(architecture)
                       .set("attention.key_length", 128U)
                       .set("block_count", 1U)
                       .set("context_length", 131072U)
                       .set("rope.freq_base", 208533496.0F)
                       .set("rope.scaling.type", type)
                       .set("rope.scaling.factor", 16.0F)
                       .set("rope.scaling.original_context_length", 8192U));
}

// llama.cpp's models/laguna.cpp, which has ggml's own betas where grok's are 8 and 1.
TEST(GgufFiles, LagunasSwitchOfYarn) {
  const auto scaling_of = [](const std::string& type, float ramp) {
    const auto model = yarn_gguf("laguna", type).set("rope.scaling.yarn_ext_factor", ramp).load();
    EXPECT_SUCCEEDS(model);
    EXPECT_TRUE(model->warnings().empty());
    return model->ropes()[0].rope.spectrum().scaling();
  };
  for (const char* type : {"yarn", "linear"}) {
    EXPECT_EQ(scaling_of(type, 0), Scaling(scaling::Linear{16})) << type;
    EXPECT_EQ(std::get<scaling::Yarn>(scaling_of(type, 1)).beta_fast, 32) << type;
  }
  EXPECT_EQ(scaling_of("yarn", -1), scaling_of("yarn", 1));
  EXPECT_EQ(scaling_of("linear", -1), Scaling(scaling::Linear{16}));
  EXPECT_FAILS(yarn_gguf("laguna", "linear").set("rope.scaling.yarn_attn_factor", 2.0F).load(),
               StatusCode::unsupported,
               "laguna.rope.scaling.yarn_attn_factor 2: an attention factor without YaRN; must be 1");
}

// llama.cpp's models/grok.cpp and llama-context.cpp.
TEST(GgufFiles, GroksSwitchOfYarn) {
  const auto with = [](const std::string& key, float value) {
    return yarn_gguf("grok").set("rope.scaling." + key, value).load();
  };
  const auto on = with("yarn_ext_factor", 1);
  ASSERT_SUCCEEDS(on);
  EXPECT_TRUE(on->warnings().empty());
  EXPECT_EQ(source_of(*on, "beta_fast"), "default of grok");
  const auto yarn = std::get<scaling::Yarn>(on->ropes()[0].rope.spectrum().scaling());
  EXPECT_EQ(yarn.beta_fast, 8);
  const auto off = with("yarn_ext_factor", 0);
  EXPECT_EQ(off->ropes()[0].rope.spectrum().scaling(), Scaling(scaling::Linear{16}));
  EXPECT_EQ(with("yarn_ext_factor", -1)->ropes()[0].rope, on->ropes()[0].rope);
  EXPECT_FAILS(
      with("yarn_ext_factor", 0.5), StatusCode::unsupported,
      "grok.rope.scaling.yarn_ext_factor 0.5: a part of the ramp; must be 0 (none), 1, or negative (as "
      "the type says)");
  EXPECT_TRUE(with("yarn_attn_factor", 1)->warnings().empty());
  EXPECT_EQ(with("yarn_attn_factor", 2)->warnings()[0],
            "grok.rope.scaling.yarn_attn_factor: not read: llama.cpp computes A from the factor");
  EXPECT_FAILS(yarn_gguf("grok", "linear").set("rope.scaling.yarn_attn_factor", 2.0F).load(),
               StatusCode::unsupported,
               "grok.rope.scaling.yarn_attn_factor 2: an attention factor without YaRN; must be 1");
}

TEST(GgufFiles, OthersHaveNoSwitchOfYarn) {
  const auto model = yarn_gguf("llama")
                         .set("rope.scaling.yarn_ext_factor", 0.0F)
                         .set("rope.scaling.yarn_attn_factor", 2.0F)
                         .load()
                         .value();
  EXPECT_TRUE(std::holds_alternative<scaling::Yarn>(model.ropes()[0].rope.spectrum().scaling()));
  ASSERT_EQ(model.warnings().size(), 2U);
  EXPECT_EQ(model.warnings()[0],
            "llama.rope.scaling.yarn_ext_factor: not read: llama.cpp reads it for grok and laguna alone");
  EXPECT_EQ(model.warnings()[1],
            "llama.rope.scaling.yarn_attn_factor: not read: llama.cpp reads it for grok and laguna alone");
}

TEST(GgufFiles, GranitesSwitch) {
  const auto layers = [](bool on) {
    return GgufWriter("granite")
        .set("attention.key_length", 64U)
        .set("block_count", 2U)
        .set("rope.freq_base", 1e7F)
        .set("rope.scaling.finetuned", on)
        .load()
        .value();
  };
  EXPECT_TRUE(layers(true).layers()[0]);
  EXPECT_FALSE(layers(false).layers()[0]);
  EXPECT_EQ(source_of(layers(false), "layers_with_rope"), "granite.rope.scaling.finetuned");
  EXPECT_FAILS(
      GgufWriter("granite").set("attention.key_length", 64U).set("rope.scaling.finetuned", 1U).load(),
      StatusCode::malformed, "granite.rope.scaling.finetuned: expected true or false, got a number");
}

TEST(GgufFiles, AStatedLocalBaseMakesTwoRopes) {
  const auto model = GgufWriter("laguna")
                         .set("attention.key_length", 128U)
                         .set("block_count", 2U)
                         .set("rope.freq_base", 500000.0F)
                         .set("rope.freq_base_swa", 10000.0F)
                         .set("rope.dimension_count", 64U)
                         .set("rope.dimension_count_swa", 128U)
                         .set("attention.sliding_window_pattern", std::vector<std::int32_t>{0, 1})
                         .load()
                         .value();
  EXPECT_EQ(base_of(model, "global"), 500000);
  EXPECT_EQ(base_of(model, "local"), 10000);
  EXPECT_EQ(model.find_rope("global")->rope.rotary_dim(), 64);
  EXPECT_EQ(model.find_rope("local")->rope.rotary_dim(), 128);
  EXPECT_EQ(model.ropes()[*model.layers()[0]].name, "global");
}

TEST(GgufFiles, DeepSeekV4HasAMainAndACompressedRope) {
  auto file = GgufWriter("deepseek4");
  file.set("attention.key_length", 512U)
      .set("block_count", 3U)
      .set("rope.freq_base", 10000.0F)
      .set("rope.dimension_count", 64U)
      .set("rope.scaling.type", "yarn")
      .set("rope.scaling.factor", 16.0F)
      .set("rope.scaling.original_context_length", 65536U)
      .set("attention.compress_rope_freq_base", 160000.0F);
  EXPECT_FAILS(file.load(), StatusCode::malformed,
               "deepseek4.attention.compress_ratios: expected a list of one number a layer, 3");
  const auto model =
      file.set("attention.compress_ratios", std::vector<std::int32_t>{0, 4, 128}).load().value();
  const auto config = Model::from_config(R"({"model_type": "deepseek_v4", "num_hidden_layers": 3,
      "qk_rope_head_dim": 64, "compress_ratios": [0, 4, 128], "rope_scaling": {"type": "yarn", "factor": 16,
      "original_max_position_embeddings": 65536}})")
                          .value();
  for (const auto* name : {"main", "compress"})
    EXPECT_EQ(model.find_rope(name)->rope, config.find_rope(name)->rope) << name;
  EXPECT_TRUE(std::ranges::equal(model.layers(), config.layers()));
}

TEST(GgufFiles, TemperatureOfTheQuery) {
  const auto model = GgufWriter("mistral3")
                         .set("attention.key_length", 128U)
                         .set("block_count", 1U)
                         .set("attention.temperature_scale", 0.5F)
                         .set("attention.temperature_length", 16384U)
                         .load()
                         .value();
  EXPECT_EQ(std::get<double>(find_value(model, "temperature_scale")->value), 0.5);
  EXPECT_EQ(source_of(model, "temperature_length"), "mistral3.attention.temperature_length");
}

TEST(Report89, Llama31WithoutItsDivisorsIsDoubtful) {
  const auto plain = [](std::uint32_t context, float base) {
    return GgufWriter("llama")
        .set("attention.key_length", 128U)
        .set("block_count", 1U)
        .set("context_length", context)
        .set("rope.freq_base", base);
  };
  const auto model = plain(131072, 500000).load().value();
  ASSERT_EQ(model.warnings().size(), 1U);
  EXPECT_EQ(model.warnings()[0],
            "rope_freqs.weight: missing, though llama.context_length 131072 and base 500000 are those of "
            "Llama 3.1, "
            "whose frequencies it divides; without it long texts turn unscaled");
  EXPECT_TRUE(plain(8192, 500000).load()->warnings().empty()) << "Llama 3";
  EXPECT_TRUE(plain(131072, 1e6F).load()->warnings().empty());
  // With the tensor that a converter writes, the rope is the one of config.json.
  const auto config = Model::from_preset("llama-3.1-8b").value();
  const auto unscaled = Spectrum::make({.rotary_dim = 128, .base = 500000}).value();
  std::vector<float> tensor;
  for (std::size_t i = 0; i < 64; ++i) {
    tensor.push_back(
        static_cast<float>(unscaled.inv_freq()[i] / config.ropes()[0].rope.spectrum().inv_freq()[i]));
  }
  EXPECT_EQ(tensor.front(), 1);
  EXPECT_EQ(tensor.back(), 8);
  const auto divided = plain(131072, 500000).divisors(tensor).load().value();
  EXPECT_TRUE(divided.warnings().empty());
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_NEAR(
        divided.ropes()[0].rope.spectrum().inv_freq()[i] / config.ropes()[0].rope.spectrum().inv_freq()[i], 1,
        1e-7);
  }
}

}  // namespace
}  // namespace rotary
