// SPDX-License-Identifier: Apache-2.0
// Rotations of Transformers' own modules and functions, positions 0 to 131071. Errors are of the length of
// the pair: by policy fp32, which computes angles as Transformers does, and by policy exact, from which any
// fp32 peer is as far as its own angles are from the truth.
#include <gtest/gtest.h>

#include <rotary/model.hpp>

#include "support/fixture.hpp"

namespace rotary::testing {
namespace {

// fp32 angles near position 131072 are up to half a step, 2^-8, off; their inverse frequencies as much again.
constexpr double exact_error = 0x1p-7;

struct Case {
  std::string name;
  RopeOptions options;
  // A few roundings of fp32: of the peer's cos, sin, products and sum.
  double fp32_error = 3e-7;
};

Spectrum spectrum(std::int64_t rotary_dim, double base, const Scaling& scaling = {}) {
  return Spectrum::make({.rotary_dim = rotary_dim, .base = base, .scaling = scaling}).value();
}

std::vector<Case> cases() {
  const Spectrum llama3 = spectrum(64, 500000,
                                   scaling::Llama3{.factor = 32,
                                                   .low_freq_factor = 1,
                                                   .high_freq_factor = 4,
                                                   .original_max_position_embeddings = 8192});
  const Spectrum deepseek =
      spectrum(64, 10000,
               scaling::Yarn{
                   .factor = 40, .original_max_position_embeddings = 4096, .mscale = 1, .mscale_all_dim = 1});
  return {
      {"llama3_float32", {.spectrum = llama3}},
      {"llama_yarn",
       {.spectrum =
            spectrum(128, 10000, scaling::Yarn{.factor = 32, .original_max_position_embeddings = 4096})}},
      // torch's pow is one step of fp32 off for pair 74 of base 1e6 and for pair 111 of base 10000, where
      // ours is rounded to nearest; at position 131071 that step is so much of an angle:
      {"gemma3_full_attention", {.spectrum = spectrum(256, 1e6, scaling::Linear{.factor = 8})}, 5e-7},
      {"gemma3_sliding_attention", {.spectrum = spectrum(256, 10000)}, 4e-6},
      {"gptj", {.spectrum = spectrum(64, 10000), .pairing = Pairing::interleaved, .head_dim = 256}},
      {"gpt_neox", {.spectrum = spectrum(24, 10000), .head_dim = 96}},
      {"glm", {.spectrum = spectrum(64, 10000), .pairing = Pairing::interleaved, .head_dim = 128}},
      {"deepseek_v3", {.spectrum = deepseek, .pairing = Pairing::interleaved_to_half}},
  };
}

Rope with_policy(RopeOptions options, AnglePolicy policy) {
  options.policy = policy;
  return Rope::make(options).value();
}

struct Recording {
  Tensor q, k, q_rotated, k_rotated;
  Positions positions;
};

Recording read(const Fixture& file, const std::string& name) {
  const auto layout = *layout_from_name(file.parameters(name).at("layout").get<std::string>());
  const auto heads = [&](const char* which) { return file.heads(name + which, layout); };
  return {heads(".q"), heads(".k"), heads(".q_rotated"), heads(".k_rotated"),
          Positions::ids(file.numbers<std::int64_t>(name + ".positions")).value()};
}

double worst(const Rope& rope, const Recording& r) {
  return std::max(worst_of_pair(rope, turned(rope, r.positions, r.q), r.q_rotated),
                  worst_of_pair(rope, turned(rope, r.positions, r.k), r.k_rotated));
}

const Fixture& file() {
  static const Fixture fixture("transformers_rotation.safetensors");
  return fixture;
}

// The rope of each case as the config in the fixture describes it. DeepSeek-V3 turns the last 64 lanes of
// 192; the recording holds those alone.
TEST(Transformers, TheirConfigsDescribeTheSameRopes) {
  for (const Case& c : cases()) {
    const auto parameters = file().parameters(c.name);
    const Model model = Model::from_config(parameters.at("config").dump(), c.name).value();
    const auto& type = parameters.at("layer_type");
    const Rope rope = model.rope_for_layer(type == "full_attention" ? 5 : 0).value();
    EXPECT_EQ(rope.spectrum().attention_factor(), parameters.at("attention_factor").get<double>()) << c.name;
    EXPECT_EQ(rope.rotary_dim(), parameters.at("rotary_dim").get<std::int64_t>()) << c.name;
    RopeOptions options = c.options;
    if (c.name == "deepseek_v3") options.rotary_offset = 128;
    EXPECT_EQ(rope, with_policy(options, AnglePolicy::exact)) << c.name;
  }
}

TEST(Transformers, Fp32PolicyGivesTheirNumbers) {
  for (const Case& c : cases()) {
    const Recording r = read(file(), c.name);
    const Rope rope = with_policy(c.options, AnglePolicy::fp32);
    EXPECT_LT(worst(rope, r), c.fp32_error) << c.name;
    EXPECT_TRUE(outside_kept(rope, r.q_rotated, turned(rope, r.positions, r.q))) << c.name;
    EXPECT_TRUE(outside_kept(rope, r.k_rotated, turned(rope, r.positions, r.k))) << c.name;
  }
}

TEST(Transformers, ExactPolicyIsAsFarAsTheirAnglesAreFromTheTruth) {
  for (const Case& c : cases()) {
    EXPECT_LT(worst(with_policy(c.options, AnglePolicy::exact), read(file(), c.name)), exact_error) << c.name;
  }
}

// At short positions fp32 angles are good, and so must the exact ones agree.
TEST(Transformers, ExactPolicyAgreesCloselyBelowAThousand) {
  for (const Case& c : cases()) {
    const Rope rope = with_policy(c.options, AnglePolicy::exact);
    const Recording r = read(file(), c.name);
    const Tensor out = turned(rope, r.positions, r.q);
    EXPECT_LT(worst_of_pair(rope, cut_tokens(out, 0, 6), cut_tokens(r.q_rotated, 0, 6)), 6e-5) << c.name;
  }
}

TEST(Transformers, Fp32RowsAreTheirCosAndSin) {
  for (const Case& c : cases()) {
    const Rope rope = with_policy(c.options, AnglePolicy::fp32);
    const auto theirs_cos = file().numbers<float>(c.name + ".cos"),
               theirs_sin = file().numbers<float>(c.name + ".sin");
    const auto width = static_cast<std::size_t>(file().shape(c.name + ".cos").back());
    const auto pairs = static_cast<std::size_t>(rope.pairs());
    const Angles angles = rope.angles(read(file(), c.name).positions).value();
    std::vector<float> cos(pairs), sin(pairs);
    double off = 0;
    for (std::int64_t t = 0; t < angles.tokens(); ++t) {
      angles.row(0, t, std::span(cos), std::span(sin)).value();
      for (std::size_t i = 0; i < pairs; ++i) {
        const std::size_t at = static_cast<std::size_t>(t) * width + i;
        off = std::max({off, std::abs(double{cos[i]} - double{theirs_cos[at]}),
                        std::abs(double{sin[i]} - double{theirs_sin[at]})});
      }
    }
    EXPECT_LT(off, c.fp32_error) << c.name;
  }
}

TEST(Transformers, WrongPairingBaseAndDirectionMiss) {
  for (const Case& c : cases()) {
    const Recording r = read(file(), c.name);
    RopeOptions pairing = c.options, base = c.options, direction = c.options;
    pairing.pairing = c.options.pairing == Pairing::half_split ? Pairing::interleaved : Pairing::half_split;
    base.spectrum = spectrum(c.options.spectrum.pairs() * 2, *c.options.spectrum.base() * 1.5);
    direction.direction = Direction::inverse;
    if (c.options.pairing == Pairing::interleaved_to_half) direction.pairing = Pairing::interleaved;
    for (const RopeOptions& wrong : {pairing, base, direction}) {
      EXPECT_GT(worst(with_policy(wrong, AnglePolicy::fp32), r), 0.1) << c.name;
    }
  }
}

// Transformers' rule in bf16: cos and sin rounded, each product rounded, the sum rounded. We compute in fp32
// and round once, so the two differ by those roundings: half a step (2^-9) in cos and sin, 2^-9 of each
// product, and half a step of each sum; together below 2^-7 of the pair's length.
TEST(Transformers, Bf16DiffersByItsRoundingsAlone) {
  const std::string name = "llama3_bfloat16";
  const Recording r = read(file(), name);
  const RopeOptions options = cases()[0].options;
  for (const AnglePolicy policy : {AnglePolicy::fp32, AnglePolicy::exact}) {
    EXPECT_LT(worst(with_policy(options, policy), r),
              policy == AnglePolicy::fp32 ? 0x1p-7 : 0x1p-7 + exact_error);
  }

  const Rope rope = with_policy(options, AnglePolicy::fp32);
  const Angles angles = rope.angles(r.positions).value();
  const auto pairs = static_cast<std::size_t>(rope.pairs());
  const auto round = [](float value) { return to_float(to_bf16(value)); };
  std::vector<float> cos(pairs), sin(pairs);
  int different = 0;
  for_each_head(r.q.shape, [&](HeadIndex h) {
    angles.row(0, h.token, std::span(cos), std::span(sin)).value();
    for (std::size_t i = 0; i < pairs; ++i) {
      const PairLanes at = lanes_read(rope, static_cast<std::int64_t>(i));
      const auto x = static_cast<float>(r.q.get(h, at.x)), y = static_cast<float>(r.q.get(h, at.y));
      const float c = round(cos[i]), s = round(sin[i]);
      different += round(round(x * c) - round(y * s)) != static_cast<float>(r.q_rotated.get(h, at.x));
      different += round(round(y * c) + round(x * s)) != static_cast<float>(r.q_rotated.get(h, at.y));
    }
  });
  EXPECT_EQ(different, 0);  // of our rows by their rule
}

}  // namespace
}  // namespace rotary::testing
