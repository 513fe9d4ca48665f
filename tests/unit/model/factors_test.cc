// SPDX-License-Identifier: Apache-2.0
// Descriptions of more than one rope, or of less than one.
#include "model_checks.hpp"

namespace rotary::testing {
namespace {

TEST(Config, FopeIsNamed) {
  EXPECT_FAILS(Model::from_config(llama(R"(, "rope_scaling": {"rope_type": "default", "use_fope": true})")),
               StatusCode::unsupported, "rope_scaling.use_fope: FoPE mixes cos and sin by matrices");
  EXPECT_SUCCEEDS(
      Model::from_config(llama(R"(, "rope_scaling": {"rope_type": "default", "use_fope": false})")));
}

TEST(Config, AListOfFactorsIsARopeEach) {
  const auto with = [](const std::string& factors) {
    return Model::from_config(llama(R"(, "rope_scaling": {"type": "linear", "factor": )" + factors + "}"));
  };
  const Model model = with("[1, 2.5, 4]").value();
  ASSERT_EQ(model.ropes().size(), 3U);
  EXPECT_EQ(model.rope_for_layer(1)->spectrum().inv_freq()[0], 1) << "the layers take the first";
  EXPECT_EQ(model.find_rope("factor 2.5")->rope.spectrum().inv_freq()[0], 0.4);
  EXPECT_EQ(model.find_rope("factor 4")->rope.spectrum().inv_freq()[0], 0.25);
  EXPECT_EQ(source_of(model, "factor", 0), "rope_scaling.factor[0]");
  EXPECT_EQ(source_of(model, "factor", 2), "rope_scaling.factor[2]");
  EXPECT_FAILS(with("[]"), StatusCode::malformed, "rope_scaling.factor: 0 factors, must be from 1 to 16");
  EXPECT_FAILS(with("[1, 0.5]"), StatusCode::malformed,
               "rope factor 0.5: linear: factor 0.5: must be finite and at least 1");
  EXPECT_FAILS(with("[1, true]"), StatusCode::malformed, "rope_scaling.factor: expected a list of numbers");
}

}  // namespace
}  // namespace rotary::testing
