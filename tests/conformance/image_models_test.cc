// SPDX-License-Identifier: Apache-2.0
// image_models.safetensors: image and video generators of diffusers. Each is a spectrum and a table of positions.
#include <gtest/gtest.h>

#include <array>
#include <rotary/grids.hpp>
#include <rotary/model.hpp>
#include <tuple>

#include "support/rows.hpp"

namespace rotary {
namespace {

using testing::Fixture;
using testing::worst_of_rows;
using Dims = std::vector<std::int64_t>;

const Fixture& models() {
  static const Fixture fixture("image_models.safetensors");
  return fixture;
}
Positions upto(std::int64_t cells) { return Positions::range(0, cells); }
Positions at(std::int64_t place) { return Positions::range(place, place + 1); }
/// `tokens` text tokens that stand at 0 on every axis but one.
Positions text(std::int64_t axes, std::int64_t axis, const Positions& along) {
  std::vector<Positions> each(static_cast<std::size_t>(axes),
                              Positions::spaced(0, 0, along.tokens()).value());
  each[static_cast<std::size_t>(axis)] = along;
  return Positions::axes(each).value();
}

TEST(ImageModel, Flux) {
  const auto spectrum = Spectrum::axial(Dims{16, 56, 56}, 10000).value();
  const auto places = Positions::concatenate({text(3, 0, Positions::spaced(0, 0, 4).value()),
                                              Positions::grid({at(0), upto(2), upto(3)}).value()})
                          .value();
  EXPECT_LT(worst_of_rows(spectrum, places, models(), "flux"), 1);
}

TEST(ImageModel, Flux2) {
  const auto spectrum = Spectrum::axial(Dims{32, 32, 32, 32}, 2000).value();
  const auto places =
      Positions::concatenate({text(4, 3, upto(4)), Positions::grid({at(0), upto(2), upto(3), at(0)}).value(),
                              Positions::grid({at(10), upto(2), upto(2), at(0)}).value()})
          .value();
  EXPECT_LT(worst_of_rows(spectrum, places, models(), "flux2"), 1);
}

TEST(ImageModel, QwenImageIsCentred) {
  const auto spectrum = Spectrum::axial(Dims{16, 56, 56}, 10000).value();
  const auto image = [](std::int64_t index, std::int64_t height, std::int64_t width) {
    return Positions::grid({at(index), centred_cells(height).value(), centred_cells(width).value()}).value();
  };
  // Text begins at the largest half side.
  const auto words = Positions::range(2, 5).select_axes({0, 0, 0}).value();
  const auto places = Positions::concatenate({image(0, 3, 4), image(1, 2, 2), words}).value();
  EXPECT_LT(worst_of_rows(spectrum, places, models(), "qwen_image"), 1);
}

TEST(ImageModel, Wan) {
  // Of 128 lanes 2 * (128 / 6) for rows, as many for columns, the rest for frames.
  const auto spectrum = Spectrum::axial(Dims{44, 42, 42}, 10000).value();
  EXPECT_LT(worst_of_rows(spectrum, Positions::grid({upto(2), upto(2), upto(3)}).value(), models(), "wan"),
            1);
}

TEST(ImageModel, HunyuanVideo) {
  const auto spectrum = Spectrum::axial(Dims{16, 56, 56}, 256).value();
  EXPECT_LT(worst_of_rows(spectrum, Positions::grid({upto(2), upto(2), upto(3)}).value(), models(),
                          "hunyuan_video"),
            1);
}

TEST(ImageModel, CogVideoX) {
  const auto spectrum = Spectrum::axial(Dims{16, 24, 24}, 10000).value();
  const auto crops = models().parameters("cogvideox").at("crops").get<std::array<std::array<double, 2>, 2>>();
  const auto places = Positions::grid({upto(2), evenly_between(crops[0][0], crops[1][0], 3).value(),
                                       evenly_between(crops[0][1], crops[1][1], 5).value()})
                          .value();
  EXPECT_LT(worst_of_rows(spectrum, places, models(), "cogvideox"), 1);
  EXPECT_LT(worst_of_rows(spectrum, Positions::grid({upto(2), upto(2), upto(3)}).value(), models(),
                          "cogvideox_1_5"),
            1);
}

TEST(ImageModel, Cosmos) {
  const auto with_alpha = [](std::int64_t rotary_dim, double alpha) {
    return Spectrum::make({.rotary_dim = rotary_dim, .scaling = scaling::NtkAlpha{.alpha = alpha}}).value();
  };
  const auto spectrum =
      Spectrum::join(std::array{with_alpha(44, 2), with_alpha(42, 1), with_alpha(42, 1)}).value();
  // 16 frames a second of a model that knows 24.
  const auto places = Positions::grid({Positions::spaced(0, 24.0 / 16, 3).value(), upto(2), upto(2)}).value();
  EXPECT_LT(worst_of_rows(spectrum, places, models(), "cosmos"), 1);
}

TEST(ImageModel, LtxVideo) {
  // 128 lanes: two that stand still, then t h w in turns, 21 pairs each.
  const auto axis = Spectrum::make({.rotary_dim = 42, .base = 10000, .scaling = scaling::Ltx()}).value();
  const auto spectrum = Spectrum::join(std::vector(3, axis), AxisOrder::interleaved).value();
  const auto fraction = [](double scale, double whole, std::int64_t cells) {
    return Positions::spaced(-1, 2 * scale / whole, cells).value();  // 2 x - 1
  };
  const auto scale = models().parameters("ltx").at("scale").get<std::array<double, 3>>();
  const auto places =
      Positions::grid({fraction(scale[0], 20, 2), fraction(scale[1], 2048, 2), fraction(scale[2], 2048, 3)})
          .value();
  EXPECT_LT(worst_of_rows(spectrum, places, models(), "ltx", 3e-6), 1);
  EXPECT_EQ(Rope::make({.spectrum = spectrum, .rotary_offset = 2}).value().head_dim(), 128);
}

TEST(ImageModel, ZImage) {
  const auto spectrum = Spectrum::axial(Dims{32, 48, 48}, 256).value();
  // A caption from 1 on, in whole blocks of its padding; the image behind it.
  const auto places = Positions::concatenate({text(3, 0, Positions::range(1, 5)),
                                              Positions::grid({at(5), upto(2), upto(3)}).value()})
                          .value();
  EXPECT_LT(worst_of_rows(spectrum, places, models(), "z_image"), 1);
}

TEST(ImageModel, Lumina2) {
  const auto spectrum = Spectrum::axial(Dims{32, 32, 32}, 10000).value();
  const auto places =
      Positions::concatenate({text(3, 0, upto(3)), Positions::grid({at(3), upto(2), upto(3)}).value()})
          .value();
  EXPECT_LT(worst_of_rows(spectrum, places, models(), "lumina2"), 1);
}

// The spectra above equal diffusers' tables; these are what its presets give.
TEST(ImageModel, PresetsHaveTheseSpectra) {
  const std::tuple<const char*, Dims, double> table[] = {
      {"flux-1", {16, 56, 56}, 10000},     {"flux-2", {32, 32, 32, 32}, 2000},
      {"qwen-image", {16, 56, 56}, 10000}, {"hunyuan-video", {16, 56, 56}, 256},
      {"wan-2.1", {44, 42, 42}, 10000},    {"z-image", {32, 48, 48}, 256},
      {"lumina-2", {32, 32, 32}, 10000}};
  for (const auto& [preset, lanes, base] : table) {
    const auto model = Model::from_preset(preset).value();
    EXPECT_EQ(model.ropes()[0].rope.spectrum(), Spectrum::axial(lanes, base).value()) << preset;
    EXPECT_EQ(model.ropes()[0].rope.pairing(), Pairing::interleaved) << preset;
  }
}

TEST(ImageModel, AnotherAxisOrCoordinateIsSeen) {
  const auto spectrum = Spectrum::axial(Dims{44, 42, 42}, 10000).value();
  const auto swapped = Positions::grid({upto(2), upto(2), upto(3)}).value().select_axes({0, 2, 1}).value();
  EXPECT_GT(worst_of_rows(spectrum, swapped, models(), "wan"), 1000);
  EXPECT_GT(worst_of_rows(Spectrum::axial(Dims{44, 42, 42}, 256).value(),
                          Positions::grid({upto(2), upto(2), upto(3)}).value(), models(), "wan"),
            1000);
}

}  // namespace
}  // namespace rotary
