// SPDX-License-Identifier: Apache-2.0
// A wrong description never passes silently: one row a fault, whatever the kind of file. Each is an error that names
// the file, the key, what was expected and what came.
#include <gtest/gtest.h>

#include <rotary/model.hpp>

#include "model_checks.hpp"

namespace rotary {
namespace {

struct Fault {
  std::string_view what, json, message;
};

std::string nested(int levels) {
  std::string text = "{\"model_type\": \"llama\"";
  for (int i = 0; i < levels; ++i) text += ", \"x\": {\"y\": 1";
  return text + std::string(static_cast<std::size_t>(levels) + 1, '}');
}

constexpr std::string_view llama = R"({"model_type": "llama", "head_dim": 128, "num_hidden_layers": 2, )";
constexpr std::string_view mistral = R"({"dim": 4096, "n_layers": 2, "n_heads": 32, "head_dim": 128, )";
constexpr std::string_view gpt_oss =
    R"({"num_hidden_layers": 2, "head_dim": 64, "initial_context_length": 4096, )";

constexpr Fault of_llama[] = {
    {"unknown type", R"("rope_scaling": {"rope_type": "yran", "factor": 4}})",
     "rope_scaling.rope_type \"yran\": unknown scaling type; known are default, linear"},
    {"type of another kind", R"("rope_scaling": {"rope_type": ["yarn"]}})",
     "rope_scaling.rope_type: expected text, got a list"},
    {"no type", R"("rope_scaling": {"factor": 4}})",
     "rope_scaling: expected a rope_type (or type), one of default"},
    {"missing key", R"("rope_scaling": {"rope_type": "yarn"}})", "rope_scaling.factor: missing"},
    {"a list of another length",
     R"("max_position_embeddings": 8192, "rope_scaling": {"rope_type": "longrope", "short_factor": [1, 2],
        "long_factor": [1, 2]}})",
     "short_factor"},
    {"odd width", R"("rotary_dim": 33})", "rotary_dim 33: must be even"},
    {"no number", R"("rope_theta": "ten thousand"})",
     "rope_theta: expected a number, got text \"ten thousand\""},
    {"NaN", R"("rope_theta": "NaN"})", "base nan: must be positive and finite"},
    {"infinity", R"("rope_theta": 1e999})", "not JSON"},
    {"a bare infinity", R"("rope_theta": Infinity})", "rope_theta: expected a number, got Infinity"},
    {"a bare NaN", R"("rope_scaling": {"rope_type": "linear", "factor": NaN}})",
     "rope_scaling.factor: expected a number, got NaN"},
    {"a bare infinity for a count", R"("max_position_embeddings": -Infinity})",
     "max_position_embeddings: expected a whole number, got -Infinity"},
    {"a bare NaN in a list", R"("rope_scaling": {"rope_type": "longrope", "short_factor": [1, NaN],
        "long_factor": [1, 2]}})",
     "short_factor: expected a list of numbers, got NaN"},
    {"negative base", R"("rope_theta": -1})", "base -1: must be positive and finite"},
    {"base zero", R"("rope_theta": 0})", "base 0: must be positive and finite"},
    {"negative factor", R"("rope_scaling": {"rope_type": "linear", "factor": -2}})",
     "factor -2: must be finite and at least 1"},
    {"a base beyond fp32", R"("rope_theta": 1e300})", "base 1e+300: must be finite in fp32"},
    {"a length of zero",
     R"("rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
        "original_max_position_embeddings": 0}})",
     "original_max_position_embeddings 0"},
    {"bounds the other way round",
     R"("rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1,
        "original_max_position_embeddings": 8192}})",
     "high_freq_factor 1"},
    {"duplicate keys", R"("rope_theta": 1e4, "rope_theta": 1e6})",
     "the key \"rope_theta\" appears twice in one object"},
    {"sections of another sum", R"("rope_scaling": {"type": "mrope", "mrope_section": [16, 16, 16]}})",
     "axis_sections: sum 48, must be the number of pairs, 64"},
    {"sections that are no numbers", R"("rope_scaling": {"type": "mrope", "mrope_section": [16, "24", 24]}})",
     "mrope_section: expected whole numbers, got text"},
    {"a fraction of a token", R"("max_position_embeddings": 4096.5})",
     "max_position_embeddings 4096.5: must be a whole number"},
    {"more than a whole number holds", R"("max_position_embeddings": 1e300})", "must be a whole number"},
    {"a context of nothing", R"("max_position_embeddings": 0})",
     "max_position_embeddings 0: must be at least 1 token"},
    {"a factor that is not used",
     R"("max_position_embeddings": 8192, "rope_scaling": {"rope_type": "telechat3-yarn", "factor": "nan",
        "original_max_position_embeddings": 4096}})",
     "factor nan: must be finite and at least 1"},
    {"too many layers", R"("n_layer": 2, "layer_types": ["full_attention"]})",
     "layer_types: 1 entries, must be one a layer, 2"},
    {"two text models",
     R"("text_config": {"model_type": "llama", "head_dim": 64}, "llm_config": {"model_type": "llama"}})",
     "text_config and llm_config: must agree, where both are there"},
    {"a text model of another kind", R"("text_config": "llama"})",
     "text_config: expected an object, got text \"llama\""},
    {"an image encoder of another kind", R"("vision_config": [1]})",
     "vision_config: expected an object, got a list"},
    {"layer types without a list of them", R"("rope_parameters": {"full_attention": {"rope_theta": 1e4}}})",
     "layer_types: missing, so which layers have which rope of rope_parameters is not known"},
    {"a part where a list of parts must be", R"("partial_rotary_factors": 0.5})",
     "partial_rotary_factors: expected a list, got a number"},
    {"types of layers that are none",
     R"("layer_types": ["full_attention", "sliding_attention"], "yarn_only_types": ["full_atention"],
        "rope_scaling": {"type": "linear", "factor": 2}})",
     "yarn_only_types: expected types of layers, got \"full_atention\""},
    {"text after the document", R"("rope_theta": 1e4} {})", "not JSON at byte"},
    {"truncated", R"("rope_theta": 1e4)", "not JSON at byte"},
    {"not UTF-8", "\"x\": \"\xff\xfe\"}", "not JSON at byte"},
};

constexpr Fault of_mistral[] = {
    {"no number", R"("rope_theta": []})", "rope_theta: expected a number, got a list"},
    {"negative base", R"("rope_theta": -5})", "base -5: must be positive and finite"},
    {"missing key", R"("yarn": {"original_max_position_embeddings": 16384}})", "yarn.factor: missing"},
    {"factor below one", R"("yarn": {"factor": 0.5, "original_max_position_embeddings": 16384}})",
     "factor 0.5"},
    {"switch of another kind",
     R"("yarn": {"factor": 2, "original_max_position_embeddings": 16384, "apply_scale": 1}})",
     "yarn.apply_scale: expected true or false, got a number"},
    {"odd width", R"("qk_rope_head_dim": 63, "qk_nope_head_dim": 128})", "rotary_dim 63: must be even"},
    {"duplicate keys", R"("rope_theta": 1e4, "rope_theta": 1e6})", "appears twice"},
    {"truncated", R"("yarn": {)", "not JSON at byte"},
};

constexpr Fault of_gpt_oss[] = {
    {"a factor below one", R"("rope_scaling_factor": -7})", "rope_scaling_factor -7: must be at least 1"},
    {"no number", R"("rope_ntk_alpha": "one"})", "rope_ntk_alpha: expected a number, got text \"one\""},
    {"a length of zero", R"("rope_scaling_factor": 4, "rope_theta": 0})",
     "base 0: must be positive and finite"},
};

void expect_refused(std::string_view before, std::span<const Fault> faults) {
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.what);
    const auto model = Model::from_config(std::string(before) + std::string(fault.json), "file.json");
    ASSERT_FALSE(model);
    EXPECT_EQ(model.status().code(), StatusCode::malformed);
    const std::string message(model.status().message());
    EXPECT_TRUE(message.starts_with("file.json: ")) << message;
    EXPECT_NE(message.find(fault.message), message.npos) << message;
  }
}

TEST(Refusal, OfAConfig) { expect_refused(llama, of_llama); }
TEST(Refusal, OfMistralsParams) { expect_refused(mistral, of_mistral); }
TEST(Refusal, OfGptOssOwnConfig) { expect_refused(gpt_oss, of_gpt_oss); }

TEST(Refusal, OfDeepNesting) {
  EXPECT_SUCCEEDS(Model::from_config("{\"model_type\": \"llama\", \"head_dim\": 8, \"x\": [[[[]]]]}"));
  EXPECT_FAILS(Model::from_config(nested(100)), StatusCode::malformed, "nested deeper than 64 levels");
  EXPECT_FAILS(Model::from_config(std::string(1000000, '[')), StatusCode::malformed, "nested deeper than 64");
}

TEST(Refusal, ALengthBelowTheOriginalIsDoubtful) {
  const std::string config =
      std::string(llama) + R"("max_position_embeddings": 4096, "rope_scaling": {"rope_type":
      "yarn", "factor": 4, "original_max_position_embeddings": 8192}})";
  EXPECT_EQ(Model::from_config(config)->warnings().size(), 1U);
  EXPECT_FAILS(
      Model::from_config(config, "file.json", {.strict = true}), StatusCode::malformed,
      "max_position_embeddings 4096 is less than rope_scaling.original_max_position_embeddings 8192");
}

}  // namespace
}  // namespace rotary
