// SPDX-License-Identifier: Apache-2.0
// Which lanes form a pair, by family, in Hugging Face's code and in GGUF's row order.
#include <gtest/gtest.h>

#include <rotary/model.hpp>

#include "model/family.hpp"
#include "model_checks.hpp"

namespace rotary {
namespace {

using testing::llama;
using testing::source_of;

TEST(Pairing, AsHuggingFaceRotates) {
  for (const char* type : {"llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "gemma3_text", "phi",
                           "phi3", "gpt_neox", "stablelm", "olmo2", "gpt_oss", "glm4_moe", "modernbert"}) {
    ASSERT_NE(impl::family_of_model_type(type), nullptr) << type;
    EXPECT_EQ(impl::family_of_model_type(type)->pairing, Pairing::half_split) << type;
  }
  for (const char* type : {"gptj", "codegen", "cohere", "cohere2", "glm", "glm4", "ernie4_5", "helium",
                           "moonshine", "roformer", "llama4_text", "deepseek_v2"}) {
    ASSERT_NE(impl::family_of_model_type(type), nullptr) << type;
    EXPECT_EQ(impl::family_of_model_type(type)->pairing, Pairing::interleaved) << type;
  }
  for (const char* type : {"deepseek_v3", "mistral4", "longcat_flash", "youtu", "glm4_moe_lite"}) {
    ASSERT_NE(impl::family_of_model_type(type), nullptr) << type;
    EXPECT_EQ(impl::family_of_model_type(type)->pairing, Pairing::interleaved_to_half) << type;
  }
}

TEST(Pairing, AsGgufRowsLie) {
  for (const char* type : {"llama", "mistral3", "granite", "olmo", "command-r", "chatglm", "deepseek2",
                           "smollm3", "ernie4_5", "llama4", "internlm2"}) {
    ASSERT_NE(impl::family_of_gguf(type), nullptr) << type;
    EXPECT_EQ(impl::family_of_gguf(type)->gguf_pairing, Pairing::interleaved) << type;
  }
  for (const char* type : {"gemma3", "qwen2", "qwen3", "phi2", "phi3", "gptneox", "gpt-oss", "stablelm",
                           "olmo2", "minicpm3", "modern-bert", "falcon"}) {
    ASSERT_NE(impl::family_of_gguf(type), nullptr) << type;
    EXPECT_EQ(impl::family_of_gguf(type)->gguf_pairing, Pairing::half_split) << type;
  }
}

TEST(Pairing, UnknownTypesAreAssumedAloud) {
  const std::string json = R"({"model_type": "brandnew", "head_dim": 64, "num_hidden_layers": 1})";
  const auto model = Model::from_config(json).value();
  EXPECT_EQ(model.ropes()[0].rope.pairing(), Pairing::half_split);
  EXPECT_EQ(source_of(model, "pairing"), "default of Hugging Face's models (assumed)");
  ASSERT_EQ(model.warnings().size(), 1U);
  EXPECT_EQ(model.warnings()[0], "model_type \"brandnew\": not known, so the pairing half_split is assumed");
  const auto chosen = Model::from_config(json, "c", {.pairing = Pairing::interleaved}).value();
  EXPECT_EQ(chosen.ropes()[0].rope.pairing(), Pairing::interleaved);
  EXPECT_TRUE(chosen.warnings().empty());
}

TEST(Pairing, OptionOverridesTheTable) {
  const auto model = Model::from_config(llama(""), "c", {.pairing = Pairing::interleaved}).value();
  EXPECT_EQ(model.ropes()[0].rope.pairing(), Pairing::interleaved);
  EXPECT_EQ(source_of(model, "pairing"), "option pairing");
}

TEST(Pairing, RopeInterleaveIsAKey) {
  const std::string keys = R"({"model_type": "deepseek_v3", "num_hidden_layers": 1, "qk_nope_head_dim": 128,
                               "qk_rope_head_dim": 64)";
  EXPECT_EQ(Model::from_config(keys + "}").value().ropes()[0].rope.pairing(), Pairing::interleaved_to_half);
  const auto off = Model::from_config(keys + R"(, "rope_interleave": false})").value();
  EXPECT_EQ(off.ropes()[0].rope.pairing(), Pairing::half_split);
  EXPECT_EQ(source_of(off, "pairing"), "rope_interleave");
}

TEST(Pairing, NanoChatTurnsTheOtherWay) {
  const auto model =
      Model::from_config(R"({"model_type": "nanochat", "head_dim": 128, "num_hidden_layers": 1})");
  EXPECT_EQ(model->ropes()[0].rope.direction(), Direction::inverse);
  EXPECT_EQ(source_of(*model, "direction"), "default of nanochat");
}

TEST(Pairing, FamiliesThatCannotBeDescribedSaySo) {
  EXPECT_FAILS(Model::from_config(R"({"model_type": "bloom"})"), StatusCode::unsupported,
               "model_type bloom: not supported: it has no rotary embedding");
}

}  // namespace
}  // namespace rotary
