// SPDX-License-Identifier: Apache-2.0
// vision_towers.safetensors: image and video encoders of Transformers. Each is a spectrum and a grid; two of them
// rotate lanes that no single window covers.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <rotary/grids.hpp>
#include <rotary/model.hpp>

#include "support/rows.hpp"

namespace rotary {
namespace {

using testing::Fixture;
using testing::Tensor;
using testing::worst_of_rows;
using Dims = std::vector<std::int64_t>;

const Fixture& towers() {
  static const Fixture fixture("vision_towers.safetensors");
  return fixture;
}
Positions grid(std::int64_t height, std::int64_t width) {
  return Positions::grid({Positions::range(0, height), Positions::range(0, width)}).value();
}

TEST(VisionTower, Qwen2VlHoldsPatchesInBlocks) {
  const auto frames =
      Positions::grid({Positions::range(0, 2), Positions::range(0, 4), Positions::range(0, 6)}).value();
  const auto in_blocks = frames.take(block_order(2, 4, 6, 2).value()).value().select_axes({1, 2}).value();
  const auto spectrum = Spectrum::axial(Dims{40, 40}, 10000).value();
  EXPECT_LT(worst_of_rows(spectrum, in_blocks, towers(), "qwen2_vl"), 1);
  EXPECT_GT(worst_of_rows(spectrum, frames.select_axes({1, 2}).value(), towers(), "qwen2_vl"), 1000);
}

TEST(VisionTower, KimiK25TakesColumnsAndRowsInTurns) {
  const auto spectrum = Spectrum::axial(Dims{32, 32}, 10000, AxisOrder::interleaved).value();
  EXPECT_LT(worst_of_rows(spectrum, grid(3, 5).select_axes({1, 0}).value(), towers(), "kimi_k25"), 1);
  EXPECT_GT(worst_of_rows(spectrum, grid(3, 5), towers(), "kimi_k25"), 1000);
}

TEST(VisionTower, PixtralSharesOneScheduleByOddAndEven) {
  // Rows have the frequencies 0, 2, 4, ... of a schedule of 64 lanes: a schedule of 32. Columns the odd ones,
  // slower by base^(2/64).
  const auto rows = Spectrum::make({.rotary_dim = 32, .base = 10000}).value();
  const auto columns =
      Spectrum::make(
          {.rotary_dim = 32, .base = 10000, .scaling = scaling::Linear{.factor = std::pow(10000, 2.0 / 64)}})
          .value();
  EXPECT_LT(worst_of_rows(Spectrum::join(std::array{rows, columns}).value(), grid(3, 5), towers(), "pixtral"),
            1);
}

TEST(VisionTower, Dinov3StandsAtPatchCentres) {
  const auto half = Spectrum::make({.rotary_dim = 32, .base = 100, .scaling = scaling::Dinov3()}).value();
  const auto centres = Positions::grid({patch_centres(3).value(), patch_centres(5).value()}).value();
  EXPECT_LT(worst_of_rows(Spectrum::join(std::array{half, half}).value(), centres, towers(), "dinov3"), 1);
}

TEST(VisionTower, Llama4CountsFromOneAndItsClassTokenStandsAtZero) {
  const auto patches = Positions::grid({Positions::range(1, 5), Positions::range(1, 5)}).value();
  const auto places = patches.select_axes({1, 0}).value().padded(0, 1).value();
  EXPECT_LT(worst_of_rows(Spectrum::axial(Dims{32, 32}, 10000).value(), places, towers(), "llama4"), 1);
}

TEST(VisionTower, Gemma4IsTwoRopesBesideOneAnother) {
  const Tensor x = towers().heads("gemma4.x", Layout::bthd),
               expected = towers().heads("gemma4.out", Layout::bthd);
  Tensor out = x;
  for (const std::int64_t axis : {0, 1}) {
    const Rope rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = 32, .base = 100}).value(),
                                  .head_dim = 64,
                                  .rotary_offset = 32 * axis})
                          .value();
    const Positions along = grid(3, 5).select_axes({axis}).value();
    rope.rotate(rope.angles(along).value(), out.heads()).value();
    EXPECT_LT(worst_of_pair(rope, out, expected), 1e-6);
  }
}

TEST(VisionTower, Sam2AndSam3TakeColumnsBeforeRows) {
  const auto memory = Spectrum::axial(Dims{128, 128}, 10000).value();
  EXPECT_LT(worst_of_rows(memory, grid(4, 6).select_axes({1, 0}).value(), towers(), "sam2"), 1);
  EXPECT_GT(worst_of_rows(memory, grid(4, 6), towers(), "sam2"), 1000);
  const auto along = Positions::spaced(0, 0.75, 4).value();  // a window of 3 patches, stretched over 4
  const auto patches = Positions::grid({along, along}).value().select_axes({1, 0}).value();
  EXPECT_LT(worst_of_rows(Spectrum::axial(Dims{32, 32}, 10000).value(), patches, towers(), "sam3"), 1);
}

TEST(VisionTower, MusicFlamingoTurnsByWindowAndFrameTimesTheTimeStamp) {
  const auto model = Model::from_preset("music-flamingo").value();
  const Rope& rope = model.find_rope("time")->rope;
  EXPECT_EQ(rope.rotary_dim(), 512);
  EXPECT_EQ(rope.head_dim(), 1280);
  EXPECT_EQ(rope.pairing(), Pairing::interleaved);
  constexpr double pi = std::numbers::pi, most = 1200;  // max_position_embeddings, which is the base
  std::vector<double> window, frame;
  for (const double w : {1, 2}) {
    for (const double i : {0, 1, 374, 749}) {
      const double angle = -2 * pi * (30 * w + 0.04 * i);
      window.push_back(angle * w / most);
      frame.push_back(angle * 2 * pi * i / most);
    }
  }
  window.insert(window.end(), frame.begin(), frame.end());
  const auto places = Positions::ids(std::span<const double>(window), 2, 1, 8).value();
  EXPECT_LT(worst_of_rows(rope.spectrum(), places, towers(), "musicflamingo"), 1);
}

TEST(VisionTower, VJepa2IsTheEvenLanesOfOneRopeAndTheOddLanesOfAnother) {
  // Neighbouring lanes 2i and 2i + 1 turn together, but by the frequencies 2i and 2i + 1 (modulo the pairs of an
  // axis): each lane is right in a rope of its own frequency.
  const Tensor x = towers().heads("vjepa2.x", Layout::bhtd),
               expected = towers().heads("vjepa2.out", Layout::bhtd);
  const auto schedule = Spectrum::make({.rotary_dim = 20, .base = 10000}).value();
  const Positions places =
      Positions::grid({Positions::range(0, 2), Positions::range(0, 3), Positions::range(0, 3)}).value();
  Tensor out = x;
  for (const std::size_t odd : {0U, 1U}) {
    std::vector<double> inv_freq;
    for (std::size_t i = 0; i < 10; ++i) inv_freq.push_back(schedule.inv_freq()[(2 * i + odd) % 10]);
    const auto one_axis = Spectrum::from_inv_freq(inv_freq).value();
    const Rope rope = Rope::make({.spectrum = Spectrum::join(std::vector(3, one_axis)).value(),
                                  .pairing = Pairing::interleaved,
                                  .head_dim = 64})
                          .value();
    const Tensor turned = testing::turned(rope, places, x);
    testing::for_each_head(x.shape, [&](testing::HeadIndex h) {
      for (auto lane = static_cast<std::int64_t>(odd); lane < 60; lane += 2) {
        EXPECT_NEAR(testing::load(DType::f32, turned.at(h, lane)),
                    testing::load(DType::f32, expected.at(h, lane)), 3e-6);
      }
      for (std::int64_t lane = 60; lane < 64; ++lane) {
        EXPECT_EQ(testing::load(DType::f32, turned.at(h, lane)),
                  testing::load(DType::f32, expected.at(h, lane)));
      }
    });
  }
}

}  // namespace
}  // namespace rotary
