// SPDX-License-Identifier: Apache-2.0
// Reports about partial rotation as a model's own description asks for it.
#include <rotary/model.hpp>

#include "reports.hpp"

namespace rotary::testing {
namespace {

Result<Model> read(const std::string& keys) {
  return Model::from_config(R"({"num_hidden_layers": 1, "num_attention_heads": 1, )" + keys + "}");
}
Rope rope_of(const std::string& keys) { return read(keys).value().rope_for_layer(0).value(); }

TEST(Report98, HeadDimOfTheConfigWinsOverHiddenByHeads) {
  const Model model =
      Model::from_config(R"({"model_type": "mistral", "num_hidden_layers": 1, "hidden_size": 5120,
                                             "num_attention_heads": 32, "head_dim": 128})")
          .value();
  EXPECT_EQ(model.rope_for_layer(0).value().pairs(), 64);
}

TEST(Report101, AFactorThatGivesAnOddWidthIsRefusedAndZeroIsANoOp) {
  EXPECT_FAILS(read(R"("model_type": "llama", "head_dim": 10, "partial_rotary_factor": 0.3)"),
               StatusCode::malformed,
               "rotary_dim 3 (partial_rotary_factor 0.3 of head_dim 10): must be even");
  const Rope rope = rope_of(R"("model_type": "llama", "head_dim": 10, "partial_rotary_factor": 0)");
  const Tensor q = random_tensor(dense(DType::f32, 1, 1, 1, 10), 1);
  EXPECT_TRUE(same_bits(turned(rope, at(999), q), q));
}

TEST(Report102, ThePartialFactorReachesTheFrequencies) {
  for (const auto& [factor, rotary_dim] :
       {std::pair("1", 128), std::pair("0.5", 64), std::pair("0.25", 32)}) {
    const Rope rope = rope_of(std::string(R"("model_type": "llama", "head_dim": 128, "rope_theta": 10000,
                                             "partial_rotary_factor": )") +
                              factor);
    ASSERT_EQ(rope.rotary_dim(), rotary_dim);
    for (std::int64_t i = 0; i < rotary_dim / 2; ++i) {
      const double expected = std::pow(10000.0, -2.0 * static_cast<double>(i) / rotary_dim);
      EXPECT_NEAR(rope.spectrum().inv_freq()[static_cast<std::size_t>(i)], expected, 1e-15);
    }
  }
}

TEST(Report103, TheDefaultOfAFamilyAppliesWhereTheKeyIsAbsent) {
  EXPECT_EQ(rope_of(R"("model_type": "glm", "head_dim": 128)").rotary_dim(), 64);
}

TEST(Report109, WidthsOfPhiAndGptJ) {
  const auto widths = [](const std::string& keys) {
    const Rope rope = rope_of(keys);
    return std::pair(rope.head_dim(), rope.rotary_dim());
  };
  EXPECT_EQ(widths(R"("model_type": "phi", "head_dim": 80, "partial_rotary_factor": 0.4)"),
            std::pair(80L, 32L));
  EXPECT_EQ(widths(R"("model_type": "phi", "head_dim": 64, "partial_rotary_factor": 0.5)"),
            std::pair(64L, 32L));
  EXPECT_EQ(widths(R"("model_type": "gptj", "n_embd": 256, "n_head": 1, "rotary_dim": 64)"),
            std::pair(256L, 64L));
}

TEST(Report110, TheWidthIsTheFilesNotTheFamilys) {
  for (const auto& [factor, rotary_dim] : {std::pair("0.5", 64), std::pair("1.0", 128)}) {
    const std::string keys = R"("model_type": "glm", "head_dim": 128, "partial_rotary_factor": )";
    EXPECT_EQ(rope_of(keys + factor).rotary_dim(), rotary_dim);
  }
}

}  // namespace
}  // namespace rotary::testing
