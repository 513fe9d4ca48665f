// SPDX-License-Identifier: Apache-2.0
/// @file
/// Text with images and video on the axes (time, height, width), as models of the Qwen2-VL kind place it: text
/// counts on all axes alike, an image is a grid that begins where the text has got to, and the text goes on
/// behind it. So an image of many tokens takes few positions, and decoding must know how many:
///
///     rotary::MultimodalSequence prompt;
///     prompt.text(3).vision({.height = 2, .width = 4}).text(2);
///     rope.angles(prompt.positions().value());     // prefill
///     rope.angles(prompt.decode(1).value());       // the next token, behind all of them
///
///     t   0 1 2   3 3 3 3 3 3 3 3   7 8
///     h   0 1 2   3 3 3 3 4 4 4 4   7 8
///     w   0 1 2   3 4 5 6 3 4 5 6   7 8      next 9, of 13 tokens: rope_delta -4
#pragma once

#include <array>
#include <cstdint>
#include <rotary/export.hpp>
#include <rotary/positions.hpp>
#include <rotary/status.hpp>
#include <span>
#include <vector>

namespace rotary {

/// An image, a video or a frame of one, in tokens of the language model.
struct VisionGrid {
  std::int64_t time = 1, height = 1, width = 1;
  /// Positions from one time to the next; times are cut to whole positions. Qwen2.5-VL's videos:
  /// tokens_per_second * second_per_grid.
  double time_step = 1;

  /// Of patches (t, h, w), as processors count them, which the model merges before it reads them:
  /// spatial_merge * spatial_merge to a token, and temporal_merge times (Ernie 4.5-VL's videos: 2). Error: an
  /// extent that is negative or no multiple of its merge.
  ROTARY_API static Result<VisionGrid> of_patches(std::array<std::int64_t, 3> patches,
                                                  std::int64_t spatial_merge,
                                                  std::int64_t temporal_merge = 1);
  /// One grid a frame, for models that tell the time of each frame in words (Qwen3-VL, GLM-4V).
  ROTARY_API std::vector<VisionGrid> frames() const;
  friend bool operator==(const VisionGrid&, const VisionGrid&) = default;
};

/// Where text goes on behind a grid that begins at p.
enum class TextAfterVision : std::uint8_t {
  largest,  ///< one behind the largest position: the models' own code, vLLM, Transformers 4
  extent,   ///< p + max(height, width), however long a video is: Transformers 5
};

class ROTARY_API MultimodalSequence {
 public:
  explicit MultimodalSequence(TextAfterVision after = TextAfterVision::largest) noexcept : after_(after) {}

  /// What follows, in order. The first failure sticks, and positions() reports it. Errors: a negative extent, a
  /// position beyond 2^53, a time_step that is not finite.
  MultimodalSequence& text(std::int64_t tokens);
  MultimodalSequence& vision(const VisionGrid& grid);

  /// One sequence as a processor describes it: of each token 0 (text), 1 (image) or 2 (video), and the grids in
  /// their order. Error: a grid too many or too few, a run of tokens that its grids do not fill, another type.
  static Result<MultimodalSequence> from_token_types(std::span<const std::int32_t> types,
                                                     std::span<const VisionGrid> images,
                                                     std::span<const VisionGrid> videos,
                                                     TextAfterVision after = TextAfterVision::largest);

  /// [3, 1, tokens].
  Result<Positions> positions() const;
  /// The next tokens, one behind the largest position so far, equal on all axes.
  Result<Positions> decode(std::int64_t tokens) const;

  std::int64_t tokens() const noexcept { return tokens_; }
  /// What Transformers adds to the number of a token behind the prompt: largest position + 1 - tokens.
  std::int64_t rope_delta() const noexcept { return largest_ + 1 - tokens_; }

 private:
  void append(const Result<Positions>& part, std::int64_t largest, std::int64_t next);

  TextAfterVision after_;
  Status status_;
  std::vector<Positions> parts_;
  std::int64_t tokens_ = 0, next_ = 0, largest_ = -1;
};

}  // namespace rotary
