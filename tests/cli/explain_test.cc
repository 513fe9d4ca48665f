// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "explain.hpp"
#include "support/files.hpp"

namespace rotary::testing {
namespace {

const std::vector<std::string> qwen_yarn = {"--base",   "1000000",   "--head-dim",
                                            "128",      "--scaling", "yarn",
                                            "--factor", "4",         "--original-max-position-embeddings",
                                            "32768"};

TEST(ExplainJson, HasTheKeysOfItsSchemaInOrder) {
  const auto json = nlohmann::ordered_json::parse(explain({"--head-dim", "8", "--json"}));
  const auto keys = [](const auto& object) {
    std::vector<std::string> names;
    for (const auto& [key, value] : object.items()) names.push_back(key);
    return names;
  };
  EXPECT_EQ(keys(json),
            (std::vector<std::string>{"schema", "source", "architecture", "model_type", "ropes", "layers",
                                      "values", "warnings", "temperature", "as", "peers"}));
  EXPECT_EQ(keys(json["source"]), (std::vector<std::string>{"path", "kind"}));
  EXPECT_EQ(
      keys(json["ropes"][0]),
      (std::vector<std::string>{"name", "head_dim", "rotary_dim", "rotary_offset", "base", "scaling",
                                "pairing", "direction", "axis_sections", "attention_factor", "softmax_factor",
                                "original_context", "context", "length", "inv_freq", "axis", "policy"}));
  EXPECT_EQ(keys(json["values"][0]), (std::vector<std::string>{"rope", "key", "value", "from", "assumed"}));
  EXPECT_EQ(json["schema"], "rotary.explain/1");
  EXPECT_EQ(json["source"]["kind"], "flags");
}

TEST(ExplainJson, FrequenciesReadBackAsTheSameDoubles) {
  const Json rope = explain_json({"--head-dim", "8"})["ropes"][0];
  EXPECT_EQ(rope["inv_freq"], Json::array({1.0, 0.1, 0.01, 0.001}));
  EXPECT_EQ(rope["axis"], Json::array({0, 0, 0, 0}));
  EXPECT_TRUE(rope["length"].is_null());
  EXPECT_EQ(explain_json({"--head-dim", "8", "--length", "4096"})["ropes"][0]["length"], 4096);
}

TEST(ExplainJson, FlagsReachTheRope) {
  const Json rope = explain_json({"--base", "500000", "--head-dim", "192", "--rotary-dim", "64",
                                  "--rotary-offset", "128", "--pairing", "interleaved_to_half"})["ropes"][0];
  EXPECT_EQ(rope["base"], 500000.0);
  EXPECT_EQ(rope["head_dim"], 192);
  EXPECT_EQ(rope["rotary_dim"], 64);
  EXPECT_EQ(rope["rotary_offset"], 128);
  EXPECT_EQ(rope["pairing"], "interleaved_to_half");
  EXPECT_EQ(rope["direction"], "forward");
}

TEST(ExplainJson, AxisSections) {
  const Json rope = explain_json({"--head-dim", "12", "--axis-sections", "1,2,3"})["ropes"][0];
  EXPECT_EQ(rope["axis_sections"], Json::array({1, 2, 3}));
  EXPECT_EQ(rope["axis"], Json::array({0, 1, 1, 2, 2, 2}));
}

// Anchors: other people's formulas evaluated in double (Llama 3.1, Qwen's YaRN, gpt-oss, DeepSeek-V3).
TEST(ExplainJson, Llama3) {
  const Json rope =
      explain_json({"--base", "500000", "--head-dim", "128", "--scaling", "llama3"})["ropes"][0];
  EXPECT_EQ(rope["scaling"], (Json{{"type", "llama3"},
                                   {"factor", 8.0},
                                   {"low_freq_factor", 1.0},
                                   {"high_freq_factor", 4.0},
                                   {"original_max_position_embeddings", 8192.0}}));
  EXPECT_NEAR(rope["inv_freq"][29].get<double>(), 0.00216657076, 1e-11);
  EXPECT_NEAR(rope["inv_freq"][34].get<double>(), 0.000178507813, 1e-12);
  EXPECT_NEAR(rope["inv_freq"][63].get<double>(), 3.06892599e-07, 1e-15);
}

TEST(ExplainJson, Yarn) {
  EXPECT_NEAR(explain_json(qwen_yarn)["ropes"][0]["attention_factor"].get<double>(), 1.1386294361, 1e-10);
  const Json gpt_oss = explain_json({"--base", "150000", "--head-dim", "64", "--scaling", "yarn", "--factor",
                                     "32", "--truncate", "false"})["ropes"][0];
  EXPECT_EQ(gpt_oss["scaling"]["truncate"], false);
  EXPECT_NEAR(gpt_oss["attention_factor"].get<double>(), 1.3465735903, 1e-10);
  EXPECT_NEAR(gpt_oss["inv_freq"][16].get<double>(), 0.000456483919, 1e-12);
  const Json deepseek = explain_json({"--head-dim", "64", "--scaling", "yarn", "--factor", "40", "--mscale",
                                      "1", "--mscale-all-dim", "1"})["ropes"][0];
  EXPECT_EQ(deepseek["attention_factor"], 1.0);
  EXPECT_NEAR(deepseek["softmax_factor"].get<double>(), 1.8738542071, 1e-9);
}

TEST(ExplainText, SaysWhatAFactorIsAndWhichWayRound) {
  const std::string text = flowing(explain({"--head-dim", "128", "--scaling", "linear", "--factor", "4"}));
  EXPECT_TRUE(has(text, "linear: position interpolation"));
  EXPECT_TRUE(has(text, "factor 4: a stretched pair sees positions divided by 4"));
  EXPECT_TRUE(has(text, "1/factor = 0.25"));
  EXPECT_TRUE(has(text, "pairs 0-63 divided by 4"));
}

TEST(ExplainText, SaysWhichPairsLlama3Changes) {
  const std::string text = explain({"--base", "500000", "--head-dim", "128", "--scaling", "llama3"});
  EXPECT_TRUE(has(text, "pairs 0-28 kept, 29-34 between, 35-63 divided by 8"));
}

TEST(ExplainText, SaysWhichRuleGaveTheAttentionFactorAndTheOtherValue) {
  EXPECT_TRUE(has(flowing(explain(qwen_yarn)),
                  "A = 1.13862944: cos and sin are multiplied by it, so a score of rotated "
                  "parts grows by A^2 = 1.29647699; rule: 0.1 * ln(factor) + 1"));
  auto flags = qwen_yarn;
  flags.insert(flags.end(), {"--mscale", "1", "--mscale-all-dim", "1"});
  EXPECT_TRUE(has(
      flowing(explain(flags)),
      "A = 1: the rotation keeps lengths; rule, as Transformers reads the two: g(mscale) / g(mscale_all_dim) "
      "(by 0.1 * ln(factor) + 1 it would be 1.13862944)"));
  EXPECT_TRUE(has(flowing(explain(flags)), "softmax factor 1.29647699: the attention multiplies it"));
  flags = qwen_yarn;
  flags.insert(flags.end(), {"--attention-factor", "1"});
  EXPECT_TRUE(
      has(flowing(explain(flags)), "rule: attention_factor as given (by 0.1 * ln(factor) + 1 it would be"));
  flags = qwen_yarn;
  flags.insert(flags.end(), {"--attn-factor", "0.8782488562869419"});
  EXPECT_TRUE(has(flowing(explain(flags)),
                  "A = 1: the rotation keeps lengths; rule: 0.1 * ln(factor) + 1, times "
                  "attn_factor 0.8782488562869419"));
}

TEST(ExplainText, NamesLanesAndWindow) {
  const std::string half =
      flowing(explain({"--head-dim", "192", "--rotary-dim", "64", "--rotary-offset", "128"}));
  EXPECT_TRUE(has(half, "lanes 128-191 of a head's 192 turn, the others pass unchanged; 32 pairs"));
  EXPECT_TRUE(has(half, "half_split: lanes (128, 160), (129, 161), ... turn together"));
  EXPECT_TRUE(has(explain({"--head-dim", "8", "--pairing", "interleaved"}), "lanes (0, 1), (2, 3), ..."));
  EXPECT_TRUE(has(flowing(explain({"--head-dim", "8", "--pairing", "interleaved_to_half"})),
                  "reads lanes (0, 1), (2, 3), ..., writes lanes (0, 4), (1, 5), ..."));
  EXPECT_TRUE(has(explain({"--head-dim", "8", "--rotary-dim", "0"}), "no lane of a head turns"));
}

TEST(ExplainText, NamesWavelengthsAxesAndPolicy) {
  const std::string text =
      flowing(explain({"--head-dim", "12", "--axis-sections", "1,2,3", "--angles", "ggml"}));
  EXPECT_TRUE(has(text, "axis 0 drives pair 0, axis 1 drives pairs 1-2, axis 2 drives pairs 3-5"));
  const std::string turns =
      flowing(explain({"--head-dim", "16", "--axis-sections", "4,2,2", "--axis-order", "interleaved"}));
  EXPECT_TRUE(has(turns, "axis 0 drives pairs 0, 3, 6-7, axis 1 drives pairs 1, 4, axis 2 drives pairs 2, 5"))
      << turns;
  EXPECT_TRUE(has(text, "one full turn takes 6.283 (pair 0) to 13537 (pair 5) positions"));
  EXPECT_TRUE(has(text, "ggml: the running fp32 product of llama.cpp's CPU path"));
}

TEST(ExplainText, SaysWhereTheBaseLeads) {
  const auto with = [](const char* base, const char* lanes) {
    return flowing(explain({"--head-dim", lanes, "--base", base}));
  };
  EXPECT_TRUE(
      has(with("0.5", "8"), "0.5: pair 0 turns 1 radian a position, the next ones ever faster scaling"));
  EXPECT_TRUE(has(with("1", "8"), "1: pair 0 turns 1 radian a position, and so do all others scaling"));
  EXPECT_TRUE(has(with("1", "8"), "one full turn takes 6.283 (every pair) positions"));
  EXPECT_TRUE(has(with("10000", "2"), "10000: pair 0 turns 1 radian a position scaling"));
  EXPECT_TRUE(has(with("10000", "2"), "one full turn takes 6.283 (pair 0) positions"));
}

TEST(ExplainText, AnAxisMayDriveNoPair) {
  EXPECT_TRUE(has(flowing(explain({"--head-dim", "8", "--axis-sections", "0,2,2"})),
                  "axis 0 drives no pair, axis 1 drives pairs 0-1, axis 2 drives pairs 2-3"));
}

TEST(Report161, ExplainPrintsTheOrderOfTheAxes) {
  const std::string text =
      flowing(explain({"--head-dim", "128", "--axis-sections", "24,20,20", "--axis-order", "interleaved"}));
  EXPECT_TRUE(has(text,
                  "axis 0 drives pairs 0, 3, ... 57, 60-63, axis 1 drives pairs 1, 4, ... 58, axis 2 drives "
                  "pairs 2, 5, ... 59"))
      << text;
}

}  // namespace
}  // namespace rotary::testing
