// SPDX-License-Identifier: Apache-2.0
// Bases where a class of Transformers has dictionaries or bases of its own.
#include <gtest/gtest.h>

#include <rotary/model.hpp>

#include "model_checks.hpp"

namespace rotary {
namespace {

using testing::base_of;
using testing::load;

TEST(Bases, ADictionaryWithoutABaseIsNotTheClassesOwn) {
  // Transformers' default_theta; the bases 1e6 and 5e5 stand in the dictionaries that a stated one replaces.
  for (const char* type : {"ministral3", "higgs_audio_v2"}) {
    for (const char* dictionary :
         {R"({"rope_type": "default"})", "{}", R"({"rope_type": "linear", "factor": 2})"}) {
      const auto model = load(R"({"model_type": ")" + std::string(type) +
                              R"(", "num_hidden_layers": 1, "rope_parameters": )" + dictionary + "}");
      EXPECT_EQ(model.ropes()[0].rope.spectrum().base(), 10000) << type << dictionary;
    }
  }
}

TEST(Bases, ABaseBesideAClassesOwnDictionary) {
  EXPECT_FAILS(
      Model::from_config(R"({"model_type": "ministral3", "num_hidden_layers": 1, "rope_theta": 50000})"),
      StatusCode::malformed,
      "rope_theta 50000: Transformers' class of ministral3 passes over it where a file has no "
      "rope_parameters, and takes its own, of base 1000000; must stand in rope_parameters");
  EXPECT_SUCCEEDS(
      Model::from_config(R"({"model_type": "ministral3", "num_hidden_layers": 1, "rope_theta": 1e6})"));
}

TEST(Bases, OneBaseForBothRopesOfStep3p5) {
  const std::string layers = R"({"model_type": "step3p5", "num_hidden_layers": 2,
      "layer_types": ["sliding_attention", "full_attention"], "rope_theta": )";
  const auto flat = load(layers + "5000}");
  EXPECT_EQ(base_of(flat, "local"), 5000);
  EXPECT_EQ(base_of(flat, "global"), 5000);
  // Entries of layer types have a base of their own, or the class's, but never the one beside them.
  const auto nested = load(layers + R"(333, "rope_parameters": {"full_attention": {"rope_type": "default"},
      "sliding_attention": {"rope_type": "default", "rope_theta": 77}}})");
  EXPECT_EQ(base_of(nested, "local"), 77);
  EXPECT_EQ(base_of(nested, "global"), 10000);
  ASSERT_EQ(nested.warnings().size(), 2U);
  EXPECT_EQ(
      nested.warnings()[1],
      "rope_theta 333: not read for rope_parameters.full_attention, whose base is 10000, as in Transformers");
}

}  // namespace
}  // namespace rotary
