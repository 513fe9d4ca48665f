// SPDX-License-Identifier: Apache-2.0
// GGUFs with a scaling, with rope_freqs.weight, and with both, against ggml's own rope operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <rotary/model.hpp>

#include "support/json.hpp"
#include "unit/model/gguf_writer.hpp"

namespace rotary::testing {
namespace {

using nlohmann::json;

/// ggml's angles are a running product in fp32; a divisor of 1e30 leaves a pair some 1e-30 of a radian.
bool near(double ours, double theirs) { return std::abs(ours - theirs) <= 4e-6 * std::abs(theirs) + 1e-25; }

Result<Model> model_of(const json& entry) {
  const auto architecture = entry.at("architecture").get<std::string>();
  GgufWriter file(architecture);
  file.set("attention.key_length", architecture == "deepseek2" ? 192U : 64U).set("rope.dimension_count", 64U);
  file.set("block_count", 1U).set("context_length", 131072U);
  file.set("rope.freq_base", 10000.0F);
  for (const auto& [key, value] : entry.at("keys").items()) {
    if (value.is_string()) {
      file.set(key, value.get<std::string>());
    } else if (value.is_number_integer()) {
      file.set(key, value.get<std::uint32_t>());
    } else {
      file.set(key, value.get<float>());
    }
  }
  if (!entry.at("divisors").is_null()) file.divisors(entry.at("divisors").get<std::vector<float>>());
  return file.load();
}

TEST(GgmlSpectra, EqualItsOwn) {
  const json entries = data_json("ggml_spectra.json").at("entries");
  EXPECT_EQ(entries.size(), 17U);
  for (const json& entry : entries) {
    SCOPED_TRACE(entry.at("name").get<std::string>());
    const auto model = model_of(entry);
    ASSERT_TRUE(model) << model.status().message();
    const auto theirs = model->as(Peer::llama_cpp);
    ASSERT_TRUE(theirs) << theirs.status().message();
    for (const Model* each : {&*model, &*theirs}) {
      const Spectrum& spectrum = each->ropes()[0].rope.spectrum();
      EXPECT_TRUE(near(spectrum.attention_factor(), entry.at("attention_factor")))
          << spectrum.attention_factor() << " " << entry.at("attention_factor");
      EXPECT_TRUE(
          std::ranges::equal(spectrum.inv_freq(), entry.at("inv_freq").get<std::vector<double>>(), near));
    }
  }
}

}  // namespace
}  // namespace rotary::testing
