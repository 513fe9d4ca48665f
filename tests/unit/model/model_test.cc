// SPDX-License-Identifier: Apache-2.0
// Paths, presets, flags, and what reading costs.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <rotary/model.hpp>

#include "model_checks.hpp"
#include "support/files.hpp"

namespace rotary {
namespace {

using testing::llama;

TEST(Path, DirectoryFileAndSafetensorsMeanTheConfig) {
  const std::string folder = testing::data_path("configs/llama-3.1-8b");
  const auto by_folder = Model::from_path(folder);
  const auto by_file = Model::from_path(folder + "/config.json");
  const auto by_weights = Model::from_path(folder + "/model.safetensors");
  ASSERT_SUCCEEDS(by_folder);
  ASSERT_SUCCEEDS(by_file);
  ASSERT_SUCCEEDS(by_weights);
  EXPECT_EQ(by_folder->ropes()[0].rope, by_file->ropes()[0].rope);
  EXPECT_EQ(by_folder->ropes()[0].rope, by_weights->ropes()[0].rope);
  EXPECT_EQ(by_folder->ropes()[0].rope, Model::from_preset("llama-3.1-8b")->ropes()[0].rope);
  EXPECT_EQ(by_folder->source(), Model::Source::hf_config);
  EXPECT_EQ(by_folder->origin(), folder + "/config.json");
}

TEST(Path, Unreadable) {
  EXPECT_FAILS(Model::from_path("/nowhere/config.json"), StatusCode::unreadable,
               "/nowhere/config.json: No such file or directory");
  EXPECT_FAILS(Model::from_path("/nowhere/model.safetensors"), StatusCode::unreadable,
               "/nowhere/model.safetensors: a .safetensors says nothing about its rope, and there is no "
               "config.json or params.json beside it");
  EXPECT_FAILS(Model::from_path("/nowhere/model.gguf"), StatusCode::unreadable, "/nowhere/model.gguf");
  EXPECT_FAILS(Model::from_path("/dev"), StatusCode::unreadable, "/dev/config.json");
}

TEST(Path, TooLarge) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "config.json";
  testing::write_file(path, "");
  std::filesystem::resize_file(path, (16 << 20) + 1);
  EXPECT_FAILS(Model::from_path(path), StatusCode::malformed, "16777217 bytes, at most 16777216");
}

TEST(Preset, Unknown) {
  EXPECT_FAILS(Model::from_preset("lama-3.1-8b"), StatusCode::invalid_argument,
               "no preset of the name \"lama-3.1-8b\" (did you mean \"llama-3.1-8b\"?)");
  EXPECT_EQ(Model::from_preset("sam-3").status().message(),
            "no preset of the name \"sam-3\" (did you mean \"sam-3-vit\"?)");
  EXPECT_EQ(Model::from_preset("nothing like it").status().message(),
            "no preset of the name \"nothing like it\"");
  EXPECT_EQ(Model::from_preset("\x1b[2J").status().message(), "no preset of the name \"\\x1b[2J\"");
}

TEST(Preset, AllLoadWithoutDoubtAndAreSorted) {
  EXPECT_EQ(presets().size(), 133U);
  EXPECT_EQ(Model::from_preset("nanochat")->ropes()[0].rope.direction(), Direction::inverse);
  EXPECT_TRUE(std::ranges::is_sorted(presets(), {}, &Preset::name));
  for (const Preset& preset : presets()) {
    const auto model = Model::from_preset(preset.name);
    ASSERT_SUCCEEDS(model);
    EXPECT_TRUE(model->warnings().empty()) << preset.name << ": " << model->warnings()[0];
    EXPECT_EQ(model->source(), Model::Source::preset);
    EXPECT_EQ(model->origin(), preset.name);
    EXPECT_FALSE(model->architecture().empty()) << preset.name;
    EXPECT_FALSE(model->layers().empty()) << preset.name;
    for (const ModelValue& value : model->values())
      EXPECT_FALSE(value.assumed) << preset.name << ": " << value.key;
  }
}

struct Facts {
  std::string_view preset, rope;
  std::int64_t head_dim, rotary_dim, offset;
  double base;
  std::string_view scaling;
  double attention_factor;
  Pairing pairing;
  std::size_t layers;
};

TEST(Preset, KeyFacts) {
  constexpr auto hs = Pairing::half_split, il = Pairing::interleaved, ih = Pairing::interleaved_to_half;
  const Facts table[] = {
      {"llama-2-7b", "default", 128, 128, 0, 1e4, "default", 1, hs, 32},
      {"llama-3.1-8b", "default", 128, 128, 0, 5e5, "llama3", 1, hs, 32},
      {"llama-3.2-1b", "default", 64, 64, 0, 5e5, "llama3", 1, hs, 16},
      {"mistral-7b-v0.3", "default", 128, 128, 0, 1e6, "default", 1, hs, 32},
      {"mistral-nemo-12b", "default", 128, 128, 0, 1e6, "default", 1, hs, 40},
      {"mixtral-8x7b", "default", 128, 128, 0, 1e6, "default", 1, hs, 32},
      {"ministral-3-3b", "default", 128, 128, 0, 1e6, "yarn", 1, hs, 26},
      {"qwen2.5-7b", "default", 128, 128, 0, 1e6, "default", 1, hs, 28},
      {"qwen2.5-7b-yarn", "default", 128, 128, 0, 1e6, "yarn", 1.138629436111989, hs, 28},
      {"qwen3-8b", "default", 128, 128, 0, 1e6, "default", 1, hs, 36},
      {"gemma-2-9b", "default", 256, 256, 0, 1e4, "default", 1, hs, 42},
      {"gemma-3-270m", "local", 256, 256, 0, 1e4, "default", 1, hs, 18},
      {"gemma-3-270m", "global", 256, 256, 0, 1e6, "default", 1, hs, 18},
      {"gemma-3-1b", "global", 256, 256, 0, 1e6, "default", 1, hs, 26},
      {"gemma-3-4b", "global", 256, 256, 0, 1e6, "linear", 1, hs, 34},
      {"gpt-oss-20b", "default", 64, 64, 0, 150000, "yarn", 1.3465735902799727, hs, 24},
      {"deepseek-v2-lite", "default", 192, 64, 128, 1e4, "yarn", 1, il, 27},
      {"deepseek-v3", "default", 192, 64, 128, 1e4, "yarn", 1, ih, 61},
      {"gpt-neox-20b", "default", 96, 24, 0, 1e4, "default", 1, hs, 44},
      {"gpt-j-6b", "default", 256, 64, 0, 1e4, "default", 1, il, 28},
      {"phi-2", "default", 80, 32, 0, 1e4, "default", 1, hs, 32},
      {"glm-4-9b", "default", 128, 64, 0, 1e4, "default", 1, il, 40},
      {"stablelm-3b", "default", 80, 20, 0, 1e4, "default", 1, hs, 32},
      {"smollm3-3b", "default", 128, 128, 0, 5e6, "default", 1, hs, 36},
      {"chatglm3-6b", "default", 128, 64, 0, 1e4, "default", 1, il, 28},
      {"internlm2.5-7b", "default", 128, 128, 0, 1e6, "dynamic", 1, hs, 32},
      {"minicpm-2b-128k", "default", 64, 64, 0, 1e6, "dynamic", 1, hs, 40},
      {"qwen-1.8b", "default", 128, 128, 0, 1e4, "ntk_alpha", 1, hs, 24},
      {"kimi-k2", "default", 192, 64, 128, 50000, "yarn", 1, ih, 61},
      {"phi-1.5", "default", 64, 32, 0, 1e4, "default", 1, hs, 24},
      {"phi-3.5-mini", "default", 96, 96, 0, 1e4, "longrope", 1.1902380714238083, hs, 32},
      {"phi-3.5-vision", "default", 96, 96, 0, 1e4, "longrope", 1.1902380714238083, hs, 32},
      {"phi-4-mini", "default", 128, 96, 0, 1e4, "longrope", 1.1902380714238083, hs, 32},
      {"minimax-text-01", "default", 128, 64, 0, 1e6, "default", 1, hs, 32},
      {"mistral-4", "default", 128, 64, 64, 1e4, "yarn", 1, ih, 36},
      {"longcat-flash", "default", 192, 64, 128, 1e7, "default", 1, ih, 56},
      {"deepseek-v4", "main", 512, 64, 448, 1e4, "default", 1, il, 43},
      {"deepseek-v4", "compress", 512, 64, 448, 160000, "yarn", 1, il, 43},
      {"llama-4-scout", "default", 128, 128, 0, 5e5, "llama3", 1, il, 48},
      {"llama-4-scout", "vision", 88, 88, 0, 1e4, "default", 1, il, 48},
      {"command-r", "default", 128, 128, 0, 5e5, "default", 1, il, 40},
      {"ernie-4.5-0.3b", "default", 128, 128, 0, 5e5, "default", 1, il, 18},
      {"ernie-4.5-vl", "default", 128, 128, 0, 5e5, "default", 1, il, 28},
      {"helium-1-2b", "default", 128, 128, 0, 1e5, "default", 1, il, 24},
      {"moonshine-tiny", "default", 36, 32, 0, 1e4, "default", 1, il, 6},
      {"roformer-base", "default", 64, 64, 0, 1e4, "default", 1, il, 12},
      {"codegen", "default", 256, 64, 0, 1e4, "default", 1, il, 28},
      {"glm-4.5", "default", 128, 64, 0, 1e4, "default", 1, hs, 46},
      {"gemma-4", "global", 512, 512, 0, 1e6, "proportional", 1, hs, 30},
      {"gemma-4", "vision-y", 64, 32, 32, 100, "default", 1, hs, 30},
      {"flux-2", "default", 128, 128, 0, 2000, "default", 1, il, 56},
      {"z-image", "default", 128, 128, 0, 256, "default", 1, il, 30},
      {"minimax-m3-vision", "vision", 80, 78, 0, 1e4, "default", 1, hs, 32},
      {"mimo-v2-flash", "local", 192, 64, 0, 1e4, "default", 1, hs, 48},
  };
  for (const Facts& facts : table) {
    SCOPED_TRACE(facts.preset);
    const auto model = Model::from_preset(facts.preset).value();
    const ModelRope* rope = model.find_rope(facts.rope);
    ASSERT_NE(rope, nullptr);
    EXPECT_EQ(rope->rope.head_dim(), facts.head_dim);
    EXPECT_EQ(rope->rope.rotary_dim(), facts.rotary_dim);
    EXPECT_EQ(rope->rope.rotary_offset(), facts.offset);
    EXPECT_EQ(rope->rope.spectrum().base().value_or(0), facts.base);
    EXPECT_EQ(name(rope->rope.spectrum().scaling()), facts.scaling);
    EXPECT_NEAR(rope->rope.spectrum().attention_factor(), facts.attention_factor, 1e-15);
    EXPECT_EQ(rope->rope.pairing(), facts.pairing);
    EXPECT_EQ(rope->rope.direction(), Direction::forward);
    EXPECT_EQ(model.layers().size(), facts.layers);
  }
  EXPECT_NEAR(Model::from_preset("deepseek-v2-lite")->ropes()[0].rope.spectrum().softmax_factor(),
              1.58962616512, 1e-11);
  EXPECT_NEAR(Model::from_preset("deepseek-v3")->ropes()[0].rope.spectrum().softmax_factor(),
              1.8738542070926265, 1e-15);
  EXPECT_EQ(Model::from_preset("llama-3.1-8b")->ropes()[0].original_context, 8192);
  EXPECT_EQ(Model::from_preset("llama-3.1-8b")->ropes()[0].context, 131072);
}

TEST(Flags, OneRopeForEveryLayer) {
  const auto spectrum = Spectrum::make({.rotary_dim = 64, .base = 500000}).value();
  const auto model = Model::from_rope({.spectrum = spectrum, .head_dim = 128}).value();
  EXPECT_EQ(model.source(), Model::Source::flags);
  EXPECT_EQ(model.origin(), "flags");
  EXPECT_EQ(model.ropes()[0].name, "default");
  EXPECT_EQ(model.rope_for_layer(40).value(), model.ropes()[0].rope);
  EXPECT_EQ(testing::source_of(model, "base"), "flags");
  EXPECT_FAILS(Model::from_rope({.spectrum = spectrum, .head_dim = 32}), StatusCode::invalid_argument,
               "head_dim 32");
}

TEST(Policy, IsTheRopes) {
  const auto model = Model::from_preset("llama-2-7b", {.policy = AnglePolicy::fp32}).value();
  EXPECT_EQ(model.ropes()[0].rope.policy(), AnglePolicy::fp32);
}

TEST(Cost, LongContextsAreNoDearer) {
  const auto json = [](std::string_view length) {
    return std::string(R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
        "num_hidden_layers": 32, "rope_theta": 1e6, "max_position_embeddings": )") +
           std::string(length) + "}";
  };
  EXPECT_EQ(Model::from_config(json("10485760"))->ropes()[0].context, 10485760);
  auto best = std::chrono::nanoseconds::max();
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_SUCCEEDS(Model::from_config(json("9007199254740992")));
    best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - start);
  }
  RecordProperty("microseconds", static_cast<int>(best.count() / 1000));
  EXPECT_LT(best, std::chrono::milliseconds(20)) << "1 ms without sanitizers";
}

}  // namespace
}  // namespace rotary
