// SPDX-License-Identifier: Apache-2.0
// head_dim, rotary_dim and rotary_offset.
#include <gtest/gtest.h>

#include <rotary/model.hpp>

#include "model_checks.hpp"

namespace rotary {
namespace {

using testing::llama;
using testing::load;
using testing::source_of;

struct Window {
  std::int64_t head_dim, rotary_dim, offset;
  friend bool operator==(const Window&, const Window&) = default;
};
void PrintTo(const Window& w, std::ostream* out) {
  *out << w.head_dim << '/' << w.rotary_dim << '@' << w.offset;
}

Window window(const std::string& json) {
  const auto model = Model::from_config(json);
  EXPECT_SUCCEEDS(model);
  const Rope& rope = model->ropes()[0].rope;
  return {rope.head_dim(), rope.rotary_dim(), rope.rotary_offset()};
}

TEST(Window, HeadDimIsStatedOrDerived) {
  EXPECT_EQ(window(llama("")), (Window{128, 128, 0}));
  EXPECT_EQ(source_of(Model::from_config(llama("")).value(), "head_dim"),
            "derived: hidden_size / num_attention_heads");
  // Its files state the width of a narrower head beside it, too.
  EXPECT_EQ(
      window(R"({"model_type": "zamba2", "use_mem_rope": true, "hidden_size": 2560, "num_attention_heads": 32,
                       "kv_channels": 80, "attention_head_dim": 160, "num_hidden_layers": 1})"),
      (Window{160, 160, 0}));
  EXPECT_EQ(window(llama(R"(, "head_dim": null)")), (Window{128, 128, 0}));
  // Mistral Nemo: hidden 5120, heads 32, and yet 128.
  EXPECT_EQ(
      window(R"({"model_type": "mistral", "hidden_size": 5120, "num_attention_heads": 32, "head_dim": 128,
                       "num_hidden_layers": 1})"),
      (Window{128, 128, 0}));
  // Zamba 2's attention sees the hidden state twice.
  EXPECT_EQ(
      window(R"({"model_type": "zamba2", "use_mem_rope": true, "hidden_size": 2048, "num_attention_heads": 32,
                       "attention_head_dim": 128, "num_hidden_layers": 1})"),
      (Window{128, 128, 0}));
  EXPECT_EQ(
      window(R"({"model_type": "zamba2", "use_mem_rope": true, "hidden_size": 4096, "num_attention_heads": 32,
                       "num_hidden_layers": 1})"),
      (Window{256, 256, 0}));
  EXPECT_FAILS(Model::from_config(R"({"model_type": "falcon", "num_hidden_layers": 1})"),
               StatusCode::malformed,
               "head_dim: missing, and hidden_size and num_attention_heads do not replace it");
  EXPECT_FAILS(Model::from_config(R"({"model_type": "llama", "hidden_size": 100, "num_attention_heads": 3})"),
               StatusCode::malformed, "hidden_size 100: must be a multiple of num_attention_heads 3");
  EXPECT_FAILS(Model::from_config(R"({"model_type": "llama", "hidden_size": 100, "num_attention_heads": 0})"),
               StatusCode::malformed, "num_attention_heads 0");
  EXPECT_FAILS(Model::from_config(llama(R"(, "head_dim": 128.5)")), StatusCode::malformed,
               "head_dim 128.5: must be a whole number");
  EXPECT_FAILS(Model::from_config(llama(R"(, "head_dim": 1e12)")), StatusCode::malformed,
               "head_dim 1000000000000: must be from 1 to 65536");
}

TEST(Window, PartOfTheHead) {
  EXPECT_EQ(
      window(R"({"model_type": "phi", "hidden_size": 2560, "num_attention_heads": 32, "num_hidden_layers": 1,
                       "partial_rotary_factor": 0.4})"),
      (Window{80, 32, 0}));
  EXPECT_EQ(window(R"({"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_layer": 1, "rotary_dim": 64})"),
            (Window{256, 64, 0}));
  EXPECT_EQ(window(R"({"model_type": "gpt_neox", "hidden_size": 6144, "num_attention_heads": 64,
                       "num_hidden_layers": 1, "rotary_pct": 0.25})"),
            (Window{96, 24, 0}));
  EXPECT_EQ(window(llama(R"(, "head_dim": 192, "partial_rotary_factor": 0.334)")), (Window{192, 64, 0}));
  EXPECT_EQ(window(llama(R"(, "rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5})")),
            (Window{128, 64, 0}));
  EXPECT_EQ(window(llama(R"(, "head_dim": 65, "rotary_dim": 64)")), (Window{65, 64, 0}));
  EXPECT_EQ(window(llama(R"(, "partial_rotary_factor": 0)")), (Window{128, 0, 0}));
}

TEST(Window, FamilyDefaultAppliesWhereTheKeyIsAbsent) {
  const auto model = Model::from_config(R"({"model_type": "glm", "num_hidden_layers": 1})").value();
  EXPECT_EQ(model.ropes()[0].rope.rotary_dim(), 64);
  EXPECT_EQ(source_of(model, "rotary_dim"), "derived: head_dim * the default of glm");
  EXPECT_EQ(source_of(model, "head_dim"), "default of glm");
  EXPECT_EQ(window(R"({"model_type": "glm", "num_hidden_layers": 1, "partial_rotary_factor": 1.0})"),
            (Window{128, 128, 0}));
}

TEST(Window, WidthAndFactorMustAgree) {
  EXPECT_SUCCEEDS(Model::from_config(llama(R"(, "rotary_dim": 64, "partial_rotary_factor": 0.5)")));
  EXPECT_FAILS(Model::from_config(llama(R"(, "rotary_dim": 32, "partial_rotary_factor": 0.5)")),
               StatusCode::malformed,
               "rotary_dim 32 and partial_rotary_factor 0.5 (64 lanes of head_dim 128): must agree");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rotary_pct": 0.25, "partial_rotary_factor": 0.5)")),
               StatusCode::malformed, "partial_rotary_factor 0.5 and rotary_pct 0.25: must agree");
}

TEST(Window, RefusesOddAndOversizedWidths) {
  EXPECT_FAILS(Model::from_config(llama(R"(, "head_dim": 66, "partial_rotary_factor": 0.5)")),
               StatusCode::malformed,
               "rotary_dim 33 (partial_rotary_factor 0.5 of head_dim 66): must be even");
  EXPECT_FAILS(Model::from_config(llama(R"(, "head_dim": 65)")), StatusCode::malformed,
               "rotary_dim 65: must be even");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rotary_dim": 256)")), StatusCode::malformed,
               "rotary_dim 256 at rotary_offset 0: must lie within head_dim 128");
  EXPECT_FAILS(Model::from_config(llama(R"(, "partial_rotary_factor": 1.5)")), StatusCode::malformed,
               "partial_rotary_factor 1.5: must be from 0 to 1");
  EXPECT_FAILS(Model::from_config(llama(R"(, "partial_rotary_factor": "nan")")), StatusCode::malformed,
               "partial_rotary_factor nan: must be from 0 to 1");
}

TEST(Window, LatentAttentionIsDescribedWhole) {
  const std::string keys = R"({"model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128,
      "num_hidden_layers": 1, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64)";
  EXPECT_EQ(window(keys + "}"), (Window{192, 64, 128}));
  EXPECT_EQ(window(keys + R"(, "head_dim": 64})"), (Window{192, 64, 128}));
  const auto odd = Model::from_config(keys + R"(, "head_dim": 56})").value();
  ASSERT_EQ(odd.warnings().size(), 1U);
  EXPECT_EQ(odd.warnings()[0], "head_dim 56 is not read: qk_nope_head_dim + qk_rope_head_dim are 192");
  EXPECT_FAILS(Model::from_config(R"({"model_type": "deepseek_v3", "qk_rope_head_dim": -2})"),
               StatusCode::malformed, "qk_rope_head_dim -2");
}

// Transformers' llama passes over the key; a model of another name has lanes that stand still somewhere.
TEST(Window, LanesThatTurnBeginWhereTheFileSays) {
  for (const char* type : {"llama", "some_latent_model"}) {
    EXPECT_FAILS(
        Model::from_config(R"({"model_type": ")" + std::string(type) +
                           R"(", "hidden_size": 2048, "num_attention_heads": 16,
                     "num_hidden_layers": 1, "qk_rope_head_dim": 64})"),
        StatusCode::malformed,
        "qk_nope_head_dim: missing beside qk_rope_head_dim 64, so where the lanes that turn begin is "
        "not known");
  }
  EXPECT_EQ(window(R"({"model_type": "some_latent_model", "num_hidden_layers": 1, "qk_rope_head_dim": 64,
                       "qk_nope_head_dim": 0})"),
            (Window{64, 64, 0}));
}

/// 4096 wide, 32 heads, and nothing else said of lanes.
std::string silent(const std::string& model_type, const std::string& keys = "") {
  return R"({"model_type": ")" + model_type +
         R"(", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 4)" + keys + "}";
}

// The defaults of Transformers' configuration classes.
TEST(Window, OfLatentAttentionWhereAFileIsSilent) {
  for (const char* type : {"deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "youtu", "axk1",
                           "longcat_flash", "bailing_hybrid"})
    EXPECT_EQ(window(silent(type)), (Window{192, 64, 128})) << type;
  for (const char* type : {"glm4_moe_lite", "glm_moe_dsa", "hy_v4", "hy_v4_vl_text"})
    EXPECT_EQ(window(silent(type)), (Window{256, 64, 192})) << type;
  for (const char* type : {"mistral4", "mistral_large4_text"})
    EXPECT_EQ(window(silent(type)), (Window{128, 64, 64})) << type;
  for (const char* type : {"axk2", "minicpm3"}) EXPECT_EQ(window(silent(type)), (Window{96, 32, 64})) << type;

  const auto half_silent = load(silent("axk2", R"(, "qk_rope_head_dim": 64)"));
  EXPECT_EQ(half_silent.ropes()[0].rope.rotary_offset(), 64);
  ASSERT_EQ(half_silent.warnings().size(), 1U);
  EXPECT_EQ(half_silent.warnings()[0], "qk_nope_head_dim: missing, so it is 64, the default of axk2");
  const auto all_silent = load(silent("deepseek_v3"));
  EXPECT_EQ(all_silent.warnings()[0], "qk_rope_head_dim: missing, so it is 64, the default of deepseek_v3");
  EXPECT_EQ(source_of(all_silent, "rotary_dim"), "default of deepseek_v3");
  EXPECT_FAILS(Model::from_config(silent("deepseek_v3", R"(, "qk_rope_head_dim": 0)")), StatusCode::malformed,
               "qk_rope_head_dim 0: of deepseek_v3, the lanes that turn; must be positive");
}

TEST(Window, OfClassesWithAWidthOfTheirOwn) {
  for (const char* type : {"neucodec", "xcodec2", "muse_spark_text", "voxtral_realtime_encoder"})
    EXPECT_EQ(window(silent(type)), (Window{64, 64, 0})) << type;
  EXPECT_EQ(window(silent("timesfm2_5")), (Window{80, 80, 0}));
}

}  // namespace
}  // namespace rotary
