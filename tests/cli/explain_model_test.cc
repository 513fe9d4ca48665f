// SPDX-License-Identifier: Apache-2.0
// `rotary explain` of whole models: reports kept word for word, and what a report must say about a doubtful
// file.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_command.hpp"
#include "support/files.hpp"

namespace rotary::testing {
namespace {

using Json = nlohmann::json;

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

}  // namespace
}  // namespace rotary::testing
