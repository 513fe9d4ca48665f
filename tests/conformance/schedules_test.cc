// SPDX-License-Identifier: Apache-2.0
// schedule_spectra.json: frequencies of rotary-embedding-torch and timm, and xPos as the former rotates;
// flash_attn_xpos.json: xPos as flash-attn makes its tables.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <rotary/rope.hpp>

#include "support/json.hpp"
#include "support/status_matchers.hpp"
#include "support/tensor.hpp"

namespace rotary::testing {
namespace {

using nlohmann::json;

const json& fixture() {
  static const json file = data_json("schedule_spectra.json");
  return file;
}

/// The alternative of that name, its numbers from the keys of the same names.
template <std::size_t I = 0>
Scaling scaling_of(const json& words) {
  if constexpr (I == std::variant_size_v<Scaling>) {
    throw std::runtime_error("no scaling type " + words.dump());
  } else {
    std::variant_alternative_t<I, Scaling> type;
    if (words.at("type") != type.name) return scaling_of<I + 1>(words);
    type.fields(type, [&](std::string_view key, auto& field) {
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, double>) {
        field = words.value(std::string(key), field);
      }
    });
    return type;
  }
}

TEST(Schedules, EqualTheirSources) {
  for (const json& entry : fixture().at("entries")) {
    SCOPED_TRACE(entry.at("name").get<std::string>());
    const auto spectrum = Spectrum::make({.rotary_dim = entry.at("rotary_dim"),
                                          .base = entry.at("base"),
                                          .scaling = scaling_of(entry.at("scaling"))});
    ASSERT_SUCCEEDS(spectrum);
    const auto theirs = entry.at("inv_freq").get<std::vector<double>>();
    ASSERT_EQ(spectrum->inv_freq().size(), theirs.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      EXPECT_NEAR(spectrum->inv_freq()[i] / theirs[i], 1, 5e-7) << "pair " << i;
      EXPECT_NEAR(spectrum->inv_freq_fp32()[i] / theirs[i], 1, 5e-7) << "pair " << i;
    }
  }
  EXPECT_EQ(fixture().at("entries").size(), 9U);
}

TEST(XposConformance, EqualsRotaryEmbeddingTorch) {
  for (const json& one : fixture().at("xpos")) {
    const std::int64_t dim = one.at("dim"), tokens = one.at("tokens");
    const auto spectrum = Spectrum::make({.rotary_dim = dim}).value();
    for (const bool keys : {false, true}) {
      Xpos xpos = Xpos::moving(tokens, one.at("scale_base"));
      xpos.keys = keys;
      const Rope rope =
          Rope::make({.spectrum = spectrum, .pairing = Pairing::interleaved, .xpos = xpos}).value();
      auto data = one.at(keys ? "k" : "q").get<std::vector<double>>();
      const auto theirs = one.at(keys ? "k_rotated" : "q_rotated").get<std::vector<double>>();
      ASSERT_SUCCEEDS(rope.rotate(
          rope.angles(Positions::range(0, tokens)).value(),
          Heads{data.data(), HeadsShape::contiguous(Layout::bthd, DType::f64, 1, tokens, 1, dim)}));
      for (std::size_t i = 0; i < data.size(); ++i) EXPECT_NEAR(data[i], theirs[i], 1e-12) << i;
    }
  }
}

// Its tables are stretched around half of the tokens that it has tables for.
TEST(XposConformance, EqualsFlashAttentionsTables) {
  const json cases = data_json("flash_attn_xpos.json").at("cases");
  for (const json& one : cases) {
    const auto spectrum = Spectrum::make({.rotary_dim = one.at("dim")}).value();
    const auto positions = one.at("positions").get<std::vector<std::int64_t>>();
    for (const bool keys : {false, true}) {
      Xpos xpos = Xpos::moving(one.at("tokens"), one.at("scale_base"));
      xpos.keys = keys;
      const Rope rope = Rope::make({.spectrum = spectrum, .policy = AnglePolicy::fp32, .xpos = xpos}).value();
      const auto pairs = static_cast<std::size_t>(rope.pairs());
      std::vector<float> cos(pairs), sin(pairs);
      for (std::size_t row = 0; row < positions.size(); ++row) {
        const auto angles = rope.angles(Positions::range(positions[row], positions[row] + 1)).value();
        ASSERT_SUCCEEDS(angles.row(0, 0, cos, sin));
        for (std::size_t i = 0; i < pairs; ++i) {
          const double c = one.at(keys ? "cos_k" : "cos")[row][i], s = one.at(keys ? "sin_k" : "sin")[row][i];
          const double step = 4e-7 * std::hypot(c, s);
          EXPECT_NEAR(cos[i], c, step) << "position " << positions[row] << " pair " << i;
          EXPECT_NEAR(sin[i], s, step) << "position " << positions[row] << " pair " << i;
        }
      }
    }
  }
  EXPECT_EQ(cases.size(), 2U);
}

}  // namespace
}  // namespace rotary::testing
