// SPDX-License-Identifier: Apache-2.0
// Parts of the head, heads and magnitudes that Transformers' classes take otherwise than the file says them. The numbers
// are those of Transformers 5.24's own modules.
#include <algorithm>

#include "transformers_checks.hpp"

namespace rotary::testing {
namespace {

// kwargs.setdefault("partial_rotary_factor", 0.5) of their config classes: a key of null is there.
TEST(TransformersParts, APartOfNullKeepsTheClassesOwnOut) {
  const std::string null = R"(, "rope_theta": 50000.0, "partial_rotary_factor": null)";
  for (const char* type :
       {"glm", "glm4", "glm4_moe", "glmasr_encoder", "qwen3_5_text", "qwen3_next", "recurrent_gemma"}) {
    SCOPED_TRACE(type);
    const Model model = read(described(type, null));
    EXPECT_LE(model.ropes()[0].rope.rotary_dim(), 64) << "the class's part is what a file without one has";
    const Rope theirs = as_transformers(model, 0, "partial_rotary_factor of null");
    EXPECT_EQ(theirs.rotary_dim(), 128);
    EXPECT_NEAR(theirs.spectrum().inv_freq()[1], 0.844459056854248, 5e-8);
    if (type == std::string("recurrent_gemma")) continue;
    const Rope scaled =
        first_of(described(type, null + R"(, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                            "original_max_position_embeddings": 2048})"));
    EXPECT_NEAR(scaled.spectrum().attention_factor(), 1.13862944, 5e-9);
    EXPECT_NEAR(scaled.spectrum().inv_freq()[40], 0.00028912373818457127, 3e-11);
  }
  EXPECT_EQ(first_of(described("bamba", null)).rotary_dim(), 64) << "it writes its part over the key";
  EXPECT_EQ(first_of(described("gpt_neox", null)).rotary_dim(), 32) << "its key is rotary_pct";
}

// Pairs of sections in turns are the first ones: freqs_t[..., 1 : 3 * 11 : 3] = freqs[1][...].
TEST(TransformersParts, SectionsInTurnsOfAWiderRope) {
  const Rope theirs = first_of(
      R"({"model_type": "qwen3_5_text", "head_dim": 256, "hidden_size": 2048, "num_attention_heads": 8,
      "num_hidden_layers": 4, "rope_theta": 10000000.0, "partial_rotary_factor": null})");
  const auto axis = theirs.spectrum().axis();
  ASSERT_EQ(axis.size(), 128U);
  for (std::size_t i = 0; i < axis.size(); ++i)
    EXPECT_EQ(axis[i], i % 3 == 1 && i < 33 ? 1 : i % 3 == 2 && i < 30 ? 2 : 0) << i;
}

TEST(TransformersParts, APartOfNullThatItsClassComputesWith) {
  const auto fails = [](const char* type, const std::string& more) {
    EXPECT_FAILS(read(described(type, more)).as(Peer::transformers), StatusCode::unsupported,
                 "partial_rotary_factor of null: its class computes with it as it stands, and fails");
  };
  const std::string inside = R"("rope_theta": 50000.0, "partial_rotary_factor": null})";
  for (const char* type : {"glm", "phi", "gpt_neox", "solar_open", "bamba"})
    fails(type, R"(, "rope_parameters": {"rope_type": "default", )" + inside);
  for (const char* type : {"llama", "glm", "flint"}) {
    fails(type, R"(, "rope_scaling": {"rope_type": "linear", "factor": 4.0, )" + inside);
    fails(type, R"(, "rope_parameters": {"rope_type": "proportional", )" + inside);
  }
  for (const char* type : {"phi", "phi3", "persimmon", "stablelm", "nemotron"})
    fails(type, R"(, "rope_theta": 50000.0, "partial_rotary_factor": null)");
  EXPECT_SUCCEEDS(read(described("llama", R"(, "rope_parameters": {"rope_type": "default", )" + inside))
                      .as(Peer::transformers));
  EXPECT_SUCCEEDS(read(described("glm", R"(, "partial_rotary_factor": null, "rope_parameters": {
      "rope_type": "default", "rope_theta": 50000.0, "partial_rotary_factor": 0.5})"))
                      .as(Peer::transformers));
}

TEST(TransformersParts, ProportionalWithoutAPartHasTheClassesOwn) {
  const std::string bare = R"(, "rope_parameters": {"rope_type": "proportional", "rope_theta": 50000.0)";
  const auto turning = [](const Rope& rope) {
    return std::ranges::count_if(rope.spectrum().inv_freq(), [](double w) { return w != 0; });
  };
  const std::pair<const char*, std::ptrdiff_t> own[] = {
      {"glm", 32},      {"glm4_moe", 32},  {"qwen3_next", 16}, {"nemotron", 32},
      {"gpt_neox", 16}, {"moonshine", 57}, {"llama", 64}};
  for (const auto& [type, pairs] : own) {
    const Rope theirs = first_of(described(type, bare + "}"));
    EXPECT_EQ(theirs.rotary_dim(), 128) << type;
    EXPECT_EQ(turning(theirs), pairs) << type;
  }
  EXPECT_EQ(turning(first_of(described("glm", bare + "}, \"partial_rotary_factor\": null"))), 64);
  EXPECT_FAILS(read(described("phi", bare + "}")).as(Peer::transformers), StatusCode::unsupported,
               "its class's attention a part of it");
  EXPECT_SUCCEEDS(read(described("gpt_neox_japanese", bare + "}")).as(Peer::transformers));
}

// compress.setdefault("attention_factor", 1.0): of a flat dictionary, and where there is no such key.
TEST(TransformersParts, DeepseekV4sMagnitude) {
  const auto magnitude = [](const std::string& more) {
    const auto theirs = read(R"({"model_type": "deepseek_v4", "head_dim": 512, "hidden_size": 4096,
        "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 8192, "rope_theta": 10000.0,
        "compress_ratios": [0, 4, 128, 4])" +
                             more + "}")
                            .as(Peer::transformers);
    EXPECT_SUCCEEDS(theirs);
    return theirs->find_rope("compress")->rope.spectrum().attention_factor();
  };
  const std::string yarn = R"("rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048)";
  EXPECT_EQ(magnitude(R"(, "rope_scaling": {)" + yarn + "}"), 1);
  EXPECT_NEAR(magnitude(R"(, "rope_scaling": {"attention_factor": null, )" + yarn + "}"), 1.13862944, 5e-9);
  EXPECT_NEAR(
      magnitude(R"(, "rope_scaling": {"mscale": 1.0, "mscale_all_dim": 0.5, "attention_factor": null, )" +
                yarn + "}"),
      1.06482163, 5e-9);
  const std::string nested = R"(, "rope_parameters": {"main": {"rope_type": "default", "rope_theta": 10000.0,
      "partial_rotary_factor": 0.125}, "compress": {"rope_theta": 160000.0, "partial_rotary_factor": 0.125, )";
  EXPECT_NEAR(magnitude(nested + yarn + "}}"), 1.13862944, 5e-9);
  EXPECT_EQ(magnitude(nested + R"("attention_factor": 1.25, )" + yarn + "}}"), 1.25);
}

// Encoders of speech: what stands beside a dictionary, and what is no key of theirs.
TEST(TransformersParts, APartBesideAScaling) {
  const std::string linear =
      R"(, "rope_theta": 50000.0, "rope_scaling": {"rope_type": "linear", "factor": 4.0})";
  const auto lanes = [&](const char* type, const std::string& more) {
    return first_of(described(type, more)).rotary_dim();
  };
  EXPECT_EQ(lanes("moonshine_streaming", linear + R"(, "partial_rotary_factor": 0.5)"), 64);
  EXPECT_EQ(lanes("moonshine_streaming", linear + R"(, "rotary_dim": 64)"), 128);
  for (const char* type : {"nemotron3_5_transcribe_asr_audio", "nemotron3_5_transcribe_word_timestamp"}) {
    EXPECT_EQ(lanes(type, linear + R"(, "partial_rotary_factor": 0.25)"), 32) << type;
    for (const char* key : {R"(, "rotary_dim": 32)", R"(, "rotary_pct": 0.25)"}) {
      EXPECT_EQ(lanes(type, linear + key), 128) << type << key;
      EXPECT_EQ(lanes(type, key), 64) << type << key;
    }
  }
}

// self.head_dim = self.qk_rope_head_dim, over which from_dict writes a head_dim that is no field of the class.
TEST(TransformersParts, AHeadDimBesideQkRopeHeadDim) {
  const auto as = [](const std::string& type, const std::string& more) {
    return read(R"({"model_type": ")" + type + R"(", "hidden_size": 512, "num_attention_heads": 8,
        "num_hidden_layers": 2, "max_position_embeddings": 8192, "qk_nope_head_dim": 32, "qk_rope_head_dim": 64)" +
                more + "}")
        .as(Peer::transformers);
  };
  const std::string yarn = R"(, "rope_scaling": {"rope_type": "yarn", "factor": 4.0})";
  for (const char* type : {"deepseek_v3", "youtu", "axk1", "glm4_moe_lite", "longcat_flash"}) {
    for (const char* lanes : {"63", "96"})
      EXPECT_FAILS(
          as(type, R"(, "head_dim": )" + std::string(lanes)), StatusCode::unsupported,
          "head_dim: its class takes it for the lanes that turn, of which qk_rope_head_dim says otherwise");
    EXPECT_SUCCEEDS(as(type, R"(, "head_dim": 64)" + yarn));
    EXPECT_FAILS(as(type, R"(, "head_dim": null)" + yarn), StatusCode::unsupported, "head_dim of null");
  }
  EXPECT_FAILS(as("deepseek_v32", R"(, "head_dim": null)"), StatusCode::unsupported, "head_dim of null");
  for (const char* type : {"deepseek_v2", "deepseek_v32", "minicpm3", "bailing_hybrid"})
    EXPECT_SUCCEEDS(as(type, R"(, "head_dim": 63)"));
}

// kwargs["partial_rotary_factor"] = 0.5 goes into a dictionary that has none; DeepSeek-V4 writes its own over a flat one's.
TEST(TransformersParts, APartWithinADictionary) {
  const std::string part = R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 50000.0,
      "partial_rotary_factor": )";
  EXPECT_EQ(first_of(described("bamba", part + "1.0}")).rotary_dim(), 128);
  EXPECT_EQ(first_of(described("bamba", part + "0.25}")).rotary_dim(), 32);
  const Model model = read(R"({"model_type": "deepseek_v4", "head_dim": 512, "hidden_size": 4096,
      "num_attention_heads": 8, "num_hidden_layers": 3, "compress_ratios": [0, 4, 128], "rope_theta": 10000.0,
      "rope_scaling": {"rope_type": "linear", "factor": 4.0, "partial_rotary_factor": 0.5}})");
  EXPECT_EQ(model.find_rope("compress")->rope.rotary_dim(), 256);
  const Model theirs = model.as(Peer::transformers).value();
  EXPECT_EQ(theirs.find_rope("compress")->rope.rotary_dim(), 64);
  EXPECT_EQ(theirs.find_rope("compress")->rope.rotary_offset(), 448);
}

TEST(TransformersParts, OtherNullsThatItsClassComputesWith) {
  const auto fails = [](const char* type, const std::string& more, const std::string& words) {
    EXPECT_FAILS(read(described(type, more)).as(Peer::transformers), StatusCode::unsupported, words);
  };
  const auto runs = [](const char* type, const std::string& more) {
    EXPECT_SUCCEEDS(read(described(type, more)).as(Peer::transformers));
  };
  const std::string theta = R"(, "rope_theta": 50000.0)",
                    beside = R"(, "original_max_position_embeddings": null)";
  const auto scaling = [&](const std::string& type, const std::string& more) {
    return theta + R"(, "rope_scaling": {"rope_type": ")" + type + R"(", "factor": 4.0)" + more + "}";
  };
  const std::string length = "original_max_position_embeddings of null: its class computes with it";
  fails("llama", scaling("yarn", beside), length);
  fails("gemma3_text", scaling("yarn", beside), length);
  fails("llama", scaling("yarn", R"(, "original_max_position_embeddings": 2048)") + beside, length);
  runs("gemma3_text", scaling("yarn", R"(, "original_max_position_embeddings": 2048)") + beside);
  runs("llama", scaling("linear", "") + beside);
  runs("llama", scaling("dynamic", "") + beside);
  const auto null_head_dim = [](const std::string& type) {
    return read(
               R"({"hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "rope_theta": 50000.0,
        "head_dim": null, "model_type": ")" +
               type + R"("})")
        .as(Peer::transformers);
  };
  for (const char* type : {"gemma", "qwen3", "llama4_text", "falcon", "jetmoe"})
    EXPECT_FAILS(null_head_dim(type), StatusCode::unsupported, "head_dim") << type;
  EXPECT_SUCCEEDS(null_head_dim("llama"));
}

// A dictionary of null, and keys that its class asks for without looking.
TEST(TransformersParts, DictionariesThatItsClassStumblesOver) {
  const auto entries = [](const char* type, const std::string& more) {
    return R"({"model_type": ")" + std::string(type) + R"(", "hidden_size": 512, "num_attention_heads": 8,
        "head_dim": 64, "num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 50000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})" +
           more + "}";
  };
  for (const char* type : {"gemma4_text", "laguna", "mellum"}) {
    EXPECT_SUCCEEDS(read(entries(type, "")).as(Peer::transformers));
    EXPECT_FAILS(read(entries(type, R"(, "rope_scaling": null)")).as(Peer::transformers),
                 StatusCode::unsupported, "rope_scaling of null: its class looks into it, and fails");
  }
  EXPECT_SUCCEEDS(read(entries("gemma3_text", R"(, "rope_scaling": null)")).as(Peer::transformers));
  EXPECT_FAILS(read(described("cohere2_moe",
                              R"(, "rope_theta": 50000.0, "rope_parameters": {"rope_type": "default"})"))
                   .as(Peer::transformers),
               StatusCode::unsupported,
               "rope_parameters without rope_theta: its class does not find one, and fails");
  EXPECT_SUCCEEDS(read(described("cohere2_moe",
                                 R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 50000.0})"))
                      .as(Peer::transformers));
}

// KeyError: 'mrope', where a config class has not the line that turns it into default.
TEST(TransformersParts, OlderWordsOfAType) {
  const auto as = [](const char* type, const char* word, const std::string& key = "type") {
    return read(described(type, R"(, "rope_theta": 50000.0, "rope_scaling": {")" + key + R"(": ")" + word +
                                    R"("})"))
        .as(Peer::transformers);
  };
  const std::string words = "its class does not know the word of this type";
  for (const char* word : {"mrope", "none", "axial", "gptj"})
    EXPECT_FAILS(as("llama", word), StatusCode::unsupported, words);
  EXPECT_FAILS(as("qwen3_vl_text", "mrope"), StatusCode::unsupported, words);
  EXPECT_SUCCEEDS(as("qwen2_vl_text", "mrope"));
  EXPECT_SUCCEEDS(as("qwen2_5_vl_text", "mrope", "rope_type"));
  EXPECT_SUCCEEDS(as("gemma3_text", "mrope")) << "the older key type is not seen";
  EXPECT_SUCCEEDS(as("codegen", "mrope")) << "reads no dictionary";
  EXPECT_SUCCEEDS(as("llama", "default"));
}

// rope_scaling is written over the entry of full attention, base and all.
TEST(TransformersParts, ModernBertsBaseInADictionary) {
  const Model model = read(described("modernbert", R"(, "rope_theta": 50000.0, "rope_scaling": {
      "rope_type": "linear", "factor": 4.0, "rope_theta": 50000.0})"));
  const Model theirs = model.as(Peer::transformers).value();
  EXPECT_EQ(theirs.find_rope("global")->rope.spectrum().base(), 50000);
  EXPECT_EQ(read(described("modernbert", R"(, "rope_theta": 50000.0)"))
                .as(Peer::transformers)
                ->find_rope("global")
                ->rope.spectrum()
                .base(),
            160000);
}

}  // namespace
}  // namespace rotary::testing
