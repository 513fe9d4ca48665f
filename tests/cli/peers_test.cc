// SPDX-License-Identifier: Apache-2.0
// --as PEER, and what `rotary explain` says about those who read a file otherwise.
#include <gtest/gtest.h>

#include "explain.hpp"
#include "support/files.hpp"
#include "unit/model/gguf_writer.hpp"

namespace rotary::testing {
namespace {

/// Without the line breaks.
std::string words(const std::vector<std::string>& arguments) { return flowing(explain(arguments)); }
Json of_peer(const Json& json, std::string_view peer) {
  for (const Json& entry : json["peers"])
    if (entry["peer"] == peer) return entry;
  return {};
}

const std::vector<std::string> dynamic = {
    "--head-dim", "128",      "--scaling", "dynamic", "--factor", "2", "--max-position-embeddings",
    "4096",       "--length", "8192"};

const std::vector<std::string> stated_a = {"--base",
                                           "1000000",
                                           "--head-dim",
                                           "128",
                                           "--scaling",
                                           "yarn",
                                           "--factor",
                                           "16",
                                           "--original-max-position-embeddings",
                                           "16384",
                                           "--attention-factor",
                                           "1"};
std::vector<std::string> as_sglang(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--as", "sglang"});
  return arguments;
}

TEST(ExplainPeers, SaysTheDifferenceInWords) {
  const std::string text = words(stated_a);
  EXPECT_TRUE(has(text, "transformers, vllm: the same numbers")) << text;
  EXPECT_TRUE(has(
      text,
      "sglang: attention factor 1.27725887 instead of 1: scores of rotated lanes 1.631 times larger. Why: "
      "attention_factor is not handed on to YaRN, so A is its formula"))
      << text;
  EXPECT_TRUE(
      has(words({"gpt-oss-20b"}),
          "llama.cpp, mlx: the angle of pair 12 at position 131071 differs by 28.93 rad (4.605 turns), the "
          "furthest of 9 pairs. Why: truncate cannot be switched off"));
}

TEST(ExplainPeers, SaysNothingWhereAllAgree) {
  EXPECT_FALSE(has(words({"llama-3.1-8b"}), "peers"));
  const Json json = explain_json({"llama-3.1-8b"});
  ASSERT_EQ(json["peers"].size(), 5U);
  for (const Json& entry : json["peers"]) EXPECT_EQ(entry["status"], "same");
  // At the first token nothing turns, and yet frequencies differ, not axes.
  EXPECT_FALSE(has(words({"gpt-oss-20b", "--length", "1"}), "axis"));
}

TEST(ExplainPeers, AnImageEncoderIsNotTheSameToThoseWhoAreNotKnownToHaveIt) {
  const TemporaryFolder folder;
  write_file(folder / "config.json", R"({"model_type": "dinov3_vit", "hidden_size": 384,
      "num_attention_heads": 6, "num_hidden_layers": 2})");
  const std::string text = words({folder / "config.json"});
  EXPECT_TRUE(has(text, "- transformers: the same numbers")) << text;
  EXPECT_TRUE(has(
      text,
      "- llama.cpp, vllm, sglang: not known: nothing is described here of its encoders of images or sound"));
  EXPECT_TRUE(has(text, "- mlx: cannot run it: it has no encoders of images or sound"));
  const Json json = explain_json({folder / "config.json"});
  EXPECT_EQ(of_peer(json, "vllm")["status"], "unknown");
  EXPECT_EQ(of_peer(json, "mlx")["status"], "unsupported");
  EXPECT_EQ(of_peer(json, "transformers")["status"], "same");
}

TEST(ExplainPeers, SaysWhoseLengthDecidesAndWhatItGives) {
  const std::string text = words(dynamic);
  EXPECT_TRUE(has(text, "Length: by the batch: recomputed when a longer sequence comes than ever before"));
  EXPECT_TRUE(has(text, "here base 30527.7367488"));
  EXPECT_TRUE(has(text, "llama.cpp: cannot run it: scaling type dynamic: llama.cpp has none"));
  EXPECT_TRUE(has(text, "Length: not at all; here base 10000"));
  const Json json = explain_json(dynamic);
  EXPECT_EQ(of_peer(json, "transformers")["length_rule"], "by_batch");
  EXPECT_EQ(of_peer(json, "llama.cpp")["status"], "unsupported");
  EXPECT_TRUE(of_peer(json, "llama.cpp")["attention_factor"].is_null());
}

TEST(ExplainPeers, JsonHasTheSameAsData) {
  const Json json = explain_json({"gpt-oss-20b"});
  EXPECT_TRUE(json["as"].is_null());
  EXPECT_EQ(json["peers"].size(), 5U);
  const Json mlx = of_peer(json, "mlx");
  EXPECT_EQ(mlx["status"], "differs");
  EXPECT_EQ(mlx["rope"], 0);
  EXPECT_EQ(mlx["tokens"], 131072);
  EXPECT_EQ(mlx["pairs_that_differ"], 9);
  EXPECT_EQ(mlx["worst_pair"], 12);
  EXPECT_NEAR(mlx["angle_difference"].get<double>(), 131071 * (0.00701571391 - 0.00679495949), 2e-5);
  EXPECT_EQ(mlx["reasons"].size(), 1U);
  EXPECT_TRUE(of_peer(json, "vllm")["worst_pair"].is_null());
}

TEST(As, GivesThePeersNumbers) {
  const Json json = explain_json({"gpt-oss-20b", "--as", "llama.cpp"});
  EXPECT_EQ(json["as"], "llama.cpp");
  EXPECT_NEAR(json["ropes"][0]["inv_freq"][12].get<double>(), 0.00701571391, 1e-11);
  EXPECT_EQ(of_peer(json, "llama.cpp")["status"], "differs")
      << "peers are measured against the file's reading";
  const std::string text = words(as_sglang(stated_a));
  EXPECT_TRUE(has(text, "as sglang computes it"));
  EXPECT_TRUE(has(text, "A = 1.27725887"));
  EXPECT_FALSE(has(text, "against the numbers above"));
  EXPECT_TRUE(has(text, "against its own numbers, at 4096 tokens: attention factor 1.27725887 instead of 1"));
  EXPECT_FALSE(has(text, "sglang = ")) << "a reason is no value";
}

TEST(As, ReachesTableAndApply) {
  const TemporaryFolder folder;
  const std::string table = folder / "table.safetensors";
  std::vector<std::string> arguments = as_sglang(stated_a);
  arguments.insert(arguments.begin(), "table");
  arguments.insert(arguments.end(), {"--positions", "0:2", "--out", table});
  const Ran ran = run_command(arguments);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(has(ran.err, "rope \"default\", as sglang, angles exact, A = 1.2772588722239782 included"))
      << ran.err;
  EXPECT_EQ(run_command({"apply", "--help"}).out.find("--as PEER") != std::string::npos, true);
}

TEST(As, SaysWhereTransformersTurnsMoreOfTheHead) {
  const TemporaryFolder folder;
  write_file(folder / "config.json",
             R"({"model_type": "llama", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2,
                 "max_position_embeddings": 4096, "rope_theta": 10000.0, "partial_rotary_factor": 0.5})");
  const std::string text = words({folder / "config.json"});
  EXPECT_TRUE(
      has(text,
          "transformers: it turns 128 lanes instead of 64, and so all pairs otherwise. Why: its class "
          "turns the whole head: no key of a part of it is read"))
      << text;
  const Json json = explain_json({folder / "config.json", "--as", "transformers"});
  EXPECT_EQ(json["ropes"][0]["rotary_dim"], 128);
  EXPECT_EQ(json["values"][1]["key"], "rotary_dim");
  EXPECT_EQ(json["values"][1]["value"], 128);
  EXPECT_EQ(json["values"][1]["from"], "as transformers");
}

TEST(Explain, TellsBothSourcesOfARopesNumbers) {
  const TemporaryFolder folder;
  write_file(folder / "both.gguf", GgufWriter("llama")
                                       .set("attention.key_length", 8U)
                                       .set("block_count", 2U)
                                       .set("context_length", 131072U)
                                       .set("rope.freq_base", 1e6F)
                                       .set("rope.scaling.type", std::string("yarn"))
                                       .set("rope.scaling.factor", 4.0F)
                                       .set("rope.scaling.original_context_length", 32768U)
                                       .divisors({1, 1, 2, 8})
                                       .bytes());
  const std::string text = words({folder / "both.gguf"});
  EXPECT_TRUE(has(text, "yarn: ")) << text;
  EXPECT_TRUE(has(text, "and after it each pair is divided once more: - divisors 4 numbers from 1 to 8"))
      << text;
  EXPECT_TRUE(has(text, "base 1000000: "));
  EXPECT_FALSE(has(text, "no scaling"));
  EXPECT_TRUE(has(text, "transformers: cannot run it: scaling type divided: transformers has none")) << text;
  const Json json = explain_json({folder / "both.gguf"});
  const Json scaling = json["ropes"][0]["scaling"];
  EXPECT_EQ(scaling["type"], "yarn");
  EXPECT_EQ(scaling["factor"], 4);
  EXPECT_EQ(scaling["divisors"], Json::array({1, 1, 2, 8}));
  EXPECT_EQ(json["ropes"][0]["base"], 1e6);
}

TEST(Explain, NamesWhatAFactorAndDivisorsComeTo) {
  const TemporaryFolder folder;
  const auto pairs_of = [&](const std::vector<float>& divisors) {
    write_file(folder / "both.gguf", GgufWriter("llama")
                                         .set("attention.key_length", 8U)
                                         .set("block_count", 2U)
                                         .set("rope.scaling.factor", 4.0F)
                                         .divisors(divisors)
                                         .bytes());
    return words({folder / "both.gguf"});
  };
  EXPECT_TRUE(has(pairs_of({1, 1, 8, 8}), "pairs 0-1 divided by 4, 2-3 divided by 32"))
      << pairs_of({1, 1, 8, 8});
  EXPECT_TRUE(has(pairs_of({1, 2, 8, 8}), "pairs 0-1 divided by 4 to 8, 2-3 divided by 32"));
}

TEST(As, RefusesWhatThePeerCannotRun) {
  EXPECT_REFUSES(
      4, "flags: rope default: scaling type dynamic: llama.cpp has none; it has default linear yarn",
      {"explain", "--head-dim", "128", "--scaling", "dynamic", "--factor", "2", "--as", "llama.cpp"});
  EXPECT_REFUSES(2, "--as", {"explain", "llama-2-7b", "--as", "pytorch"});
}

}  // namespace
}  // namespace rotary::testing
