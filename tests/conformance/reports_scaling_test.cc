// SPDX-License-Identifier: Apache-2.0
// Reports about YaRN's magnitude, ramp and lengths, and about LongRoPE's two lists.
#include <algorithm>
#include <cmath>
#include <rotary/model.hpp>

#include "reports.hpp"

namespace rotary::testing {
namespace {

/// A Llama of heads of 64 whose config says this about YaRN.
Model yarn_model(const std::string& keys, const std::string& top = "") {
  return Model::from_config(
             R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8,
      "num_hidden_layers": 1, "max_position_embeddings": 40960)" +
             top + R"(, "rope_scaling": {"rope_type": "yarn", "original_max_position_embeddings": 32768, )" +
             keys + "}}")
      .value();
}
Spectrum yarn(const std::string& keys) { return yarn_model(keys).ropes()[0].rope.spectrum(); }
double a_of(const std::string& keys) { return yarn(keys).attention_factor(); }
std::string from(const Model& model, std::string_view key) {
  for (const ModelValue& value : model.values())
    if (value.key == key) return value.from;
  return "no such value";
}

TEST(Report41, AnExplicitAttentionFactorIsUsed) {
  EXPECT_EQ(a_of(R"("factor": 64, "attention_factor": 1.0)"), 1);
  EXPECT_NEAR(a_of(R"("factor": 64)"), 1.41588831, 1e-8);
  EXPECT_NEAR(yarn_model(R"("factor": 64, "attention_factor": 1.0)")
                  .as(Peer::sglang)
                  ->ropes()[0]
                  .rope.spectrum()
                  .attention_factor(),
              1.41588831, 1e-8)
      << "who ignores it is known";
}

TEST(Report42, TheTwoMscalesAreARatio) {
  EXPECT_EQ(a_of(R"("factor": 16, "mscale": 1, "mscale_all_dim": 1)"), 1);
  EXPECT_EQ(a_of(R"("factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707)"), 1);
  EXPECT_NEAR(a_of(R"("factor": 40)"), 1.36888795, 1e-8);
  EXPECT_NEAR(a_of(R"("factor": 16)"), 1.27725887, 1e-8);
}

TEST(Report43, TheReadingSaysWhichRuleFiredAndTheOtherValue) {
  const Model model = yarn_model(R"("factor": 16, "mscale": 1, "mscale_all_dim": 1)");
  EXPECT_EQ(from(model, "attention_factor"),
            "derived: mscale over mscale_all_dim; without the two it would be 1.2772588722239782");
  EXPECT_NEAR(
      a_of(R"("factor": 16, "mscale": 1, "mscale_all_dim": 1, "attention_factor": 1.2772588722239782)"),
      1.27725887, 1e-8)
      << "and may be overridden";
}

TEST(Report45, AttnFactorMultipliesAndAttentionFactorReplaces) {
  EXPECT_NEAR(a_of(R"("factor": 4, "attn_factor": 0.8782488562869419)"), 1, 1e-15);
  EXPECT_EQ(a_of(R"("factor": 4, "attention_factor": 0.8782488562869419)"), 0.8782488562869419);
}

TEST(Report46, TheFactorOfTheFileCountsAndTheOtherRatioIsSaid) {
  const Model model = yarn_model(R"("factor": 4)");
  const auto& scaling = std::get<scaling::Yarn>(model.ropes()[0].rope.spectrum().scaling());
  EXPECT_EQ(scaling.factor, 4);
  ASSERT_EQ(model.warnings().size(), 1U);
  EXPECT_EQ(model.warnings()[0],
            "factor 4 is used, though max_position_embeddings / "
            "rope_scaling.original_max_position_embeddings is 1.25");
}

std::string deepseek(const std::string& mscale) {
  return R"({"model_type": "deepseek_v2", "hidden_size": 2048, "num_attention_heads": 16, "num_hidden_layers": 1,
      "max_position_embeddings": 163840, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rope_scaling": {
        "type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "mscale": )" +
         mscale + R"(, "mscale_all_dim": )" + mscale + "}}";
}

TEST(Report47, MagnitudeOfDeepSeekIsOneForwardAndBack) {
  const auto model = Model::from_config(deepseek("0.707"));
  const Rope rope = model->ropes()[0].rope;
  EXPECT_NEAR(rope.spectrum().attention_factor(), 1, 1e-15);
  const Turn shift = first_pair(rope, at(-3)), main = first_pair(rope, at(3));
  EXPECT_NEAR(std::hypot(shift.cos, shift.sin), 1, 1e-7);
  EXPECT_NEAR(std::hypot(main.cos, main.sin), 1, 1e-7);
  EXPECT_NEAR(model->as(Peer::llama_cpp)->ropes()[0].rope.spectrum().attention_factor(), 1, 1e-15);
}

TEST(Report49, TheSoftmaxHasANumberOfItsOwn) {
  const auto both = [](const std::string& mscale) {
    const Model model = Model::from_config(deepseek(mscale)).value();
    const Spectrum& spectrum = model.ropes()[0].rope.spectrum();
    return std::pair(spectrum.attention_factor(), spectrum.softmax_factor());
  };
  EXPECT_NEAR(both("0.707").first, 1, 1e-15);
  EXPECT_NEAR(both("0.707").second, 1.58962617, 1e-8);
  EXPECT_NEAR(both("1").first, 1, 1e-15);
  EXPECT_NEAR(both("1").second, 1.87385421, 1e-8);
}

// The ramp's ends are not in the interface; the share of the divided frequency at pair i is (i - lo) / (hi - lo).
TEST(Report50, TheEndsOfTheRampAreRoundedOrNot) {
  const auto ends = [](bool truncate) {
    const auto make = [&](const Scaling& scaling) {
      return Spectrum::make({.rotary_dim = 64, .base = 150000, .scaling = scaling}).value();
    };
    const Spectrum plain = make({}), ramped = make(scaling::Yarn{.factor = 32, .truncate = truncate});
    const auto share = [&](std::size_t i) {
      return (1 - ramped.inv_freq()[i] / plain.inv_freq()[i]) / (1 - 1.0 / 32);
    };
    const double step = share(13) - share(12), begin = 12 - share(12) / step;
    return std::pair(begin, begin + 1 / step);
  };
  EXPECT_NEAR(ends(false).first, 8.09277912, 1e-8);
  EXPECT_NEAR(ends(false).second, 17.39802450, 1e-8);
  EXPECT_NEAR(ends(true).first, 8, 1e-12);
  EXPECT_NEAR(ends(true).second, 18, 1e-12);
}

TEST(Report51, TheBetasHaveAnOrder) {
  const auto make = [](double fast, double slow) {
    return Spectrum::make(
        {.rotary_dim = 128, .scaling = scaling::Yarn{.factor = 8, .beta_fast = fast, .beta_slow = slow}});
  };
  EXPECT_FAILS(make(1, 32), StatusCode::invalid_argument, "yarn: beta_fast 1: must be at least beta_slow 32");
  const Spectrum plain = Spectrum::make({.rotary_dim = 128}).value(), ramped = make(32, 1).value();
  EXPECT_EQ(ramped.inv_freq().front(), plain.inv_freq().front());
  EXPECT_NEAR(ramped.inv_freq().back() * 8, plain.inv_freq().back(), 1e-18);
}

TEST(Report53, TheContextChangesNoFrequency) {
  const auto with_context = [](const std::string& context) {
    return Model::from_config(R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8,
        "num_hidden_layers": 1, "rope_scaling": {"rope_type": "yarn", "factor": 8,
        "original_max_position_embeddings": 4096}, "max_position_embeddings": )" +
                              context + "}")
        .value()
        .ropes()[0]
        .rope;
  };
  EXPECT_EQ(with_context("32768"), with_context("1048576"));
}

TEST(Report54, ALinearFactorIsAppliedOnce) {
  const auto linear = [](Pairing pairing) {
    return Rope::make({.spectrum = Spectrum::make({.rotary_dim = 64, .scaling = scaling::Linear{4}}).value(),
                       .pairing = pairing})
        .value();
  };
  for (const auto pairing : {Pairing::half_split, Pairing::interleaved}) {
    const Turn turn = first_pair(linear(pairing), at(100));
    EXPECT_EQ(turn.cos, std::cos(25.0F));
    EXPECT_EQ(turn.sin, std::sin(25.0F));
  }
}

TEST(Report55, BothPairingsHaveTheSameYarnFrequencies) {
  const auto angles = [](Pairing pairing) {
    const auto spectrum =
        Spectrum::make({.rotary_dim = 64, .base = 150000, .scaling = scaling::Yarn{.factor = 32}});
    const Rope rope = Rope::make({.spectrum = *spectrum, .pairing = pairing}).value();
    std::vector<float> row(64);
    rope.angles(at(4097)).value().row(0, 0, std::span(row).first(32), std::span(row).last(32)).value();
    return row;
  };
  EXPECT_EQ(angles(Pairing::half_split), angles(Pairing::interleaved));
}

scaling::LongRope lists(std::size_t pairs) {
  scaling::LongRope longrope{.short_factor = std::vector<double>(pairs, 1.0),
                             .long_factor = std::vector<double>(pairs, 4.0),
                             .original_max_position_embeddings = 4096,
                             .max_position_embeddings = 131072};
  return longrope;
}
Rope longrope(std::int64_t length) {
  return Rope::make(
             {.spectrum = Spectrum::make({.rotary_dim = 96, .scaling = lists(48), .length = length}).value()})
      .value();
}

TEST(Report73, TheListIsChosenForTheSequenceNotForThePosition) {
  EXPECT_EQ(longrope(4096).spectrum().inv_freq()[0], 1);
  EXPECT_EQ(longrope(4097).spectrum().inv_freq()[0], 0.25);
  const Turn early = first_pair(longrope(4097), at(8));
  EXPECT_NEAR(early.cos, 1.1902380714 * std::cos(2.0), 1e-7)
      << "position 8 of a long sequence turns by the long list";
}

TEST(Report74, TheChoiceIsTheSequencesLengthNotACapacity) {
  const std::int64_t tokens_of_row[] = {100, 3000};
  EXPECT_EQ(length_for(LengthRule::by_sequence, tokens_of_row, 0, 131072).value(), 100);
  EXPECT_EQ(longrope(100), longrope(4096));
  const Rope rope = longrope(100);
  ASSERT_SUCCEEDS(rope.angles(Positions::range(0, 5000)));
  EXPECT_EQ(rope.spectrum().inv_freq()[0], 1) << "making more rows changes nothing";
}

TEST(Report75, ChunksOfAPromptEqualOneCall) {
  constexpr std::int64_t tokens = 5511, chunk = 1000;
  const Rope rope = longrope(tokens);
  const Tensor q = random_tensor(dense(DType::f32, 1, tokens, 1, 96), 1);
  const Tensor whole = turned(rope, Positions::range(0, tokens), q);
  for (std::int64_t begin = 0; begin < tokens; begin += chunk) {
    const std::int64_t end = std::min(begin + chunk, tokens);
    const Tensor part = turned(rope, Positions::range(begin, end), cut_tokens(q, begin, end));
    EXPECT_TRUE(same_bits(part, cut_tokens(whole, begin, end)));
  }
}

TEST(Report77, ListsHaveOneNumberAPairOfTheWindow) {
  const auto config = [](int numbers) {
    std::string list = "[1.0";
    for (int i = 1; i < numbers; ++i) list += ", 1.0";
    list += "]";
    return Model::from_config(R"({"model_type": "phi3", "hidden_size": 1024, "num_attention_heads": 8,
        "num_hidden_layers": 1, "max_position_embeddings": 131072, "original_max_position_embeddings": 4096,
        "partial_rotary_factor": 0.75, "rope_scaling": {"type": "longrope", "short_factor": )" +
                              list + R"(, "long_factor": )" + list + "}}");
  };
  EXPECT_SUCCEEDS(config(48));
  EXPECT_FAILS(config(64), StatusCode::malformed, "64 numbers, must be one a pair, rotary_dim 96 / 2 = 48");
}

}  // namespace
}  // namespace rotary::testing
