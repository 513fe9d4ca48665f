// SPDX-License-Identifier: Apache-2.0
// The order of q and k rows in GGUF by architecture, as llama.cpp's table of rope types has it: NORM is interleaved,
// NEOX and the kinds of several axes are half-split.
#include <gtest/gtest.h>

#include <rotary/model.hpp>
#include <sstream>

#include "gguf_writer.hpp"
#include "model_checks.hpp"

namespace rotary {
namespace {

using testing::GgufWriter;

constexpr const char* norm =
    "llama llada llama4 deci baichuan starcoder internlm2 minicpm xverse command-r cohere2 cohere2moe olmo "
    "arctic deepseek "
    "deepseek2 deepseek2-ocr deepseek32 deepseek4 plm chatglm granite granitemoe granitehybrid chameleon "
    "bailingmoe "
    "neo-bert smollm3 arcee ernie4_5 ernie4_5-moe mistral3 mistral4 eagle3 llama-embed maincoder glm-dsa "
    "glm4";
constexpr const char* neox =
    "falcon falcon-h1 grok dbrx bert jina-bert-v3 modern-bert nomic-bert nomic-bert-moe eurobert stablelm "
    "bitnet qwen qwen2 "
    "dream qwen2moe qwen3 qwen3moe llada-moe rnd1 olmo2 olmoe phi2 phi3 phimoe plamo plamo2 plamo3 gemma "
    "gemma2 gemma3 "
    "gemma3n gemma4 gemma-embedding starcoder2 openelm gptneox codeshell orion nemotron exaone exaone4 "
    "exaone-moe minicpm3 "
    "bailingmoe2 dots1 hunyuan-moe hunyuan-dense hy-v3 jais2 gpt-oss lfm2 lfm2moe smallthinker seed_oss "
    "grovemoe apertus "
    "minimax-m2 cogvlm pangu-embedded afmoe laguna qwen3next mimo2 step35 talkie mellum dflash glm4moe "
    "hunyuan_vl";
constexpr const char* several_axes = "qwen2vl paddleocr qwen3vl qwen3vlmoe qwen35 qwen35moe";
constexpr const char* without =
    "clip gpt2 gptj mpt refact bloom mamba mamba2 jamba jina-bert-v2 t5 jais rwkv6 rwkv7 nemotron_h "
    "kimi-linear inkling";

std::vector<std::string> words(const char* text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

GgufWriter file_of(const std::string& architecture) {
  return std::move(GgufWriter(architecture)
                       .set("attention.key_length", 128U)
                       .set("block_count", 1U)
                       .set("rope.freq_base", 10000.0F)
                       .set("attention.compress_ratios", std::vector<std::int32_t>{0}));
}
Result<Model> read(const std::string& architecture) { return file_of(architecture).load(); }

void expect_rows(const char* architectures, Pairing pairing) {
  for (const auto& architecture : words(architectures)) {
    SCOPED_TRACE(architecture);
    const auto model = read(architecture);
    ASSERT_SUCCEEDS(model);
    EXPECT_EQ(model->ropes()[0].rope.pairing(), pairing);
    EXPECT_EQ(testing::source_of(*model, "pairing"), "row order of " + architecture + " in GGUF");
    EXPECT_TRUE(model->warnings().empty());
  }
}

TEST(Architectures, Norm) { expect_rows(norm, Pairing::interleaved); }
TEST(Architectures, Neox) { expect_rows(neox, Pairing::half_split); }
TEST(Architectures, SeveralAxes) {
  for (const auto& architecture : words(several_axes)) {
    SCOPED_TRACE(architecture);
    const auto model =
        file_of(architecture).set("rope.dimension_sections", std::vector<std::int32_t>{24, 20, 20, 0}).load();
    ASSERT_SUCCEEDS(model);
    EXPECT_EQ(model->ropes()[0].rope.pairing(), Pairing::half_split);
    EXPECT_EQ(model->ropes()[0].rope.spectrum().axes(), 3);
    EXPECT_TRUE(model->warnings().empty());
  }
}
TEST(Architectures, WithoutARope) {
  for (const auto& architecture : words(without)) {
    const auto model = read(architecture);
    ASSERT_FALSE(model) << architecture;
    EXPECT_EQ(model.status().code(), StatusCode::unsupported) << architecture;
  }
}

}  // namespace
}  // namespace rotary
