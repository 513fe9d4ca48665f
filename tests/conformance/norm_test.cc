// SPDX-License-Identifier: Apache-2.0
// RMS norm and rotation in one call, against Transformers' own modules of Qwen 3 and Gemma 3 in f32.
#include <gtest/gtest.h>

#include <rotary/rope.hpp>
#include <rotary/store.hpp>

#include "support/fixture.hpp"

namespace rotary::testing {
namespace {

struct Model {
  std::string name;
  RmsNorm::Weight kind;
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

class Norm : public ::testing::TestWithParam<Model> {
 protected:
  /// The distance to the model's own q or k, in lengths of a pair. `type` is what q, k and the weights are in.
  double worst(const std::string& type, const std::string& x, RmsNorm::Weight kind) const {
    const std::string model = "norm." + GetParam().name;
    const auto p = file.parameters(model);
    const auto cos = file.numbers<float>(model + ".cos"), sin = file.numbers<float>(model + ".sin");
    const auto width = p["head_dim"].get<std::int64_t>(),
               rows = static_cast<std::int64_t>(cos.size()) / width;
    const Rope rope =
        Rope::from_table({.cos = cos, .sin = sin, .rows = rows, .width = width, .rotary_dim = width}, {})
            .value();
    const Angles angles = rope.angles(Positions::range(0, rows)).value();
    const std::string prefix = model + '.' + type + '.' + x;
    const Tensor in = file.heads(prefix, Layout::bthd), want = file.heads(prefix + "_out", Layout::bhtd);
    Tensor out(want.shape);
    const auto eps = p["eps"].get<float>();
    const auto fuse = [&](const RmsNorm& norm) {
      EXPECT_TRUE(rope.rotate(angles, {in.heads(), out.heads(), {.norm = norm}}).ok());
    };
    if (type == "float32") {
      fuse(RmsNorm(file.numbers<float>(prefix + "_weight").data(), eps, kind));
    } else {
      fuse(RmsNorm(file.numbers<bf16>(prefix + "_weight").data(), eps, kind));
    }
    return worst_of_pair(rope, out, want);
  }
  const Fixture file{"fused.safetensors"};
};

INSTANTIATE_TEST_SUITE_P(Models, Norm,
                         ::testing::Values(Model{"qwen3", RmsNorm::as_given},
                                           Model{"gemma3", RmsNorm::one_plus_weight}),
                         [](const auto& each) { return each.param.name; });

/// They add the squares in another order and round each product.
TEST_P(Norm, ThenRotationEqualsTransformers) {
  for (const char* type : {"float32", "bfloat16"}) {
    for (const char* x : {"q", "k"}) EXPECT_LT(worst(type, x, GetParam().kind), 0x1p-21) << type << ' ' << x;
  }
}

TEST_P(Norm, WithTheOtherModelsWeightsMisses) {
  const auto other = GetParam().kind == RmsNorm::as_given ? RmsNorm::one_plus_weight : RmsNorm::as_given;
  EXPECT_GT(worst("float32", "q", other), 0.1);
}

}  // namespace
}  // namespace rotary::testing
