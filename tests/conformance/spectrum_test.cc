// SPDX-License-Identifier: Apache-2.0
// Every config of hf_spectra.json through Model::from_config, against the inverse frequencies that
// Transformers' own module makes of it.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <rotary/model.hpp>

#include "support/json.hpp"

namespace rotary {
namespace {

using nlohmann::json;

// Transformers' fp32 power is itself off by an ulp here and there; llama3's blend subtracts and so widens
// that.
constexpr std::int64_t kMostUlps = 4;

std::int64_t ulps(float a, float b) {
  return std::abs(std::int64_t{std::bit_cast<std::int32_t>(a)} -
                  std::int64_t{std::bit_cast<std::int32_t>(b)});
}

json entries() { return testing::data_json("hf_spectra.json").at("entries"); }

std::string rope_name(const json& layer_type) {
  if (layer_type.is_null()) return "default";
  return layer_type == "full_attention" ? "global" : "local";
}

void expect_equal(const ModelRope& model_rope, const json& expected) {
  const Rope& rope = model_rope.rope;
  EXPECT_EQ(rope.head_dim(), expected.at("head_dim"));
  EXPECT_EQ(rope.rotary_dim(), expected.at("rotary_dim"));
  EXPECT_EQ(rope.rotary_offset(), expected.at("rotary_offset"));
  const Spectrum& spectrum = rope.spectrum();
  EXPECT_NEAR(spectrum.attention_factor(), expected.at("attention_factor"), 1e-15);
  EXPECT_NEAR(spectrum.softmax_factor(), expected.at("softmax_factor"), 1e-15);
  const auto& inv_freq = expected.at("inv_freq");
  ASSERT_EQ(spectrum.inv_freq().size(), inv_freq.size());
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    const double peer = inv_freq[i];
    if (peer == 0)
      EXPECT_EQ(spectrum.inv_freq()[i], 0) << "pair " << i;
    else
      EXPECT_NEAR(spectrum.inv_freq()[i] / peer, 1, 1e-6) << "pair " << i;
    EXPECT_LE(ulps(spectrum.inv_freq_fp32()[i], static_cast<float>(peer)), kMostUlps) << "pair " << i;
  }
}

std::optional<std::int64_t> length_of(const json& expected) {
  const json& length = expected.at("length");
  return length.is_null() ? std::nullopt : std::optional(length.get<std::int64_t>());
}

TEST(Spectrum, EqualsTransformers) {
  int compared = 0;
  for (const json& entry : entries()) {
    for (const json& expected : entry.at("ropes")) {
      SCOPED_TRACE(entry.at("name").get<std::string>() + " " + expected.at("length").dump());
      const auto model =
          Model::from_config(entry.at("config").dump(), "config", {.length = length_of(expected)});
      ASSERT_TRUE(model) << model.status().message();
      const ModelRope* rope = model->find_rope(rope_name(expected.at("layer_type")));
      ASSERT_NE(rope, nullptr);
      expect_equal(*rope, expected);
      const auto theirs = model->as(Peer::transformers);
      ASSERT_TRUE(theirs) << theirs.status().message();
      expect_equal(*theirs->find_rope(rope->name), expected);
      ++compared;
    }
  }
  EXPECT_GE(compared, 77);
}

}  // namespace
}  // namespace rotary
