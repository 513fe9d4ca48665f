// SPDX-License-Identifier: Apache-2.0
// Keys of config.json: layouts, names, conflicts, and where each value came from.
#include <gtest/gtest.h>

#include <cmath>
#include <rotary/model.hpp>

#include "model_checks.hpp"

namespace rotary {
namespace {

using testing::base_of;
using testing::find_value;
using testing::llama;
using testing::load;
using testing::source_of;

TEST(Config, OldAndNewLayoutGiveTheSameRope) {
  const auto top = load(llama(R"(, "rope_theta": 500000.0)"));
  const auto in_scaling = load(llama(R"(, "rope_scaling": {"rope_type": "default", "rope_theta": 5e5})"));
  const auto in_parameters =
      load(llama(R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 500000})"));
  EXPECT_EQ(top.ropes()[0].rope, in_scaling.ropes()[0].rope);
  EXPECT_EQ(top.ropes()[0].rope, in_parameters.ropes()[0].rope);
  EXPECT_EQ(source_of(top, "base"), "rope_theta");
  EXPECT_EQ(source_of(in_scaling, "base"), "rope_scaling.rope_theta");
  EXPECT_EQ(source_of(in_parameters, "base"), "rope_parameters.rope_theta");
  EXPECT_TRUE(top.warnings().empty());
}

TEST(Config, OldAndNewMustAgree) {
  EXPECT_SUCCEEDS(
      Model::from_config(llama(R"(, "rope_theta": 1e6, "rope_parameters": {"rope_theta": 1000000})")));
  EXPECT_FAILS(
      Model::from_config(llama(R"(, "rope_theta": 1e6, "rope_parameters": {"rope_theta": 10000})"), "c.json"),
      StatusCode::malformed, "c.json: rope_parameters.rope_theta 10000 and rope_theta 1000000: must agree");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"type": "linear", "factor": 2},
                                            "rope_parameters": {"rope_type": "linear", "factor": 4})")),
               StatusCode::malformed,
               "rope_parameters (linear) and rope_scaling (linear): must describe the same scaling");
  EXPECT_SUCCEEDS(Model::from_config(llama(R"(, "rope_scaling": {"type": "linear", "factor": 2},
                                               "rope_parameters": {"rope_type": "linear", "factor": 2.0})")));
}

TEST(Config, TypeHasTwoNames) {
  EXPECT_SUCCEEDS(Model::from_config(llama(R"(, "rope_scaling": {"type": "linear", "factor": 2})")));
  const auto both =
      load(llama(R"(, "rope_scaling": {"type": "linear", "rope_type": "linear", "factor": 2})"));
  EXPECT_TRUE(both.warnings().empty());
  EXPECT_FAILS(
      Model::from_config(llama(R"(, "rope_scaling": {"type": "linear", "rope_type": "yarn", "factor": 2})")),
      StatusCode::malformed, "rope_scaling.type \"linear\" and rope_scaling.rope_type \"yarn\": must agree");
}

TEST(Config, MissingBaseIsListedAsAssumed) {
  const auto model = load(llama(""));
  EXPECT_EQ(base_of(model), 10000);
  EXPECT_EQ(source_of(model, "base"), "default: the file states no base (assumed)");
  // A family's own default is not a guess.
  const auto cohere = load(R"({"model_type": "cohere", "head_dim": 128, "num_hidden_layers": 1})");
  EXPECT_EQ(base_of(cohere), 500000);
  EXPECT_EQ(source_of(cohere, "base"), "default of cohere");
}

TEST(Config, OtherNamesOfTheBase) {
  EXPECT_EQ(base_of(load(llama(R"(, "rotary_emb_base": 25000)"))), 25000);
  EXPECT_EQ(
      base_of(load(R"({"model_type": "chatglm", "kv_channels": 128, "num_layers": 1, "rope_ratio": 50})")),
      500000);
  EXPECT_EQ(base_of(load(llama(R"(, "rope_theta": 500000.5)"))), 500000.5);
}

TEST(Config, BaseIsAPositiveNumber) {
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_theta": true)")), StatusCode::malformed,
               "rope_theta: expected a number, got a truth value");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_theta": [10000, 1000000, 1])")), StatusCode::malformed,
               "rope_theta: 3 entries, must be one a layer, 2");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_theta": -1)")), StatusCode::malformed,
               "rope default: base -1: must be positive and finite");
}

TEST(Config, FactorMayBeText) {
  for (const char* factor : {"4", "4.0", "\"4\"", "\"4.0\"", "4e0", "\"4e0\""}) {
    const auto model =
        load(llama(std::string(R"(, "rope_scaling": {"type": "linear", "factor": )") + factor + "}"));
    EXPECT_EQ(std::get<scaling::Linear>(model.ropes()[0].rope.spectrum().scaling()).factor, 4) << factor;
  }
  const auto text = load(llama(R"(, "rope_theta": "50000")"));
  ASSERT_EQ(text.warnings().size(), 1U);
  EXPECT_EQ(text.warnings()[0],
            "rope_theta \"50000\": text, read as the number it spells; Transformers fails on it");
  for (const char* factor : {"0", "-4", "0.5", "\"NaN\"", "\"inf\""}) {
    EXPECT_FAILS(Model::from_config(
                     llama(std::string(R"(, "rope_scaling": {"type": "linear", "factor": )") + factor + "}")),
                 StatusCode::malformed, "must be finite and at least 1");
  }
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"type": "linear", "factor": "4x"})")),
               StatusCode::malformed, "rope_scaling.factor: expected a number, got text \"4x\"");
}

TEST(Config, UnknownTypes) {
  EXPECT_FAILS(
      Model::from_config(llama(R"(, "rope_scaling": {"type": "banana", "factor": 2})"), "c.json"),
      StatusCode::malformed,
      "c.json: rope_scaling.type \"banana\": unknown scaling type; known are default, linear, llama3, yarn");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"rope_type": "fope"})")),
               StatusCode::unsupported, "rope_scaling.rope_type \"fope\": it mixes cos and sin by matrices");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"type": 3})")), StatusCode::malformed,
               "rope_scaling.type: expected text, got a number");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": "linear")")), StatusCode::malformed,
               "rope_scaling: expected an object, got text \"linear\"");
}

TEST(Config, MissingKeysAreNamed) {
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"type": "linear"})")), StatusCode::malformed,
               "rope_scaling.factor: missing");
  EXPECT_FAILS(Model::from_config(
                   llama(R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8, "high_freq_factor": 4,
                              "original_max_position_embeddings": 8192})"),
                   "c.json"),
               StatusCode::malformed,
               "c.json: rope_scaling.low_freq_factor: missing, and the scaling needs it");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"type": "linear", "fctor": 4})")),
               StatusCode::malformed,
               "rope_scaling.factor: missing, and the scaling needs it; is \"fctor\" meant for it?");
}

TEST(Config, EmptyAndNullMeanNoScaling) {
  for (const char* keys :
       {R"(, "rope_scaling": null)", R"(, "rope_scaling": {})", R"(, "rope_parameters": null)",
        R"(, "rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 1.0,
                                                    "rope_type": "default"})",
        R"(, "rope_scaling": {"type": "none"})"}) {
    const auto model = load(llama(keys));
    EXPECT_EQ(name(model.ropes()[0].rope.spectrum().scaling()), "default") << keys;
    EXPECT_TRUE(model.warnings().empty()) << keys;
  }
}

TEST(Config, UnknownKeysOfADictionaryWarn) {
  const auto model = load(llama(R"(, "rope_scaling": {"type": "yarn", "factor": 4, "beta_fasst": 16,
                                     "original_max_position_embeddings": 1024})"));
  ASSERT_EQ(model.warnings().size(), 1U);
  EXPECT_EQ(model.warnings()[0],
            "rope_scaling.beta_fasst: scaling type yarn has no such key, so it is not read; did you mean "
            "beta_fast?");
}

TEST(Config, SimilarKeysWarn) {
  for (const auto& [key, meant] : {std::pair{"rotary_scaling", "rope_scaling"},
                                   {"rope_scale", "rope_scaling"},
                                   {"rope-scaling", "rope_scaling"},
                                   {"rope_thetta", "rope_theta"}}) {
    const auto json = llama(std::string(", \"") + key + "\": {\"factor\": 2}");
    const auto model = load(json);
    ASSERT_EQ(model.warnings().size(), 1U) << key;
    EXPECT_EQ(model.warnings()[0],
              std::string(key) + ": not a key that is read; did you mean " + meant + "?");
    EXPECT_FAILS(Model::from_config(json, "c.json", {.strict = true}), StatusCode::malformed,
                 std::string("c.json: ") + key);
  }
}

TEST(Config, YarnWithoutOriginalLengthAssumesTheContext) {
  const auto model = load(llama(R"(, "rope_scaling": {"type": "yarn", "factor": 4})"));
  EXPECT_EQ(source_of(model, "original_max_position_embeddings"),
            "max_position_embeddings, since no original length is stated (assumed)");
  EXPECT_EQ(model.ropes()[0].original_context, 4096);
}

TEST(Config, OriginalLengthMayStandAtTheTop) {
  const auto model = load(llama(R"(, "original_max_position_embeddings": 1024,
                                   "rope_scaling": {"type": "yarn", "factor": 4})"));
  EXPECT_EQ(source_of(model, "original_max_position_embeddings"), "original_max_position_embeddings");
  EXPECT_FAILS(
      Model::from_config(llama(R"(, "original_max_position_embeddings": 1024,
                  "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 2048})")),
      StatusCode::malformed,
      "rope_scaling.original_max_position_embeddings 2048 and original_max_position_embeddings 1024: must");
}

TEST(Config, StatedFactorWinsOverTheRatioAndTheReportSaysSo) {
  const auto model = load(R"({"model_type": "qwen3", "num_hidden_layers": 1, "max_position_embeddings": 40960,
      "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 32768}})");
  EXPECT_EQ(std::get<scaling::Yarn>(model.ropes()[0].rope.spectrum().scaling()).factor, 4);
  ASSERT_EQ(model.warnings().size(), 1U);
  EXPECT_EQ(
      model.warnings()[0],
      "factor 4 is used, though max_position_embeddings / rope_scaling.original_max_position_embeddings is "
      "1.25");
}

TEST(Config, NullFactorIsTheRatio) {
  const auto model = load(llama(R"(, "rope_scaling": {"type": "yarn", "factor": null,
                                     "original_max_position_embeddings": 1024})"));
  EXPECT_EQ(std::get<scaling::Yarn>(model.ropes()[0].rope.spectrum().scaling()).factor, 4);
  EXPECT_EQ(source_of(model, "factor"),
            "derived: max_position_embeddings / rope_scaling.original_max_position_embeddings");
}

TEST(Config, WhichRuleGaveTheAttentionFactor) {
  const auto yarn = [](const std::string& keys) {
    return load(
        llama(R"(, "rope_scaling": {"type": "yarn", "original_max_position_embeddings": 256, "factor": 16)" +
              keys + "}"));
  };
  EXPECT_EQ(source_of(yarn(""), "attention_factor"), "derived: 0.1 ln(factor) + 1");
  EXPECT_EQ(source_of(yarn(R"(, "attention_factor": 1.0)"), "attention_factor"),
            "rope_scaling.attention_factor");
  const auto pair = yarn(R"(, "mscale": 1, "mscale_all_dim": 1)");
  EXPECT_EQ(pair.ropes()[0].rope.spectrum().attention_factor(), 1);
  EXPECT_EQ(source_of(pair, "attention_factor"),
            "derived: mscale over mscale_all_dim; without the two it would be 1.2772588722239782");
  EXPECT_EQ(pair.ropes()[0].rope.spectrum().softmax_factor(), 1) << "only latent attention multiplies it";
}

TEST(Config, ShorterThanTheOriginalWarns) {
  const auto model =
      load(llama(R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
      "high_freq_factor": 4, "original_max_position_embeddings": 8192})"));
  ASSERT_EQ(model.warnings().size(), 1U);
  EXPECT_EQ(model.warnings()[0],
            "max_position_embeddings 4096 is less than rope_scaling.original_max_position_embeddings 8192");
}

TEST(Config, TextConfigDescribesTheModel) {
  const auto model = load(R"({"architectures": ["LlavaForConditionalGeneration"], "model_type": "llava",
      "vision_config": {"model_type": "clip", "rope_theta": 1},
      "text_config": {"model_type": "mistral", "head_dim": 128, "num_hidden_layers": 3, "rope_theta": 1e6}})");
  EXPECT_EQ(model.architecture(), "LlavaForConditionalGeneration");
  EXPECT_EQ(model.model_type(), "mistral");
  EXPECT_EQ(source_of(model, "base"), "text_config.rope_theta");
  EXPECT_EQ(model.layers().size(), 3U);
}

TEST(Config, EveryScalingTypeIsReachable) {
  const auto reach = [&]<class Type>(const Type& type) {
    std::string dict = R"(, "rope_scaling": {"rope_type": ")" + std::string(type.name) + '"';
    std::string numbers = "[4";
    for (int pair = 1; pair < 64; ++pair) numbers += ", 4";
    Type::fields(type, [&](std::string_view key, const auto& field) {
      if (std::ranges::find(Type::required, key) == Type::required.end()) return;
      constexpr bool is_list = std::is_same_v<std::decay_t<decltype(field)>, std::vector<double>>;
      // The length stands at the top already.
      if (key != "max_position_embeddings")
        dict += ", \"" + std::string(key) + "\": " + (is_list ? numbers + "]" : "4");
    });
    const auto model = load(llama(dict + "}"));
    EXPECT_TRUE(std::holds_alternative<Type>(model.ropes()[0].rope.spectrum().scaling())) << type.name;
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (reach(std::variant_alternative_t<I, Scaling>()), ...); }
  (std::make_index_sequence<std::variant_size_v<Scaling>>());
}

std::string list_of(std::size_t numbers) {
  std::string list = "[1";
  for (std::size_t i = 1; i < numbers; ++i) list += ", 1";
  return list + "]";
}

TEST(Config, DynamicTakesTheLengthOfItsCaller) {
  const std::string config = llama(R"(, "rope_scaling": {"type": "dynamic", "factor": 2.0})");
  const auto last = [&](std::optional<std::int64_t> length) {
    return load(config, {.length = length}).ropes()[0].rope.spectrum().inv_freq()[63];
  };
  EXPECT_EQ(last({}), last(4096));
  EXPECT_NEAR(last(8192) / std::pow(30527.7367488, -63.0 / 64), 1, 1e-10);
  EXPECT_EQ(source_of(load(config), "max_position_embeddings"), "max_position_embeddings");
  EXPECT_FAILS(Model::from_config(R"({"model_type": "llama", "head_dim": 64, "num_hidden_layers": 1,
      "rope_scaling": {"type": "dynamic", "factor": 2}})"),
               StatusCode::malformed, "rope_scaling.max_position_embeddings: missing");
}

TEST(Config, DynamicWithAlphaIsHunyuansRule) {
  const auto model =
      Model::from_config(R"({"model_type": "hunyuan_v1_dense", "head_dim": 128, "num_hidden_layers": 1,
      "max_position_embeddings": 32768, "rope_theta": 10000, "rope_scaling": {"alpha": 1000.0, "beta_fast": 32,
      "beta_slow": 1, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "type": "dynamic"}})")
          .value();
  EXPECT_TRUE(model.warnings().empty());
  EXPECT_EQ(model.ropes()[0].rope.spectrum().scaling(), Scaling(scaling::NtkAlpha{1000}));
  EXPECT_NEAR(model.ropes()[0].rope.spectrum().inv_freq()[63] / std::pow(11158839.925, -63.0 / 64), 1, 1e-9);
  const auto both = load(llama(R"(, "rope_scaling": {"type": "linear", "factor": 2, "alpha": 2})"));
  ASSERT_EQ(both.warnings().size(), 1U);
  EXPECT_EQ(both.warnings()[0], "rope_scaling.alpha: scaling type linear has no such key, so it is not read");
}

TEST(Config, XdropeHasFourAxes) {
  const auto model = load(
      llama(R"(, "rope_scaling": {"type": "xdrope", "alpha": 1000.0, "xdrope_section": [16, 16, 16, 16]})"));
  EXPECT_TRUE(model.warnings().empty());
  EXPECT_EQ(model.ropes()[0].rope.spectrum().axes(), 4);
  EXPECT_EQ(source_of(model, "axis_sections"), "rope_scaling.xdrope_section");
}

TEST(Config, LongropeListsFitTheWindow) {
  const auto phi = [](std::string_view type, std::size_t numbers) {
    return R"({"model_type": "phi3", "hidden_size": 3072, "num_attention_heads": 24, "num_hidden_layers": 1,
        "max_position_embeddings": 131072, "original_max_position_embeddings": 4096, "partial_rotary_factor": 0.75,
        "rope_scaling": {"type": ")" +
           std::string(type) + R"(", "short_factor": )" + list_of(numbers) + R"(, "long_factor": )" +
           list_of(numbers) + "}}";
  };
  for (const char* type : {"longrope", "su"}) {
    const auto model = load(phi(type, 48));
    EXPECT_TRUE(model.warnings().empty());
    EXPECT_EQ(name(model.ropes()[0].rope.spectrum().scaling()), "longrope");
    EXPECT_NEAR(model.ropes()[0].rope.spectrum().attention_factor(), 1.1902380714, 5e-11);
    EXPECT_EQ(model.ropes()[0].original_context, 4096);
  }
  EXPECT_FAILS(Model::from_config(phi("longrope", 64)), StatusCode::malformed,
               "longrope: short_factor: 64 numbers, must be one a pair, rotary_dim 96 / 2 = 48");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"type": "su", "short_factor": 1})")),
               StatusCode::malformed, "rope_scaling.short_factor: expected a list, got a number");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"type": "su", "short_factor": [1, "x"]})")),
               StatusCode::malformed,
               "rope_scaling.short_factor: expected a list of numbers, got text \"x\"");
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"type": "su", "short_factor": [1]})")),
               StatusCode::malformed, "rope_scaling.long_factor: missing");
}

TEST(Config, ProportionalCoversTheHead) {
  const auto model = Model::from_config(R"({"model_type": "gemma4_text", "num_hidden_layers": 6,
      "head_dim": 256, "global_head_dim": 512, "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}}})")
                         .value();
  EXPECT_TRUE(model.warnings().empty());
  const Rope& global = model.find_rope("global")->rope;
  EXPECT_EQ(global.head_dim(), 512);
  EXPECT_EQ(global.rotary_dim(), 512);
  EXPECT_NEAR(global.spectrum().inv_freq()[63], 0.0333762469, 5e-11);
  EXPECT_EQ(global.spectrum().inv_freq()[64], 0);
  EXPECT_EQ(model.find_rope("local")->rope.rotary_dim(), 256);
  // The same where the file says nothing.
  const auto silent = Model::from_config(R"({"model_type": "gemma4_text", "num_hidden_layers": 6})").value();
  EXPECT_EQ(silent.find_rope("global")->rope, global);
  EXPECT_EQ(source_of(silent, "partial_rotary_factor", 1), "default of gemma4_text");
}

TEST(Config, DeepseeksOtherNameLeavesTheSoftmaxAlone) {
  const auto softmax = [](const std::string& type) {
    return load(llama(
                    R"(, "rope_scaling": {"factor": 40, "original_max_position_embeddings": 4096, "mscale": 1,
        "mscale_all_dim": 1, "type": ")" +
                    type + "\"}"))
        .ropes()[0]
        .rope.spectrum()
        .softmax_factor();
  };
  EXPECT_NEAR(softmax("deepseek_yarn"), 1.8738542071, 5e-11);
  EXPECT_EQ(softmax("deepseek_llama_scaling"), 1);
}

TEST(Config, RopeRatioIsAFamilyRule) {
  const auto model = Model::from_config(
      R"({"model_type": "chatglm", "kv_channels": 128, "num_layers": 1, "rope_ratio": 50})");
  ASSERT_SUCCEEDS(model);
  EXPECT_EQ(base_of(*model), 500000);
  EXPECT_EQ(source_of(*model, "base"), "family rule: 10000 * rope_ratio");
}

TEST(Config, NotAnObject) {
  EXPECT_FAILS(Model::from_config("[1]", "c.json"), StatusCode::malformed,
               "c.json: expected an object, got a list");
  EXPECT_FAILS(Model::from_config("{\"a\": 1, \"a\": 1}", "c.json"), StatusCode::malformed,
               "c.json: the key \"a\" appears twice");
}

TEST(Config, QueryTemperatureIsListed) {
  const auto model = Model::from_preset("ministral-3-3b").value();
  EXPECT_EQ(std::get<double>(find_value(model, "temperature_scale")->value), 0.1);
  EXPECT_EQ(source_of(model, "temperature_scale"), "text_config.rope_parameters.llama_4_scaling_beta");
}

}  // namespace
}  // namespace rotary
