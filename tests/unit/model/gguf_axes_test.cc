// SPDX-License-Identifier: Apache-2.0
// rope.dimension_sections of a GGUF: whose they are, who needs them, and who looks at none.
#include <gtest/gtest.h>

#include <rotary/model.hpp>
#include <vector>

#include "gguf_writer.hpp"
#include "model_checks.hpp"

namespace rotary {
namespace {

using testing::GgufWriter;
using testing::llama_gguf;
using testing::source_of;

TEST(GgufAxes, SectionsOfMRope) {
  const auto model = GgufWriter("qwen2vl")
                         .set("attention.key_length", 128U)
                         .set("block_count", 1U)
                         .set("rope.freq_base", 1e6F)
                         .set("rope.dimension_sections", std::vector<std::int32_t>{16, 24, 24, 0})
                         .load()
                         .value();
  EXPECT_EQ(model.ropes()[0].rope.spectrum().axes(), 3);
  const auto file = [](const std::string& architecture, const std::vector<std::int32_t>& sections) {
    return std::move(GgufWriter(architecture)
                         .set("attention.key_length", 128U)
                         .set("rope.dimension_count", 64U)
                         .set("block_count", 1U)
                         .set("rope.dimension_sections", sections));
  };
  const auto in_turns = file("qwen35", {11, 11, 10, 0}).load().value();
  EXPECT_EQ(in_turns.ropes()[0].rope.spectrum().axis()[31], 1);
  EXPECT_EQ(source_of(in_turns, "axis_order"), "default of qwen35");
  // GLM 4 turns as interleaved, but in halves where it has several axes.
  EXPECT_EQ(file("glm4", {8, 12, 12, 0}).load().value().ropes()[0].rope.pairing(), Pairing::half_split);
  EXPECT_EQ(file("glm4", {}).load().value().ropes()[0].rope.pairing(), Pairing::interleaved);
  // Divisors change frequencies, not axes.
  const auto divided = file("qwen2vl", {8, 12, 12, 0}).divisors(std::vector<float>(32, 2.0F)).load().value();
  EXPECT_EQ(divided.ropes()[0].rope.spectrum().axes(), 3);
  EXPECT_EQ(divided.ropes()[0].rope.spectrum().inv_freq()[0], 0.5);
}

TEST(GgufAxes, SectionsOfArchitecturesThatHaveOneAxis) {
  const auto model =
      llama_gguf().set("rope.dimension_sections", std::vector<std::int32_t>{16, 24, 24, 0}).load().value();
  EXPECT_EQ(model.ropes()[0].rope.pairing(), Pairing::interleaved);
  EXPECT_EQ(model.ropes()[0].rope.spectrum().axes(), 1);
  ASSERT_EQ(model.warnings().size(), 1U);
  EXPECT_EQ(model.warnings()[0], "llama.rope.dimension_sections: not read: in llama.cpp llama has one axis");
}

TEST(GgufAxes, ArchitecturesOfSeveralAxesNeedTheirSections) {
  const auto file = [](const std::string& architecture) {
    return std::move(GgufWriter(architecture).set("attention.key_length", 128U).set("block_count", 1U));
  };
  EXPECT_FAILS(
      file("qwen2vl").load(), StatusCode::malformed,
      "qwen2vl.rope.dimension_sections: expected the pairs of each axis, got no such key, and qwen2vl "
      "needs them");
  for (const auto& none : {std::vector<std::int32_t>{}, std::vector<std::int32_t>{0, 0, 0, 0}}) {
    EXPECT_FAILS(file("qwen2vl").set("rope.dimension_sections", none).load(), StatusCode::malformed,
                 "qwen2vl.rope.dimension_sections: expected the pairs of each axis, got none");
  }
  // llama.cpp looks at the first two of GLM 4's.
  const auto one = file("glm4").set("rope.dimension_sections", std::vector<std::int32_t>{64, 0, 0, 0}).load();
  EXPECT_EQ(one->ropes()[0].rope.pairing(), Pairing::interleaved);
}

}  // namespace
}  // namespace rotary
