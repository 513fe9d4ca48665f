// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <rotary/multimodal.hpp>

#include "support.hpp"

namespace rotary {
namespace {

using testing::expect_invalid;
using testing::int64_max;
using testing::Numbers;
using testing::numbers;
using Types = std::vector<std::int32_t>;

TEST(Multimodal, TextImageText) {
  MultimodalSequence prompt;
  prompt.text(3).vision({.height = 2, .width = 4}).text(2);
  const Positions p = prompt.positions().value();
  EXPECT_EQ(numbers(p, 0), (Numbers{0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 7, 8}));
  EXPECT_EQ(numbers(p, 1), (Numbers{0, 1, 2, 3, 3, 3, 3, 4, 4, 4, 4, 7, 8}));
  EXPECT_EQ(numbers(p, 2), (Numbers{0, 1, 2, 3, 4, 5, 6, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(prompt.tokens(), 13);
  EXPECT_EQ(prompt.rope_delta(), -4);
  EXPECT_EQ(prompt.decode(2).value(), Positions::range(9, 11).select_axes({0, 0, 0}).value());
}

TEST(Multimodal, WhereTextGoesOnBehindAVideo) {
  // Five times at 3 ... 7 over 2 by 2 places.
  MultimodalSequence by_largest, by_extent(TextAfterVision::extent);
  const VisionGrid video{.time = 5, .height = 2, .width = 2};
  by_largest.text(3).vision(video).text(1);
  by_extent.text(3).vision(video).text(1);
  EXPECT_EQ(by_largest.positions().value().at(0, 0, 23).whole, 8);
  EXPECT_EQ(by_extent.positions().value().at(0, 0, 23).whole, 5);
  // Decoding is behind everything in either case.
  EXPECT_EQ(by_largest.decode(1).value().at(1, 0, 0).whole, 9);
  EXPECT_EQ(by_extent.decode(1).value().at(1, 0, 0).whole, 8);
  EXPECT_EQ(by_extent.rope_delta(), 8 - 24);
}

TEST(Multimodal, TimesAreCutToWholePositions) {
  MultimodalSequence video;
  video.text(1).vision({.time = 4, .height = 1, .width = 1, .time_step = 1.4});
  EXPECT_EQ(numbers(video.positions().value(), 0), (Numbers{0, 1, 2, 3, 5}));
  EXPECT_EQ(numbers(video.positions().value(), 1), (Numbers{0, 1, 1, 1, 1}));
}

TEST(Multimodal, EmptyAndTextAlone) {
  EXPECT_EQ(MultimodalSequence().positions().value().axes(), 3);
  EXPECT_EQ(MultimodalSequence().positions().value().tokens(), 0);
  EXPECT_EQ(MultimodalSequence().rope_delta(), 0);
  EXPECT_EQ(MultimodalSequence().decode(1).value().at(2, 0, 0).whole, 0);
  EXPECT_EQ(MultimodalSequence().text(4).text(0).vision({.time = 0}).rope_delta(), 0);
}

TEST(VisionGrid, OfPatchesAndFrames) {
  EXPECT_EQ(VisionGrid::of_patches({4, 6, 10}, 2, 2).value(),
            (VisionGrid{.time = 2, .height = 3, .width = 5}));
  expect_invalid(VisionGrid::of_patches({1, 6, 9}, 2),
                 "patches (1, 6, 9): must be multiples of (1, 2, 2), which are merged");
  expect_invalid(VisionGrid::of_patches({-1, 6, 8}, 2),
                 "patches (-1, 6, 8): must be multiples of (1, 2, 2), which are merged");
  expect_invalid(VisionGrid::of_patches({1, 6, 8}, 0),
                 "patches (1, 6, 8): must be multiples of (1, 0, 0), which are merged");
  EXPECT_EQ((VisionGrid{.time = 2, .height = 3, .width = 5}).frames(),
            (std::vector<VisionGrid>(2, {.height = 3, .width = 5})));
}

TEST(TokenTypes, AreFilledByTheGridsInOrder) {
  const Types types{0, 0, 1, 1, 1, 1, 1, 1, 0, 2, 2};
  const std::vector<VisionGrid> images{{.height = 2, .width = 2}, {.height = 1, .width = 2}},
      videos{{.time = 2}};
  const auto sequence = MultimodalSequence::from_token_types(types, images, videos).value();
  MultimodalSequence same;  // two images may touch
  same.text(2).vision(images[0]).vision(images[1]).text(1).vision(videos[0]);
  EXPECT_EQ(sequence.positions().value(), same.positions().value());
  EXPECT_EQ(sequence.rope_delta(), same.rope_delta());
}

TEST(TokenTypes, RefuseAnotherCount) {
  const auto error = [](const Types& types, const std::vector<VisionGrid>& images) {
    return MultimodalSequence::from_token_types(types, images, {}).status().message();
  };
  const VisionGrid pair{.width = 2};
  EXPECT_EQ(error({0, 1, 1, 1}, {pair}), "images: 1 grids, but 1 tokens more, at token 3");
  EXPECT_EQ(error({0, 1, 0}, {pair}),
            "images[0]: time 1, height 1, width 2: more than the 1 image tokens at token 1");
  EXPECT_EQ(error({0, 1, 1}, {pair, pair}), "images: 2 grids, but there are tokens for 1");
  EXPECT_EQ(error({0, 2}, {}), "videos: 0 grids, but 1 tokens more, at token 1");
  EXPECT_EQ(error({0, 3}, {}), "types[1] 3: expected 0 (text), 1 (image) or 2 (video)");
  EXPECT_EQ(error({1, 1}, {{.height = int64_max, .width = int64_max}}),
            "images[0]: time 1, height 9223372036854775807, width 9223372036854775807: more than the 2 image "
            "tokens at token 0");
}

TEST(Multimodal, TheFirstFailureSticks) {
  const auto error = [](MultimodalSequence& sequence) {
    EXPECT_EQ(sequence.positions().status().message(), sequence.decode(1).status().message());
    return sequence.positions().status().message();
  };
  EXPECT_EQ(error(MultimodalSequence().text(-1).text(3)), "text: tokens -1: must be 0 to 2^53");
  EXPECT_EQ(error(MultimodalSequence().vision({.height = -1}).text(-1)),
            "vision: time 1, height -1, width 1: none may be negative, and together at most 2^63");
  EXPECT_EQ(error(MultimodalSequence().vision({.height = int64_max, .width = 2})),
            "vision: time 1, height 9223372036854775807, width 2: none may be negative, and together at most "
            "2^63");
  EXPECT_EQ(error(MultimodalSequence().vision({.time_step = std::nan("")})),
            "whole_steps: step nan: must be finite and at most 2^29");
  EXPECT_EQ(error(MultimodalSequence().vision({.height = int64_max})),
            "grid: 3 of batch 1, tokens 9223372036854775807: more than 2^63 positions");
  EXPECT_EQ(error(MultimodalSequence().text(std::int64_t{1} << 53).text(1)),
            "sequence: positions or tokens beyond 2^53");
  EXPECT_EQ(error(MultimodalSequence().text(3).vision({.width = std::int64_t{1} << 53})),
            "sequence: positions or tokens beyond 2^53");
  expect_invalid(MultimodalSequence().decode(-1), "decode: tokens -1: must be 0 to 2^53");
}

}  // namespace
}  // namespace rotary
