// SPDX-License-Identifier: Apache-2.0
// `rotary explain` of whole models: reports kept word for word, and what a report must say about a doubtful
// file.
#include <gtest/gtest.h>

#include "explain.hpp"
#include "support/files.hpp"

namespace rotary::testing {
namespace {

class Golden : public ::testing::TestWithParam<const char*> {};
TEST_P(Golden, TextAndJson) {
  const std::string name = GetParam();
  expect_golden(run_command({"explain", name}).out, name + ".txt");
  expect_golden(run_command({"explain", name, "--json"}).out, name + ".json");
}
INSTANTIATE_TEST_SUITE_P(Presets, Golden,
                         ::testing::Values("llama-3.1-8b", "gemma-3-4b", "deepseek-v3", "gpt-oss-20b"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

// An encoder has a schedule an axis: DINOv3's are alike, of Pixtral's the columns are slower by 10000^(2/64).
TEST(ExplainModel, SchedulesThatWereJoined) {
  const TemporaryFolder folder;
  const std::string config = folder / "config.json";
  const auto encoder = [&](const std::string& model_type) {
    write_file(config,
               R"({"model_type": ")" + model_type + R"(", "hidden_size": 384, "num_attention_heads": 6,
        "num_hidden_layers": 2})");
    return explain_json({config})["ropes"][0];
  };
  Json rope = encoder("dinov3_vit");
  EXPECT_EQ(rope["base"], 100);
  EXPECT_EQ(rope["scaling"]["type"], "dinov3");
  ASSERT_EQ(rope["parts"].size(), 2U);
  EXPECT_EQ(rope["parts"][1], Json::parse(R"({"pairs": 16, "base": 100.0, "scaling": {"type": "dinov3"}})"));
  std::string text = flowing(explain({config}));
  EXPECT_TRUE(has(text, "scaling dinov3: ")) << text;
  EXPECT_TRUE(has(text, "2 schedules of 16 pairs, base 100, one an axis")) << text;
  EXPECT_FALSE(has(text, "as the base says"));

  rope = encoder("pixtral");
  EXPECT_EQ(rope["base"], 10000);
  EXPECT_TRUE(rope["scaling"].is_null());
  EXPECT_EQ(rope["parts"][0]["scaling"]["type"], "default");
  EXPECT_EQ(rope["parts"][1]["scaling"]["type"], "linear");
  EXPECT_NEAR(rope["parts"][1]["scaling"]["factor"].get<double>(), 1.333521432163324, 1e-14);
  text = flowing(explain({config}));
  EXPECT_TRUE(has(text, "scaling 2 schedules, one an axis: 16 pairs, base 10000, default: no scaling"))
      << text;
  EXPECT_TRUE(has(text, "16 pairs, base 10000, linear: ")) << text;
  EXPECT_TRUE(has(text, "factor 1.33352143")) << text;
  EXPECT_FALSE(Json(explain_json({"llama-3.1-8b"})["ropes"][0]).contains("parts"));
}

class Doubtful : public ::testing::Test {
 protected:
  Doubtful() {
    write_file(config, R"({"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 3584,
        "num_attention_heads": 28, "num_hidden_layers": 28, "rope_theta": 1000000.0,
        "max_position_embeddings": 40960, "rope_scaling": {"type": "yarn", "factor": 4.0,
        "original_max_position_embeddings": 32768, "frobnicate": 3}})");
  }
  TemporaryFolder folder;
  const std::string config = folder / "config.json";
};

// The factor of the file is used; that it differs from the lengths, and an unknown key, come first.
TEST_F(Doubtful, WarningsLeadTheReport) {
  const Ran ran = run_command({"explain", config});
  EXPECT_EQ(ran.exit_code, 0);
  const auto doubtful = ran.out.find("\ndoubtful\n"), rope = ran.out.find("\nrope \"default\"");
  ASSERT_NE(doubtful, std::string::npos) << ran.out;
  for (const char* part : {"frobnicate", "1.25"}) {
    const auto at = ran.out.find(part);
    EXPECT_GT(at, doubtful) << part;
    EXPECT_LT(at, rope) << part;
  }
  EXPECT_NE(ran.out.find("factor 4: a stretched pair sees positions divided by 4"), std::string::npos);
  EXPECT_NE(ran.out.find("original 32768 tokens, context 40960 tokens, which is 1.25 times as many"),
            std::string::npos);
  EXPECT_EQ(Json::parse(run_command({"explain", config, "--json"}).out)["warnings"].size(), 2U);
}

TEST_F(Doubtful, NumbersBeyondSense) {
  const auto text = [&](const std::string& length, const std::string& scaling) {
    write_file(
        config,
        R"({"model_type": "llama", "head_dim": 4, "num_hidden_layers": 1, "max_position_embeddings": )" +
            length + ", \"rope_scaling\": {" + scaling + "}}");
    return flowing(explain({config}));
  };
  EXPECT_TRUE(has(text("32768", R"("type": "linear", "factor": 1e308)"),
                  "one full turn takes over 1e308 (every pair) positions"));
  const std::string lists = R"("type": "longrope", "short_factor": [1, 1], "long_factor": [2, 2],
      "original_max_position_embeddings": 4096, )";
  EXPECT_TRUE(has(text("32768", lists + R"("factor": 8)"),
                  "factor 8: is for A alone; the lists say how much slower the pairs turn"));
  const std::string telechat =
      R"("type": "telechat3-yarn", "factor": 2, "original_max_position_embeddings": 8192)";
  EXPECT_TRUE(has(text("32768", telechat),
                  "which is 4 times as many; the factor is 2, and this type takes the ratio"));
}

// Qwen 1 works its alpha out of the length.
TEST(Explain, AlphaThatGrowsWithTheLength) {
  EXPECT_TRUE(
      has(flowing(explain({"qwen-1.8b", "--length", "20000"})),
          "alpha grows with the sequence (use_dynamic_ntk beyond seq_length 8192); this is the one of "
          "20000 tokens"));
  EXPECT_TRUE(
      has(flowing(explain({"qwen-1.8b"})), "this is the one up to there, since no --length is given"));
  EXPECT_TRUE(has(flowing(explain({"hunyuan-7b"})), "the same at every length"));
}

TEST_F(Doubtful, StrictRefuses) { EXPECT_REFUSES(3, "frobnicate", {"explain", config, "--strict"}); }

TEST_F(Doubtful, AFolderAndAWeightsFileStandForTheirConfig) {
  write_file(folder / "model.safetensors", "");
  for (const std::string& model : {folder.path().string(), folder / "model.safetensors"}) {
    const Json json = Json::parse(run_command({"explain", model, "--json"}).out);
    EXPECT_EQ(json["ropes"][0]["scaling"]["type"], "yarn") << model;
    EXPECT_EQ(json["source"]["kind"], "hf_config") << model;
  }
}

TEST_F(Doubtful, PairingFromTheCommandLineWins) {
  const Json json = Json::parse(run_command({"explain", config, "--pairing", "interleaved", "--json"}).out);
  EXPECT_EQ(json["ropes"][0]["pairing"], "interleaved");
}

TEST(ExplainGguf, KnowsBothRopesOfGemma3) {
  const Json json = Json::parse(run_command({"explain", data_path("gemma3_270m_header.gguf"), "--json"}).out);
  EXPECT_EQ(json["source"]["kind"], "gguf");
  ASSERT_EQ(json["layers"].size(), 18U);
  const auto base = [&](std::size_t layer) {
    return json["ropes"][json["layers"][layer].get<std::size_t>()]["base"].get<double>();
  };
  EXPECT_EQ(base(7), 10000);
  EXPECT_EQ(base(11), 1000000);
}

TEST(ExplainLayers, ALayerWithoutARopeIsNull) {
  const Json layers = Json::parse(run_command({"explain", "smollm3-3b", "--json"}).out)["layers"];
  ASSERT_EQ(layers.size(), 36U);
  EXPECT_EQ(layers[2], 0);
  EXPECT_TRUE(layers[3].is_null());
  EXPECT_NE(
      run_command({"explain", "smollm3-3b"}).out.find("no rope, layers 3, 7, 11, 15, 19, 23, 27, 31, 35"),
      std::string::npos);
}

/// Without the line breaks, which are for reading alone.
std::string explained(const std::string& config) {
  const TemporaryFolder folder;
  write_file(folder / "config.json", config);
  return flowing(run_command({"explain", folder / "config.json"}).out);
}
std::string llama(const std::string& more) {
  return R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 2,
             "max_position_embeddings": 40960)" +
         more + "}";
}

// The questions people get wrong, each answered in words.
TEST(Answers, WhetherTheOriginalLengthIsGuessed) {
  const std::string guessed = explained(llama(R"(, "rope_scaling": {"type": "yarn", "factor": 4.0})"));
  EXPECT_TRUE(
      has(guessed,
          "original 40960 tokens (guessed: max_position_embeddings, since no original length is stated)"))
      << guessed;
  const std::string stated = explained(llama(
      R"(, "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768})"));
  EXPECT_TRUE(
      has(stated,
          "original 32768 tokens, context 40960 tokens, which is 1.25 times as many; the factor is 4, and "
          "the factor counts"))
      << stated;
}

TEST(Answers, WhetherTheBaseIsChangedTwice) {
  const std::string alpha = R"("rope_scaling": {"type": "dynamic", "alpha": 1000.0})";
  EXPECT_TRUE(has(
      explained(llama(R"(, "rope_theta": 11158840.0, )" + alpha)),
      "the scaling changes the base once more: it is stated as 11158840; if the stretch is in that number "
      "already, it is there twice"));
  EXPECT_FALSE(has(explained(llama(R"(, "rope_theta": 10000.0, )" + alpha)), "once more"));
  EXPECT_FALSE(has(explained(llama(R"(, "rope_theta": 1000000.0)")), "once more"));
}

TEST(Answers, WhetherAPartTurnsByLanesOrByFrequencies) {
  const std::string zeros =
      explained(llama(R"(, "rope_scaling": {"rope_type": "proportional", "partial_rotary_factor": 0.25})"));
  EXPECT_TRUE(has(zeros, "all 128 lanes of a head turn, but only 16 pairs by a frequency that is not 0"))
      << zeros;
  EXPECT_TRUE(has(explained(llama(R"(, "partial_rotary_factor": 0.25)")),
                  "lanes 0-31 of a head's 128 turn, the others pass unchanged; 16 pairs"));
}

TEST(Answers, WhichListIsInUseAndWhy) {
  const TemporaryFolder folder;
  const auto use = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"explain",  "--head-dim",
                                          "4",        "--scaling",
                                          "longrope", "--short-factor",
                                          "1,1",      "--long-factor",
                                          "2,4",      "--max-position-embeddings",
                                          "8192"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments).out;
  };
  EXPECT_TRUE(has(use({}), "in use: the short list, since no --length is given"));
  EXPECT_TRUE(has(use({"--length", "4097"}), "in use: the long list, for a sequence of 4097 tokens"));
}

TEST(Answers, HowTheQueryGrows) {
  const std::string text = run_command({"explain", "ministral-3-3b"}).out;
  EXPECT_TRUE(has(text, "query scale")) << text;
  EXPECT_TRUE(has(text, "1.27726 at position 262143"));
  const Json json = Json::parse(run_command({"explain", "ministral-3-3b", "--json"}).out)["temperature"];
  EXPECT_EQ(json, (Json{{"scale", 0.1}, {"length", 16384.0}, {"first", 0.0}, {"layers", "all"}}));
  EXPECT_TRUE(Json::parse(run_command({"explain", "llama-2-7b", "--json"}).out)["temperature"].is_null());
}

}  // namespace
}  // namespace rotary::testing
