// SPDX-License-Identifier: Apache-2.0
// Every config of peer_spectra.json as Transformers and as mlx-lm compute it, and every class of Transformers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <rotary/model.hpp>

#include "support/json.hpp"

namespace rotary {
namespace {

using nlohmann::json;

json entries() { return testing::data_json("peer_spectra.json").at("entries"); }

/// fp32 numbers against doubles.
bool near(double ours, double theirs) { return std::abs(ours - theirs) <= 1e-6 * std::abs(theirs); }

bool same(const Spectrum& ours, const json& theirs) {
  const auto inv_freq = theirs.at("inv_freq").get<std::vector<double>>();
  return near(ours.attention_factor(), theirs.at("attention_factor")) &&
         std::ranges::equal(ours.inv_freq(), inv_freq, near);
}

class PeerSpectra : public ::testing::TestWithParam<Peer> {};

TEST_P(PeerSpectra, EqualThePeersOwn) {
  const std::string_view who = name(GetParam());
  int compared = 0, otherwise = 0;
  for (const json& entry : entries()) {
    const json& theirs = entry.at(std::string(who));
    if (theirs.is_null()) continue;
    SCOPED_TRACE(entry.at("name").get<std::string>() + " " + entry.at("length").dump());
    ModelOptions options;
    if (entry.at("length").is_number()) options.length = entry.at("length").get<std::int64_t>();
    const auto model = Model::from_config(entry.at("config").dump(), "config", options);
    ASSERT_TRUE(model) << model.status().message();
    const auto as_peer = model->as(GetParam());
    ASSERT_TRUE(as_peer) << as_peer.status().message();
    const auto* rope = entry.at("layer_type").is_null() ? "default" : "global";
    EXPECT_TRUE(same(as_peer->find_rope(rope)->rope.spectrum(), theirs)) << theirs.at("attention_factor");
    ++compared;
    if (!same(model->find_rope(rope)->rope.spectrum(), theirs)) ++otherwise;
  }
  EXPECT_GE(compared, 19);
  EXPECT_GE(otherwise, GetParam() == Peer::mlx ? 10 : 2) << "a comparison that tells nothing";
}
INSTANTIATE_TEST_SUITE_P(Live, PeerSpectra, ::testing::Values(Peer::transformers, Peer::mlx),
                         [](const auto& test) { return std::string(name(test.param)); });

/// A fixture of one peer's own numbers: entries of a config, a length, a rope's name, A and frequencies.
struct OwnSpectra {
  Peer peer;
  std::string file;
  std::size_t entries;
  int otherwise;  ///< at least so many, which the file's plain reading does not give
};

class PeerOwnSpectra : public ::testing::TestWithParam<OwnSpectra> {};

// By plain YaRN vLLM has Transformers' A, under latent attention its own; LongRoPE's list goes by the maximum. SGLang
// hands no attention_factor on, and its LongRoPE goes by the positions.
TEST_P(PeerOwnSpectra, Equal) {
  const json entries = testing::data_json(GetParam().file).at("entries");
  EXPECT_EQ(entries.size(), GetParam().entries);
  int otherwise = 0;
  for (const json& entry : entries) {
    SCOPED_TRACE(entry.at("name").get<std::string>() + " " + entry.at("length").dump());
    ModelOptions options;
    if (entry.at("length").is_number()) options.length = entry.at("length").get<std::int64_t>();
    const auto model = Model::from_config(entry.at("config").dump(), "config", options);
    ASSERT_TRUE(model) << model.status().message();
    const auto theirs = model->as(GetParam().peer);
    ASSERT_TRUE(theirs) << theirs.status().message();
    const std::string rope = entry.value("rope", "default");
    const Spectrum& spectrum = theirs->find_rope(rope)->rope.spectrum();
    EXPECT_TRUE(same(spectrum, entry)) << spectrum.attention_factor() << " " << entry.at("attention_factor");
    if (!same(model->find_rope(rope)->rope.spectrum(), entry)) ++otherwise;
  }
  EXPECT_GE(otherwise, GetParam().otherwise) << "a comparison that tells nothing";
}
INSTANTIATE_TEST_SUITE_P(Live, PeerOwnSpectra,
                         ::testing::Values(OwnSpectra{Peer::vllm, "vllm_spectra.json", 20, 5},
                                           OwnSpectra{Peer::sglang, "sglang_spectra.json", 23, 7}),
                         [](const auto& test) { return std::string(name(test.param.peer)); });

/// Theirs by layer type is ours by name.
const ModelRope* find_rope(const Model& model, const std::string& layer_type) {
  if (layer_type == "full_attention" && model.find_rope("global") != nullptr)
    return model.find_rope("global");
  if (layer_type == "sliding_attention" && model.find_rope("local") != nullptr)
    return model.find_rope("local");
  if (const ModelRope* rope = model.find_rope(layer_type)) return rope;
  return model.find_rope("default");
}

/// An entry of `numbers`: [A, pairs, [[pair, frequency]...]].
bool same_numbers(const Spectrum& ours, const json& theirs) {
  return near(ours.attention_factor(), theirs[0]) && ours.pairs() == theirs[1].get<std::int64_t>() &&
         std::ranges::all_of(theirs[2], [&](const json& pair) {
           return near(ours.inv_freq()[pair[0].get<std::size_t>()], pair[1]);
         });
}

std::string words(const Spectrum& s, const json& theirs) {
  std::string text =
      "ours A " + json(s.attention_factor()).dump() + ", " + std::to_string(s.pairs()) + " pairs:";
  for (const json& pair : theirs[2]) {
    const auto i = pair[0].get<std::size_t>();
    text += " " + (i < s.inv_freq().size() ? json(s.inv_freq()[i]).dump() : "-");
  }
  return text + "; theirs " + theirs.dump();
}

/// Files that the library does not read, since they say two things at once, or one thing of two ropes.
bool is_doubtful(const Result<Model>& model) {
  const std::string why = model ? "" : model.status().message();
  return why.ends_with(": must agree") || why.ends_with("; must stand in rope_parameters") ||
         why.find("for which of the two ropes?") != why.npos;
}

// Every text model of Transformers with every variation: what its classes compute, and what they cannot run.
TEST(TransformersMatrix, EveryClassAndEveryVariation) {
  const json matrix = testing::data_json("transformers_matrix.json");
  int compared = 0, refused = 0, otherwise = 0;
  for (const auto& [type, entry] : matrix.at("models").items()) {
    for (const auto& [variation, run] : entry.at("runs").items()) {
      SCOPED_TRACE(type + " " + variation);
      json config = matrix.at("bases").at(entry.at("base").get<std::string>());
      config.update(matrix.at("variations").at(variation));
      for (auto key = config.begin(); key != config.end();) key = key->is_null() ? config.erase(key) : ++key;
      config["model_type"] = type;
      // Theirs are the numbers of the rotary modules, which these two have only where a config says so.
      if (type == "granitemoehybrid") config["position_embedding_type"] = "rope";
      if (type == "esm") config["position_embedding_type"] = "rotary";
      ModelOptions options;
      if (matrix.at("lengths").contains(variation)) options.length = matrix.at("lengths").at(variation);
      const auto model = Model::from_config(config.dump(), "config", options);
      const auto theirs = model ? model->as(Peer::transformers) : model;
      // Some that have one rope pass over entries by layer type instead of failing: no reading of such a file.
      const bool not_found = run.contains("") && variation.starts_with("nested");
      if (run.contains("error") || not_found || is_doubtful(model)) {
        EXPECT_FALSE(theirs) << "theirs: " << run;
        ++refused;
        continue;
      }
      if (!theirs) {
        ADD_FAILURE() << theirs.status().message();
        continue;
      }
      for (const auto& [layer_type, index] : run.items()) {
        const json& numbers = matrix.at("numbers").at(index.get<std::size_t>());
        const ModelRope* rope = find_rope(*theirs, layer_type);
        if (rope == nullptr) {
          ADD_FAILURE() << "no rope " << layer_type;
          continue;
        }
        EXPECT_TRUE(same_numbers(rope->rope.spectrum(), numbers))
            << layer_type << " " << words(rope->rope.spectrum(), numbers);
        if (!same_numbers(find_rope(*model, layer_type)->rope.spectrum(), numbers)) ++otherwise;
        ++compared;
      }
    }
  }
  EXPECT_EQ(matrix.at("models").size(), 175U);
  EXPECT_GE(compared, 5300);
  EXPECT_GE(refused, 1150);
  EXPECT_GE(otherwise, 1100) << "a comparison that tells nothing";
  RecordProperty("compared", compared);
  RecordProperty("refused", refused);
  RecordProperty("otherwise", otherwise);
}

}  // namespace
}  // namespace rotary
