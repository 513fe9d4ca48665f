// SPDX-License-Identifier: Apache-2.0
// Meta's complex form (precompute_freqs_cis and apply_rotary_emb of LLaMA), computed in float and rounded
// once to the type of the input; and PaLM's rotate_half with its cache. Errors are of the length of the pair.
#include <gtest/gtest.h>

#include "support/fixture.hpp"

namespace rotary::testing {
namespace {

const Fixture& file() {
  static const Fixture fixture("classic.safetensors");
  return fixture;
}

Rope rope_of(const std::string& name, AnglePolicy policy) {
  const auto parameters = file().parameters(name);
  const Spectrum spectrum = Spectrum::make({.rotary_dim = parameters.at("rotary_dim").get<std::int64_t>(),
                                            .base = parameters.at("base").get<double>()})
                                .value();
  return Rope::make({.spectrum = spectrum,
                     .pairing = *pairing_from_name(parameters.at("pairing").get<std::string>()),
                     .policy = policy})
      .value();
}

double worst(const std::string& name, const Rope& rope, const char* in, const char* out) {
  const auto layout = *layout_from_name(file().parameters(name).at("layout").get<std::string>());
  const Tensor x = file().heads(name + in, layout), expected = file().heads(name + out, layout);
  const auto& shape = file().shape(name + ".positions");
  const Positions positions = Positions::ids(file().numbers<std::int64_t>(name + ".positions"),
                                             shape.size() == 1 ? 1 : shape[0], shape.back())
                                  .value();
  return worst_of_pair(rope, turned(rope, positions, x), expected);
}

struct Case {
  std::string name;
  double fp32, exact;
};

// exact: fp32 angles at position p are off by up to p 2^-24, and by as much again for the inverse frequency.
const Case llama[] = {
    {"llama.float32", 3e-7, 6e-4},
    {"llama.late", 3e-7, 6e-4},
    {"llama.float16", 0x1p-10, 0x1p-10 + 6e-4},
    {"llama.bfloat16", 0x1p-7, 0x1p-7 + 6e-4},
    {"llama.late_bfloat16", 0x1p-7, 0x1p-7 + 1.2e-2},
};

TEST(Meta, ComplexFormIsInterleaved) {
  for (const Case& c : llama) {
    for (const auto& [in, out] : {std::pair(".xq", ".xq_out"), std::pair(".xk", ".xk_out")}) {
      EXPECT_LE(worst(c.name, rope_of(c.name, AnglePolicy::fp32), in, out), c.fp32) << c.name << in;
      EXPECT_LE(worst(c.name, rope_of(c.name, AnglePolicy::exact), in, out), c.exact) << c.name << in;
    }
  }
}

TEST(Meta, WrongPairingAndDirectionMiss) {
  for (const Case& c : llama) {
    const Rope right = rope_of(c.name, AnglePolicy::fp32);
    const Rope half = Rope::make({.spectrum = right.spectrum()}).value();
    EXPECT_GT(worst(c.name, half, ".xq", ".xq_out"), 0.1) << c.name;
    EXPECT_GT(worst(c.name, right.inverse(), ".xq", ".xq_out"), 0.1) << c.name;
  }
}

TEST(Palm, RotateHalfIsHalfSplit) {
  for (const std::string name : {"palm.inside", "palm.grown", "palm.grown_bfloat16"}) {
    const double rounding = name == "palm.grown_bfloat16" ? 0x1p-7 : 3e-7;
    for (const auto& [in, out] : {std::pair(".q", ".q_out"), std::pair(".k", ".k_out")}) {
      EXPECT_LE(worst(name, rope_of(name, AnglePolicy::fp32), in, out), rounding) << name << in;
      EXPECT_LE(worst(name, rope_of(name, AnglePolicy::exact), in, out), rounding + 6e-4) << name << in;
    }
  }
}

}  // namespace
}  // namespace rotary::testing
