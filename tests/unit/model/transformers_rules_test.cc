// SPDX-License-Identifier: Apache-2.0
// What Transformers' classes pass over, and the words for it. Numbers of every class: tests/conformance/peers_test.cc.
#include <rotary/model.hpp>

#include "transformers_checks.hpp"

namespace rotary::testing {
namespace {

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

// Transformers 5.24, GPTNeoXConfig: rotary_emb_base, and rope_theta in a dictionary alone.
TEST(TransformersRules, OneOfTwoBasesThatAgreeIsRead) {
  const std::string both = R"(, "rotary_emb_base": 25000, "rope_theta": 25000)";
  const Model model = read(described("gpt_neox", both));
  const auto& bases = model.ropes()[0].wording.bases;
  ASSERT_EQ(bases.size(), 2U);
  EXPECT_EQ(bases[0].key, "rope_theta");
  EXPECT_EQ(bases[1].key, "rotary_emb_base");
  EXPECT_EQ(model.rope_as(Peer::transformers, 0).rope->spectrum().base(), 25000);
  const Model twice = read(described(
      "gpt_neox",
      R"(, "rope_theta": 25000, "rope_parameters": {"rope_type": "default", "rope_theta": 25000})"));
  EXPECT_EQ(twice.rope_as(Peer::transformers, 0).rope->spectrum().base(), 25000);
  const Model other = read(described("gpt_neox", R"(, "rope_theta": 25000)"));
  EXPECT_EQ(as_transformers(other, 0, "not read under this name").spectrum().base(), 10000);
}

// The width is stated: what it could have been made of is nobody's business.
TEST(TransformersRules, SizesBesideAHeadDimAreNotRead) {
  EXPECT_SUCCEEDS(Model::from_config(R"({"model_type": "llama", "head_dim": 128, "hidden_size": [1024, 2048],
      "num_attention_heads": [8, 16], "num_hidden_layers": 2, "rope_theta": 10000})"));
  EXPECT_SUCCEEDS(
      Model::from_config(R"({"model_type": "llama", "head_dim": 128, "hidden_size": 1024, "d_model": 512,
      "num_hidden_layers": 2, "rope_theta": 10000})"));
}

// MellumConfig.__post_init__: self.layer_types = ["full_attention"] * self.num_hidden_layers.
TEST(TransformersRules, MellumWithoutLayerTypesHasNoWindow) {
  const Model model = read(described("mellum", ""));
  for (std::int64_t layer = 0; layer < 4; ++layer) {
    EXPECT_EQ(model.rope_for_layer(layer).value().spectrum().base(), 500000) << layer;
  }
}

// BambaConfig.__post_init__: kwargs["partial_rotary_factor"] = 0.5.
TEST(TransformersRules, BambaTurnsHalfOfTheHead) {
  const Model model = read(described("bamba", R"(, "partial_rotary_factor": 0.25, "rope_theta": 10000)"));
  EXPECT_EQ(model.ropes()[0].rope.rotary_dim(), 32);
  EXPECT_EQ(as_transformers(model, 0, "half of the head").rotary_dim(), 64);
}

// DeepseekOcr2TextConfig.__post_init__: self.head_dim = self.hidden_size // self.num_attention_heads.
TEST(TransformersRules, DeepseekOcr2DividesItsWidth) {
  const auto as = [](const std::string& head_dim) {
    return read(R"({"model_type": "deepseek_ocr2_text", "hidden_size": 1280, "num_attention_heads": 10,
        "num_hidden_layers": 2, "max_position_embeddings": 8192, "rope_theta": 10000)" +
                head_dim + "}")
        .as(Peer::transformers);
  };
  EXPECT_SUCCEEDS(as(""));
  EXPECT_SUCCEEDS(as(R"(, "head_dim": 128)"));
  EXPECT_FAILS(as(R"(, "head_dim": 64)"), StatusCode::unsupported, "takes hidden_size / num_attention_heads");
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

/// A layer of a window and one of full attention, and so much of rope_parameters.
std::string by_layer_type(const std::string& model_type, const std::string& full, const std::string& sliding,
                          const std::string& more = "") {
  return R"({"model_type": ")" + model_type + R"(", "head_dim": )" +
         (model_type == "mimo_v2_flash" ? "192" : "64") +
         R"(, "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2,
      "max_position_embeddings": 8192, "layer_types": ["sliding_attention", "full_attention"],
      "rope_parameters": {"full_attention": )" +
         full + R"(, "sliding_attention": )" + sliding + "}" + more + "}";
}

// Transformers 5.24: full_attention is made first; making a scaling fills the bases in that are missing.
TEST(TransformersRules, EntriesWithoutABase) {
  const std::string linear = R"({"rope_type": "linear", "factor": 4.0})",
                    plain = R"({"rope_type": "default"})", outer = R"(, "rope_theta": 50000.0)";
  const auto second = [](const Model& model, const char* rope) {
    return model.find_rope(rope)->rope.spectrum().inv_freq()[1];
  };
  for (const std::string type :
       {"gemma4_text", "laguna", "mellum", "mimo_v2_flash", "embedding_gemma2_text"}) {
    SCOPED_TRACE(type);
    const auto scaled = read(by_layer_type(type, linear, linear, outer)).as(Peer::transformers);
    ASSERT_SUCCEEDS(scaled);
    EXPECT_NEAR(second(*scaled, "local"), type == "mimo_v2_flash" ? 0.223353311 : 0.178277776, 2e-8);
    EXPECT_EQ(scaled->find_rope("global")->rope.spectrum().base(), 50000);
    const auto filled = read(by_layer_type(type, linear, plain, outer)).as(Peer::transformers);
    ASSERT_SUCCEEDS(filled);
    EXPECT_NEAR(second(*filled, "local"), 0.713111103, 2e-8);
    for (const std::string& config :
         {by_layer_type(type, plain, plain, outer), by_layer_type(type, plain, linear, outer),
          by_layer_type(type, linear, linear),
          by_layer_type(type, plain, R"({"rope_theta": 20000})", outer)}) {
      EXPECT_FAILS(read(config).as(Peer::transformers), StatusCode::unsupported,
                   "an entry of a layer type without rope_theta: its class does not find one, and fails");
    }
  }
}

// Its class reads no dictionary for all layers: both ropes keep the base beside it, or its own.
TEST(TransformersRules, StepsDictionaryForAllLayers) {
  const auto step = [](const std::string& more) {
    return read(R"({"model_type": "step3p5", "head_dim": 64, "hidden_size": 512, "num_attention_heads": 8,
        "num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"])" +
                more + "}");
  };
  const Model model = step(R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 50000.0})");
  const auto theirs = model.as(Peer::transformers);
  ASSERT_SUCCEEDS(theirs);
  for (const char* rope : {"local", "global"})
    EXPECT_NEAR(theirs->find_rope(rope)->rope.spectrum().inv_freq()[1], 0.749894202, 1e-8) << rope;
  EXPECT_EQ(model.find_rope("global")->rope.spectrum().base(), 50000);
  EXPECT_EQ(model.find_rope("local")->rope.spectrum().base(), 50000) << "all layers";
}

// Encoders of speech, whose class looks at a base and a part of the head in a dictionary alone.
TEST(TransformersRules, NemotronReadsItsDictionaryAlone) {
  for (const char* type : {"nemotron3_5_transcribe_asr_audio", "nemotron3_5_transcribe_word_timestamp"}) {
    const auto spectrum = [&](const std::string& more) {
      const auto theirs = read(described(type, more)).as(Peer::transformers);
      EXPECT_SUCCEEDS(theirs);
      return theirs->ropes()[0].rope.spectrum();
    };
    const Spectrum beside = spectrum(R"(, "rope_theta": 50000.0, "partial_rotary_factor": 0.25)");
    EXPECT_EQ(beside.base(), 10000);
    EXPECT_EQ(beside.pairs(), 32);
    const Spectrum inside =
        spectrum(R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 50000.0})");
    EXPECT_EQ(inside.base(), 50000);
    EXPECT_EQ(inside.pairs(), 64);
    EXPECT_EQ(spectrum(R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 50000.0,
                            "partial_rotary_factor": 0.25})")
                  .pairs(),
              16);
  }
}

TEST(TransformersRules, Cosmos3EdgeHasItsOwnBaseAndSections) {
  const Model model = read(described("cosmos3_edge_text", R"(, "rope_theta": 50000.0)"));
  EXPECT_EQ(model.ropes()[0].rope.spectrum().axes(), 3);
  EXPECT_EQ(as_transformers(model, 0, "takes its own base").spectrum().base(), 1e8);
  EXPECT_FAILS(read(described("cosmos3_edge_text", R"(, "rope_parameters": {"rope_theta": 50000.0})"))
                   .as(Peer::transformers),
               StatusCode::unsupported, "mrope_section: its class wants it in the dictionary");
  EXPECT_SUCCEEDS(read(described("cosmos3_edge_text", R"(, "rope_parameters": {"rope_theta": 50000.0,
                                                           "mrope_section": [24, 20, 20]})"))
                      .as(Peer::transformers));
}

TEST(TransformersRules, RefusesWhatItsClassComputesWithNothing) {
  const auto fails = [](const std::string& config, const std::string& words) {
    EXPECT_FAILS(read(config).as(Peer::transformers), StatusCode::unsupported, words);
  };
  for (const char* type : {"mixtral", "ministral", "minimax", "hunyuan_v1_dense", "hunyuan_v1_moe"}) {
    const std::string bare = R"({"model_type": ")" + std::string(type) +
                             R"(", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2,
        "max_position_embeddings": 8192, "rope_theta": 50000.0)";
    const std::string yarn = R"(, "rope_scaling": {"rope_type": "yarn", "factor": 4.0})";
    fails(bare + yarn + "}", "no head_dim: its class leaves it empty, and this scaling computes with it");
    fails(bare + R"(, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}})", "no head_dim");
    EXPECT_SUCCEEDS(read(bare + R"(, "head_dim": 64)" + yarn + "}").as(Peer::transformers));
    EXPECT_SUCCEEDS(
        read(bare + R"(, "rope_scaling": {"rope_type": "linear", "factor": 4.0}})").as(Peer::transformers));
  }
  for (const std::string keys : {R"(, "rope_theta": null)", R"(, "rope_parameters": {"rope_type": "default",
        "rope_theta": null})"}) {
    fails(described("llama", keys), "rope_theta of null: its class computes with it as it stands, and fails");
    EXPECT_EQ(read(described("llama", keys)).ropes()[0].rope.spectrum().base(), 10000);
  }
  EXPECT_SUCCEEDS(read(described("gpt_neox", R"(, "rope_theta": null)")).as(Peer::transformers));
}

// Transformers 5.24: `rope_scaling or rope_parameters`, whole.
TEST(TransformersRules, TheOlderDictionaryHidesTheNewerOne) {
  const std::string linear = R"("rope_type": "linear", "factor": 4.0)";
  const auto both = [&](const char* type, const std::string& now, const std::string& before) {
    return read(described(type, R"(, "rope_parameters": {)" + linear + now + R"(}, "rope_scaling": {)" +
                                    linear + before + "}"));
  };
  const std::string base = R"(, "rope_theta": 50000.0)";
  EXPECT_EQ(both("llama", base, "").ropes()[0].rope.spectrum().base(), 50000);
  EXPECT_EQ(as_transformers(both("llama", base, ""), 0, "reads nothing").spectrum().base(), 10000);
  EXPECT_EQ(as_transformers(both("bitnet", base, ""), 0, "reads nothing").spectrum().base(), 500000);
  EXPECT_TRUE(both("llama", "", base).rope_as(Peer::transformers, 0).reasons.empty());
  const Rope part =
      as_transformers(both("phi", base + R"(, "partial_rotary_factor": 0.25)", base), 0, "reads nothing");
  EXPECT_EQ(part.rotary_dim(), 64) << "its own half";
  const Rope cohere = as_transformers(both("cohere2_moe", "", base), 0, "does not read rope_scaling");
  EXPECT_EQ(cohere.spectrum().base(), 10000);
  EXPECT_EQ(cohere.spectrum().scaling(), Scaling(scaling::Linear{4}));
}

TEST(TransformersRules, NullsAndEmptyDictionaries) {
  EXPECT_EQ(read(R"({"model_type": "ernie4_5", "hidden_size": 512, "num_attention_heads": 8, "head_dim": null,
      "num_hidden_layers": 2})")
                .ropes()[0]
                .rope.head_dim(),
            64);
  const Model higgs = read(described("higgs_audio_v2", R"(, "rope_scaling": {})"));
  EXPECT_TRUE(std::holds_alternative<scaling::Llama3>(higgs.ropes()[0].rope.spectrum().scaling()));
  EXPECT_FALSE(higgs.warnings().empty());
  const Model muse = read(described("muse_spark_text", R"(, "rope_parameters": {})"));
  EXPECT_EQ(as_transformers(muse, 0, "without a base").spectrum().base(), 10000);
  EXPECT_FAILS(Model::from_config(described("llama", R"(, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                   "truncate": null})")),
               StatusCode::malformed, "rope_scaling.truncate: expected true or false, got null");
  EXPECT_FAILS(read(described("longcat_flash", R"(, "qk_nope_head_dim": 32, "qk_rope_head_dim": 32)"))
                   .as(Peer::transformers),
               StatusCode::unsupported, "its class takes it for the lanes that turn");
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
