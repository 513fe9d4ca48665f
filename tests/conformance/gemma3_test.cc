// SPDX-License-Identifier: Apache-2.0
// What a real Gemma 3 270M did to its own queries and keys, in a local and in a global layer.
#include <gtest/gtest.h>

#include <rotary/model.hpp>

#include "support/fixture.hpp"

namespace rotary::testing {
namespace {

struct Recording {
  Tensor q, k, q_rotated, k_rotated;
  Positions positions;
  std::int64_t layer;
  double base;
};

Recording read(const std::string& which) {
  const Fixture file("gemma3_270m_" + which + ".safetensors");
  const auto ids = file.numbers<std::int64_t>("positions");
  EXPECT_GT(ids.back(), 2000);
  return {file.heads("q", Layout::bhtd),         file.heads("k", Layout::bhtd),
          file.heads("q_rotated", Layout::bhtd), file.heads("k_rotated", Layout::bhtd),
          Positions::ids(ids).value(),           file.parameters("layer").get<std::int64_t>(),
          file.parameters("base").get<double>()};
}

double worst(const Rope& rope, const Recording& r) {
  Tensor q = r.q, k = r.k;
  const Angles angles = rope.angles(r.positions).value();
  rope.rotate(angles, q.heads(), k.heads()).value();
  return std::max(worst_of_pair(rope, q, r.q_rotated), worst_of_pair(rope, k, r.k_rotated));
}

Rope by_hand(double base, AnglePolicy policy = AnglePolicy::fp32, Pairing pairing = Pairing::half_split) {
  const Spectrum spectrum = Spectrum::make({.rotary_dim = 256, .base = base}).value();
  return Rope::make({.spectrum = spectrum, .pairing = pairing, .policy = policy}).value();
}

/// As the model's own config describes the layer.
Rope by_config(const Recording& r, AnglePolicy policy) {
  const std::string path = testing::data_path("gemma3_270m_config.json");
  return Model::from_path(path, {.policy = policy}).value().rope_for_layer(r.layer).value();
}

TEST(Gemma3, TheConfigDescribesBothLayers) {
  for (const char* which : {"local", "global"}) {
    const Recording r = read(which);
    EXPECT_EQ(by_config(r, AnglePolicy::fp32), by_hand(r.base)) << which;
  }
}

// The peer rounds cos, sin, both products and the sum; we round one product less.
TEST(Gemma3, Fp32PolicyIsNearlyTheirBits) {
  for (const char* which : {"local", "global"}) {
    const Recording r = read(which);
    EXPECT_LT(worst(by_config(r, AnglePolicy::fp32), r), 0x1p-22) << which;
  }
}

TEST(Gemma3, ExactPolicyIsAsCloseAsTheirAnglesAre) {
  for (const char* which : {"local", "global"}) {
    const Recording r = read(which);
    EXPECT_LT(worst(by_config(r, AnglePolicy::exact), r), 2e-4) << which;
  }
}

TEST(Gemma3, WrongPairingBaseAndDirectionMiss) {
  for (const char* which : {"local", "global"}) {
    const Recording r = read(which);
    EXPECT_GT(worst(by_hand(r.base, AnglePolicy::fp32, Pairing::interleaved), r), 0.1) << which;
    EXPECT_GT(worst(by_hand(r.base == 10000 ? 1e6 : 10000), r), 0.1) << which;
    EXPECT_GT(worst(by_hand(r.base).inverse(), r), 0.1) << which;
  }
}

}  // namespace
}  // namespace rotary::testing
