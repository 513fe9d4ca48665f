// SPDX-License-Identifier: Apache-2.0
// Expected numbers: the formulas of the peers' own code, evaluated apart from this library, and the anchors of
// published models.
#include <cmath>
#include <rotary/model.hpp>

#include "gguf_writer.hpp"
#include "model_checks.hpp"

namespace rotary::testing {
namespace {

constexpr auto transformers = Peer::transformers;
constexpr auto llama_cpp = Peer::llama_cpp;
constexpr auto vllm = Peer::vllm;
constexpr auto sglang = Peer::sglang;
constexpr auto mlx = Peer::mlx;

Model read(const std::string& config, std::optional<std::int64_t> length = {}) {
  auto model = Model::from_config(config, "config", {.length = length});
  EXPECT_SUCCEEDS(model);
  return model.value();
}
Model preset(std::string_view name) { return Model::from_preset(name).value(); }

Spectrum spectrum_as(Peer peer, const Model& model) {
  const auto theirs = model.as(peer);
  EXPECT_SUCCEEDS(theirs);
  return theirs->ropes()[0].rope.spectrum();
}
double a_as(Peer peer, const Model& model) { return spectrum_as(peer, model).attention_factor(); }

std::string yarn(const std::string& more) {
  return llama(R"(, "rope_scaling": {"rope_type": "yarn", "original_max_position_embeddings": 4096, )" +
               more + "}");
}

TEST(Peers, HaveNames) {
  for (const Peer peer : peers) EXPECT_EQ(peer_from_name(name(peer)), peer);
  EXPECT_EQ(name(llama_cpp), "llama.cpp");
  EXPECT_EQ(peer_from_name("pytorch"), std::nullopt);
  EXPECT_EQ(name(static_cast<Peer>(99)), "unknown");
}

TEST(Peers, AgreeOnAPlainModelAndOnLlama3) {
  for (const auto name :
       {"llama-2-7b", "llama-3.1-8b", "gemma-3-4b", "qwen2.5-7b-yarn", "smollm3-3b", "glm-4-9b"}) {
    const Model model = preset(name);
    for (const Peer peer : peers) {
      const auto theirs = model.as(peer);
      ASSERT_SUCCEEDS(theirs);
      for (std::size_t i = 0; i < model.ropes().size(); ++i) {
        EXPECT_EQ(theirs->ropes()[i].rope, model.ropes()[i].rope) << name << ' ' << rotary::name(peer);
        EXPECT_TRUE(model.rope_as(peer, i).reasons.empty());
      }
      EXPECT_EQ(theirs->values().size(), model.values().size());
    }
  }
}

TEST(Peers, TheMscalePairOfPlainYarnIsARatio) {
  const Model model = preset("ministral-3-3b");
  for (const Peer peer : peers) EXPECT_EQ(a_as(peer, model), 1) << name(peer);
  for (const Peer peer : peers) EXPECT_EQ(spectrum_as(peer, model).softmax_factor(), 1) << name(peer);
}

TEST(Peers, LatentAttentionKeepsBothFactors) {
  for (const Peer peer : peers) {
    EXPECT_NEAR(a_as(peer, preset("deepseek-v3")), 1, 1e-15) << name(peer);
    EXPECT_NEAR(spectrum_as(peer, preset("deepseek-v3")).softmax_factor(), 1.8738542071, 1e-10) << name(peer);
    EXPECT_NEAR(a_as(peer, preset("deepseek-v2-lite")), 1, 1e-15) << name(peer);
    EXPECT_NEAR(spectrum_as(peer, preset("deepseek-v2-lite")).softmax_factor(), 1.5896261652, 1e-10)
        << name(peer);
  }
}

TEST(Peers, LatentAttentionWithUnequalMscales) {
  const Model model = read(R"({"model_type": "deepseek_v3", "hidden_size": 2048, "num_attention_heads": 16,
      "num_hidden_layers": 2, "max_position_embeddings": 163840, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
      "rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "mscale_all_dim": 0.707}})");
  EXPECT_NEAR(a_as(transformers, model), 1.3688879454, 1e-10)
      << "the ratio counts only where both are stated";
  EXPECT_NEAR(a_as(vllm, model), 1.3688879454 / 1.2608037774, 1e-9);
  EXPECT_NEAR(a_as(mlx, model), 1.3688879454 / 1.2608037774, 1e-9);
  EXPECT_NEAR(a_as(llama_cpp, model), 1, 1e-15) << "mscale is taken to be the stored logarithm's";
}

TEST(Peers, AttentionFactorIsReadByTransformersAndVllm) {
  const Model model = read(yarn(R"("factor": 64.0, "attention_factor": 1.0)"));
  for (const Peer peer : {transformers, vllm}) EXPECT_EQ(a_as(peer, model), 1) << name(peer);
  for (const Peer peer : {llama_cpp, sglang, mlx})
    EXPECT_NEAR(a_as(peer, model), 1.41588831, 1e-8) << name(peer);
}

TEST(Peers, AttnFactorIsReadBySglangAlone) {
  const Model model = read(yarn(R"("factor": 4.0, "attn_factor": 0.8782488562869419)"));
  EXPECT_NEAR(a_as(sglang, model), 1, 1e-9);
  for (const Peer peer : {transformers, llama_cpp, vllm, mlx})
    EXPECT_NEAR(a_as(peer, model), 1.1386294361, 1e-10) << name(peer);
}

// deepseek2.cpp scales the scores by the square of attn_factor_org g(log multiplier), and attn_factor_org is A.
TEST(Peers, LlamaCppsSoftmaxFactorOfLatentAttentionHasAInIt) {
  const auto file = [](float multiplier, float attn_factor) {
    testing::GgufWriter gguf("deepseek2");
    gguf.set("attention.key_length", 192U).set("rope.dimension_count", 64U).set("block_count", 1U);
    gguf.set("rope.scaling.type", "yarn").set("rope.scaling.factor", 40.0F);
    gguf.set("rope.scaling.original_context_length", 4096U);
    gguf.set("rope.scaling.yarn_log_multiplier", multiplier).set("rope.scaling.attn_factor", attn_factor);
    return gguf.load().value().as(llama_cpp).value().ropes()[0].rope.spectrum();
  };
  EXPECT_NEAR(file(0.1F, 1).attention_factor(), 1, 1e-6);
  EXPECT_NEAR(file(0.1F, 1).softmax_factor(), 1.8738542070926265, 1e-6) << "g(1)^2";
  EXPECT_NEAR(file(0, 1).attention_factor(), 1.3688879454113936, 1e-6) << "no multiplier: g(1)";
  EXPECT_NEAR(file(0, 1).softmax_factor(), 1.8738542070926265, 1e-6);
  EXPECT_NEAR(file(0.0707F, 1.5F).attention_factor(), 1.5, 1e-6);
  EXPECT_NEAR(file(0.0707F, 1.5F).softmax_factor(), 3.576658871521966, 1e-6) << "(1.5 g(0.707))^2";
}

TEST(Peers, TruncateIsAlwaysOnInLlamaCppAndMlx) {
  const Model model = preset("gpt-oss-20b");
  for (const Peer peer : {llama_cpp, mlx}) {
    EXPECT_NEAR(spectrum_as(peer, model).inv_freq()[12], 0.00701571391, 1e-11) << name(peer);
    EXPECT_NEAR(spectrum_as(peer, model).inv_freq()[16], 0.000580947502, 1e-12) << name(peer);
  }
  for (const Peer peer : {transformers, vllm, sglang})
    EXPECT_NEAR(spectrum_as(peer, model).inv_freq()[12], 0.00679495949, 1e-11) << name(peer);
}

TEST(Peers, TransformersSeesNoTruncateInsideALayerType) {
  const Model model =
      read(R"({"model_type": "gemma3_text", "hidden_size": 2560, "num_attention_heads": 8, "head_dim": 64,
      "num_hidden_layers": 6, "max_position_embeddings": 131072, "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000},
        "full_attention": {"rope_type": "yarn", "rope_theta": 150000, "factor": 32.0, "truncate": false,
                           "original_max_position_embeddings": 4096}}})");
  const auto global = [&](const Model& m) { return m.find_rope("global")->rope.spectrum().inv_freq()[12]; };
  EXPECT_NEAR(global(model), 0.00679495949, 1e-11);
  EXPECT_NEAR(global(model.as(transformers).value()), 0.00701571391, 1e-11);
  EXPECT_NEAR(global(model.as(vllm).value()), 0.00679495949, 1e-11);

  // A text model within a larger one is no layer type.
  const Model nested = read(R"({"model_type": "qwen2_vl", "text_config": {"model_type": "qwen2_vl_text",
      "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 131072,
      "rope_parameters": {"rope_type": "yarn", "rope_theta": 150000, "factor": 32.0, "truncate": false,
                          "original_max_position_embeddings": 4096, "mrope_section": [8, 12, 12]}}})");
  EXPECT_NEAR(spectrum_as(transformers, nested).inv_freq()[12], 0.00679495949, 1e-11);
}

TEST(Peers, LlamaCppKnowsTheTwoBetasByHeart) {
  const std::string more = R"("factor": 8.0, "beta_fast": 16, "beta_slow": 2)";
  const std::string defaults = R"("factor": 8.0)";
  const Rope stated = read(yarn(more)).ropes()[0].rope, by_heart = read(yarn(defaults)).ropes()[0].rope;
  EXPECT_TRUE(difference(by_heart, read(yarn(more)).as(llama_cpp)->ropes()[0].rope, 1).none());
  EXPECT_GT(difference(by_heart, stated, 1).pairs, 0);
  EXPECT_EQ(read(yarn(more)).as(vllm)->ropes()[0].rope, stated);
}

TEST(Peers, MlxTakes4096ForAnOriginalLengthThatNobodyStates) {
  const Model model = read(R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
      "num_hidden_layers": 2, "max_position_embeddings": 32768, "rope_scaling": {"type": "yarn", "factor": 4.0}})");
  const auto by = [](double original) {
    return Spectrum::make(
               {.rotary_dim = 128,
                .scaling = scaling::Yarn{.factor = 4, .original_max_position_embeddings = original}})
        ->inv_freq()[30];
  };
  EXPECT_EQ(model.ropes()[0].rope.spectrum().inv_freq()[30], by(32768));
  EXPECT_EQ(spectrum_as(mlx, model).inv_freq()[30], by(4096));
  EXPECT_NE(by(4096), by(32768));
}

TEST(Peers, TeleChat3IsPlainYarnToMlx) {
  const Model model = read(llama(R"(, "rope_scaling": {"rope_type": "telechat3-yarn", "factor": 1.0,
      "original_max_position_embeddings": 1024})"));
  EXPECT_NEAR(model.ropes()[0].rope.spectrum().attention_factor(), 1.0970406053, 1e-10)
      << "0.07 ln 4 + 1, by the ratio of the lengths";
  EXPECT_EQ(a_as(mlx, model), 1) << "by the factor of the file";
  EXPECT_FAILS(
      model.as(transformers), StatusCode::unsupported,
      "config: rope default: scaling type telechat3-yarn: transformers has none; it has default linear");
}

TEST(Peers, AMagnitudeThatTheArchitectureSettlesIsEverybodys) {
  const Model model = read(R"({"model_type": "deepseek_v4", "num_hidden_layers": 2, "hidden_size": 1024,
      "num_attention_heads": 2, "head_dim": 512, "qk_rope_head_dim": 64, "max_position_embeddings": 1048576,
      "rope_theta": 10000, "compress_rope_theta": 160000, "compress_ratios": [0, 4], "rope_scaling": {"type": "yarn", "factor": 16,
      "original_max_position_embeddings": 65536}})");
  const auto* compress = model.find_rope("compress");
  ASSERT_NE(compress, nullptr);
  EXPECT_EQ(compress->rope.spectrum().attention_factor(), 1);
  for (const Peer peer : peers) {
    EXPECT_EQ(model.as(peer)->find_rope("compress")->rope.spectrum().attention_factor(), 1) << name(peer);
  }
}

TEST(Peers, DynamicNtk) {
  const std::string config = llama(R"(, "rope_scaling": {"type": "dynamic", "factor": 2.0})");
  const auto base = [&](Peer peer, std::int64_t length) {
    return std::pow(spectrum_as(peer, read(config, length)).inv_freq()[1], -64);
  };
  EXPECT_NEAR(base(transformers, 4096), 10000, 1e-7);
  EXPECT_NEAR(base(transformers, 8192), 30527.7367488, 1e-6);
  EXPECT_NEAR(base(transformers, 16384), 72195.8600865, 1e-6);
  EXPECT_NEAR(base(mlx, 16384), 72195.8600865, 1e-6);
  for (const std::int64_t length : {100, 16384}) {
    EXPECT_NEAR(base(vllm, length), 10000, 1e-7) << "the formula collapses";
    EXPECT_NEAR(base(sglang, length), 30527.7367488, 1e-6) << "fixed at factor times the trained length";
  }
  EXPECT_FAILS(read(config).as(llama_cpp), StatusCode::unsupported,
               "scaling type dynamic: llama.cpp has none");
}

std::string list(double value) {
  std::string text = "[" + std::to_string(value);
  for (int i = 1; i < 48; ++i) text += ", " + std::to_string(value);
  return text + "]";
}
/// Phi-3's window of 96 lanes; the slowest pair says which list it is.
std::string longrope(const std::string& model_type = "phi3", const std::string& more = "") {
  return R"({"model_type": ")" + model_type +
         R"(", "hidden_size": 3072, "num_attention_heads": 32, "num_hidden_layers": 2,
      "max_position_embeddings": 131072, "original_max_position_embeddings": 4096, "rope_theta": 10000.0,
      "rope_scaling": {"type": "longrope", "short_factor": )" +
         list(1) + R"(, "long_factor": )" + list(2) + more + "}}";
}

TEST(Peers, LongRopeListsAndTheTokenThatSwitches) {
  const auto is_long = [](Peer peer, std::optional<std::int64_t> length) {
    return spectrum_as(peer, read(longrope(), length)).inv_freq()[0] == 0.5;
  };
  for (const Peer peer : {transformers, vllm, llama_cpp}) {
    EXPECT_FALSE(is_long(peer, 4096)) << name(peer);
    EXPECT_TRUE(is_long(peer, 4097)) << name(peer);
  }
  EXPECT_FALSE(is_long(sglang, 4097)) << "position 4096 is not over 4096";
  EXPECT_TRUE(is_long(sglang, 4098));
  EXPECT_TRUE(is_long(mlx, 100));
  EXPECT_FALSE(is_long(transformers, std::nullopt));
  EXPECT_TRUE(is_long(vllm, std::nullopt)) << "by the configured maximum, which is that of the file";
  EXPECT_TRUE(is_long(llama_cpp, std::nullopt));
}

TEST(Peers, LongRopeMagnitude) {
  for (const Peer peer : peers) EXPECT_NEAR(a_as(peer, read(longrope())), 1.1902380714, 1e-10) << name(peer);
  const Model stated = read(longrope("phi3", R"(, "attention_factor": 1.0)"));
  EXPECT_EQ(a_as(transformers, stated), 1);
  for (const Peer peer : {llama_cpp, vllm, sglang, mlx})
    EXPECT_NEAR(a_as(peer, stated), 1.1902380714, 1e-10) << name(peer);
}

TEST(Peers, PhiMoeSwitchesTheMagnitudeAlone) {
  const std::string config = longrope("phimoe", R"(, "short_mscale": 1.5, "long_mscale": 1.25)");
  const Spectrum theirs = spectrum_as(transformers, read(config, 8192));
  EXPECT_EQ(theirs.inv_freq()[0], 1) << "always the short list";
  EXPECT_EQ(theirs.attention_factor(), 1.25);
  EXPECT_EQ(a_as(transformers, read(config, 100)), 1.5);
  EXPECT_EQ(spectrum_as(vllm, read(config, 8192)).inv_freq()[0], 0.5);
  EXPECT_EQ(a_as(vllm, read(config, 8192)), 1.25);
  EXPECT_NEAR(a_as(mlx, read(config, 8192)), 1.1902380714, 1e-10) << "nobody hands it the two numbers";
}

TEST(Peers, MlxRunsSeveralAxesAsOne) {
  const Model model = read(R"({"model_type": "qwen2_vl", "hidden_size": 1536, "num_attention_heads": 12,
      "num_hidden_layers": 2, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})");
  EXPECT_EQ(model.as(mlx)->ropes()[0].rope.spectrum().axes(), 1);
  EXPECT_EQ(model.as(transformers)->ropes()[0].rope.spectrum().axes(), 3);
  const auto view = model.rope_as(mlx, 0);
  EXPECT_EQ(view.reasons,
            std::vector<std::string>{"M-RoPE runs as a plain rope: every pair follows the first axis"});
}

TEST(Peers, LlamaCppLeavesPairsOfMRopeInTurnsStanding) {
  const auto config = [](const char* sections) {
    return read(R"({"model_type": "qwen3_vl_text", "head_dim": 128, "num_hidden_layers": 2, "rope_scaling": {
        "rope_type": "default", "mrope_interleaved": true, "mrope_section": )" +
                std::string(sections) + "}}");
  };
  // Of 64 pairs height and width take 20 each, in turns; 61 and 62 would be theirs again.
  const auto view = config("[24, 20, 20]").rope_as(llama_cpp, 0);
  const auto axis = view.rope->spectrum().axis();
  EXPECT_EQ(std::vector<int>(axis.begin() + 57, axis.end()), (std::vector<int>{0, 1, 2, 0, 3, 3, 0}));
  ASSERT_EQ(view.reasons.size(), 1U);
  EXPECT_TRUE(view.reasons[0].ends_with("they stand still")) << view.reasons[0];
  EXPECT_TRUE(config("[22, 21, 21]").rope_as(llama_cpp, 0).reasons.empty()) << "nothing is left over";
  EXPECT_TRUE(config("[24, 20, 20]").rope_as(vllm, 0).reasons.empty());
}

TEST(Peers, AnImageEncoderOfTwoRopesIsNoTextModelEither) {
  const Model model = preset("gemma-4");
  const Rope& by_columns = model.find_rope("vision-x")->rope;
  for (const Peer peer : peers)
    EXPECT_EQ(model.as(peer)->find_rope("vision-x")->rope, by_columns) << name(peer);
}

// The preset is the config.json of the model, and the file DeepSeek's own of it.
TEST(Peers, DeepSeeksOwnFileIsRunAsItsConfig) {
  const Model own = read(R"({"dim": 7168, "inter_dim": 18432, "n_layers": 61, "n_heads": 128,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "max_seq_len": 163840})");
  for (const Peer peer : {transformers, llama_cpp}) {
    const auto theirs = own.rope_as(peer, 0);
    ASSERT_SUCCEEDS(theirs.rope);
    const Spectrum& spectrum = theirs.rope->spectrum();
    EXPECT_EQ(spectrum.scaling(), preset("deepseek-v3").as(peer)->ropes()[0].rope.spectrum().scaling());
    EXPECT_NEAR(spectrum.softmax_factor(), 1.8738542071, 1e-10);
    EXPECT_EQ(
        theirs.reasons.front(),
        "DeepSeek's own file is not read; the config.json of the model states it as yarn, with mscale and "
        "mscale_all_dim");
  }
  EXPECT_FAILS(
      read(testing::llama(R"(, "rope_scaling": {"type": "deepseek_yarn", "factor": 4.0})")).as(transformers),
      StatusCode::unsupported, "scaling type deepseek_yarn: transformers has none");
}

TEST(Peers, DeepSeekV4sOwnFileSettlesItsMagnitude) {
  const Model own = read(R"({"dim": 4096, "n_layers": 2, "n_heads": 64, "compress_ratios": [0, 4],
      "rope_factor": 16, "original_seq_len": 65536})");
  for (const Peer peer : peers)
    EXPECT_EQ(own.as(peer)->find_rope("compress")->rope.spectrum().attention_factor(), 1) << name(peer);
}

TEST(Peers, NoneRunsAGeneratorOfImages) {
  for (const Peer peer : peers) {
    EXPECT_FAILS(preset("flux-1").as(peer), StatusCode::unsupported,
                 "a generator of images or video, which diffusers runs");
  }
}

TEST(Peers, ValuesSayWhatThePeerChanged) {
  const auto theirs = preset("gpt-oss-20b").as(llama_cpp);
  EXPECT_EQ(source_of(*theirs, "truncate"), "as llama.cpp");
  EXPECT_EQ(source_of(*theirs, "factor"), "rope_scaling.factor");
  EXPECT_EQ(std::get<std::string>(find_value(*theirs, "llama.cpp")->value),
            "truncate cannot be switched off: the ends of the ramp are rounded outwards");
  const auto by_sglang = read(yarn(R"("factor": 64.0, "attention_factor": 1.5)")).as(sglang);
  EXPECT_EQ(source_of(*by_sglang, "attention_factor"), "as sglang");
  EXPECT_NEAR(std::get<double>(find_value(*by_sglang, "attention_factor")->value), 1.41588831, 1e-8);
}

TEST(Peers, AModelOfFlagsToo) {
  const auto spectrum =
      Spectrum::make({.rotary_dim = 64, .scaling = scaling::Yarn{.factor = 64, .attention_factor = 1}});
  const auto model = Model::from_rope({.spectrum = *spectrum, .pairing = Pairing::interleaved});
  const Rope theirs = model->as(sglang)->ropes()[0].rope;
  EXPECT_NEAR(theirs.spectrum().attention_factor(), 1.41588831, 1e-8);
  EXPECT_EQ(theirs.pairing(), Pairing::interleaved);
  const double own[] = {1, 0.5};
  const auto stated = Model::from_rope({.spectrum = Spectrum::from_inv_freq(own).value()});
  EXPECT_EQ(stated->as(llama_cpp)->ropes()[0].rope, stated->ropes()[0].rope);
}

TEST(Peers, RopeAtAnotherLength) {
  const Model model = read(longrope());
  EXPECT_EQ(model.rope_at(0, 4096)->spectrum().inv_freq()[0], 1);
  EXPECT_EQ(model.rope_at(0, 4097)->spectrum().inv_freq()[0], 0.5);
  EXPECT_FAILS(model.rope_at(1, 4096), StatusCode::out_of_range, "config: rope 1: there are 1");
  EXPECT_FAILS(model.rope_at(0, 0), StatusCode::invalid_argument, "length 0: must be at least 1 token");
  EXPECT_FAILS(model.rope_as(vllm, 1).rope, StatusCode::out_of_range, "config: rope 1: there are 1");
}

TEST(Peers, SayWhoseLengthDecides) {
  const Model model = read(longrope());
  EXPECT_EQ(model.rope_as(transformers, 0).length_rule, LengthRule::by_batch);
  EXPECT_EQ(model.rope_as(llama_cpp, 0).length_rule, LengthRule::by_maximum);
  EXPECT_EQ(model.rope_as(mlx, 0).length_rule, std::nullopt);
  EXPECT_NE(model.rope_as(mlx, 0).length_words, "");
  EXPECT_EQ(preset("llama-3.1-8b").rope_as(transformers, 0).length_words, "");
}

TEST(Difference, OfFrequenciesAndFactors) {
  const auto rope = [](const scaling::Yarn& yarn) {
    return Rope::make(
               {.spectrum = Spectrum::make({.rotary_dim = 64, .base = 150000, .scaling = yarn}).value()})
        .value();
  };
  const Rope exact = rope({.factor = 32, .truncate = false}), rounded = rope({.factor = 32});
  EXPECT_TRUE(difference(exact, exact, 131071).none());
  const PeerDifference d = difference(exact, rounded, 131071);
  EXPECT_EQ(d.pairs, 9);
  EXPECT_EQ(d.worst_pair, 12);
  EXPECT_NEAR(d.angle, 131071 * (0.00701571391 - 0.00679495949), 2e-5);
  EXPECT_NEAR(
      difference(exact, rope({.factor = 32, .truncate = false, .attention_factor = 1}), 0).attention_factor,
      1 / 1.3465735903, 1e-10);
  const Rope narrow = Rope::make({.spectrum = Spectrum::make({.rotary_dim = 8}).value()}).value();
  EXPECT_EQ(difference(exact, narrow, 1).pairs, 32);
}

}  // namespace
}  // namespace rotary::testing
