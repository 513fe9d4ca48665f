// SPDX-License-Identifier: Apache-2.0
// Every config of peer_spectra.json as Transformers and as mlx-lm compute it.
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

}  // namespace
}  // namespace rotary
