// SPDX-License-Identifier: Apache-2.0
// What Transformers' classes pass over, and the words for it. Numbers of every class: tests/conformance/peers_test.cc.
#include <rotary/model.hpp>

#include "model_checks.hpp"

namespace rotary::testing {
namespace {

Model read(const std::string& config) {
  auto model = Model::from_config(config);
  EXPECT_SUCCEEDS(model);
  return model.value();
}

/// One rope as Transformers has it, which gives that reason alone.
Rope as_transformers(const Model& model, std::size_t rope, std::string_view reason) {
  const PeerRope view = model.rope_as(Peer::transformers, rope);
  EXPECT_SUCCEEDS(view.rope);
  EXPECT_EQ(view.reasons.size(), 1U);
  const std::string first = view.reasons.empty() ? "" : view.reasons[0];
  EXPECT_NE(first.find(reason), std::string::npos) << first;
  return *view.rope;
}

std::string described(const std::string& model_type, const std::string& more) {
  return R"({"model_type": ")" + model_type +
         R"(", "head_dim": 128, "hidden_size": 1024, "num_attention_heads": 8,
      "num_hidden_layers": 4, "max_position_embeddings": 8192)" +
         more + "}";
}

TEST(TransformersRules, APartOfTheHeadIsNothingToMostClasses) {
  const Model model = read(described("minimax", R"(, "rope_theta": 10000000, "rotary_dim": 64)"));
  EXPECT_EQ(model.ropes()[0].rope.rotary_dim(), 64);
  const Rope theirs = as_transformers(model, 0, "under this name");
  EXPECT_EQ(theirs.rotary_dim(), 128);
  EXPECT_NEAR(theirs.spectrum().inv_freq()[1], 0.777365030238776, 1e-14);  // 1e7^(-1/64)
  EXPECT_TRUE(difference(model.ropes()[0].rope, theirs, 1000).pairs == 64);
  EXPECT_EQ(model.rope_as(Peer::vllm, 0).rope->rotary_dim(), 64) << "of Transformers alone";

  const std::string part = R"(, "partial_rotary_factor": 0.5, "rope_theta": 10000)";
  EXPECT_EQ(as_transformers(read(described("llama", part)), 0, "turns the whole head").rotary_dim(), 128);
  EXPECT_TRUE(read(described("phi", part)).rope_as(Peer::transformers, 0).reasons.empty());
  EXPECT_TRUE(read(described("internlm2", part)).rope_as(Peer::transformers, 0).reasons.empty())
      << "not Transformers' code";
  EXPECT_FAILS(read(described("llama", part + R"(, "rope_scaling": {"type": "linear", "factor": 4})"))
                   .as(Peer::transformers),
               StatusCode::unsupported,
               "config: rope default: partial_rotary_factor: it makes frequencies for a part of the head, "
               "and its class "
               "turns the whole head with them, which fails");
}

TEST(TransformersRules, TwoRopesOfAFlatDictionary) {
  const auto gemma = [](const std::string& more) { return read(described("gemma3_text", more)); };
  const Model flat =
      gemma(R"(, "rope_parameters": {"rope_type": "linear", "factor": 8, "rope_theta": 500000})");
  EXPECT_EQ(flat.find_rope("global")->rope.spectrum().base(), 500000);
  const Model theirs = flat.as(Peer::transformers).value();
  EXPECT_EQ(theirs.find_rope("global")->rope.spectrum().base(), 1e6);
  EXPECT_TRUE(std::holds_alternative<scaling::None>(theirs.find_rope("global")->rope.spectrum().scaling()));

  const std::string yarn =
      R"("factor": 8, "original_max_position_embeddings": 4096, "attention_factor": 1.5}, "rope_theta": 1000000)";
  const Model old = gemma(R"(, "rope_scaling": {"type": "yarn", )" + yarn);
  const std::size_t global = old.ropes()[0].name == "global" ? 0 : 1;
  EXPECT_EQ(old.ropes()[global].rope.spectrum().attention_factor(), 1.5);
  EXPECT_EQ(as_transformers(old, global, "older word type is not seen").spectrum().attention_factor(), 1);
  const Model now = gemma(R"(, "rope_scaling": {"rope_type": "yarn", )" + yarn);
  EXPECT_TRUE(now.rope_as(Peer::transformers, global).reasons.empty());
}

TEST(TransformersRules, MimoReadsEntriesAlone) {
  const Model model =
      read(R"({"model_type": "mimo_v2_flash", "head_dim": 192, "num_hidden_layers": 6, "hidden_size": 4096,
      "num_attention_heads": 64, "rope_theta": 1000000, "swa_rope_theta": 20000, "partial_rotary_factor": 0.334})");
  EXPECT_EQ(model.find_rope("global")->rope.spectrum().base(), 1e6);
  const Model theirs = model.as(Peer::transformers).value();
  EXPECT_EQ(theirs.find_rope("global")->rope.spectrum().base(), 5e6);
  EXPECT_EQ(theirs.find_rope("local")->rope.spectrum().base(), 1e4);
}

TEST(TransformersRules, RefusesWhatItsClassCannotRun) {
  const auto fails = [](const std::string& config, const std::string& words) {
    EXPECT_FAILS(read(config).as(Peer::transformers), StatusCode::unsupported, words);
  };
  fails(described("llama", R"(, "layer_types": ["full_attention", "full_attention", "full_attention",
        "full_attention"], "rope_parameters": {"full_attention": {"rope_theta": 10000}})"),
        "its class has one rope for all layers");
  fails(described("hunyuan_vl_text", R"(, "rope_scaling": {"type": "xdrope", "alpha": 1000.0,
        "xdrope_section": [16, 16, 16, 16]})"),
        "its class gives the two lanes of a pair to different axes");
  fails(described("phi3", R"(, "rope_scaling": {"type": "linear", "factor": 2})"),
        "longrope and the default type alone");
}

}  // namespace
}  // namespace rotary::testing
