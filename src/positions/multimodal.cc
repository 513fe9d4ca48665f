// SPDX-License-Identifier: Apache-2.0
// Source: get_rope_index of Qwen2-VL, Qwen2.5-VL, Qwen3-VL, GLM-4V and Ernie 4.5-VL in Transformers.
#include <algorithm>
#include <rotary/grids.hpp>
#include <rotary/multimodal.hpp>

#include "base/checked.hpp"
#include "base/message.hpp"

namespace rotary {
namespace {

using impl::invalid;

constexpr std::int64_t most = std::int64_t{1} << 53;

/// Tokens of a grid, or empty if they are too many or an extent is negative.
std::optional<std::int64_t> count(const VisionGrid& grid) noexcept {
  if (grid.time < 0 || grid.height < 0 || grid.width < 0) return std::nullopt;
  const auto cells = impl::checked_mul(grid.height, grid.width);
  return cells ? impl::checked_mul(*cells, grid.time) : cells;
}

/// The grids of one modality, taken in order by the tokens that stand for them.
class Grids {
 public:
  Grids(std::string_view what, std::span<const VisionGrid> grids) : what_(what), grids_(grids) {}

  /// The grids of a run of `tokens` tokens from token `at` on.
  Status fill(std::size_t at, std::size_t tokens, MultimodalSequence& sequence) {
    for (std::int64_t left = static_cast<std::int64_t>(tokens); left > 0;) {
      if (next_ == grids_.size()) {
        return invalid(what_, "s: ", grids_.size(), " grids, but ", left, " tokens more, at token ", at);
      }
      const VisionGrid& grid = grids_[next_];
      const auto filled = count(grid);
      if (!filled || *filled > left) {
        return invalid(what_, "s[", next_, "]: time ", grid.time, ", height ", grid.height, ", width ",
                       grid.width, ": more than the ", left, " ", what_, " tokens at token ", at);
      }
      sequence.vision(grid);
      ++next_;
      left -= *filled;
      at += static_cast<std::size_t>(*filled);
    }
    return {};
  }
  Status finish() const {
    if (next_ == grids_.size()) return {};
    return invalid(what_, "s: ", grids_.size(), " grids, but there are tokens for ", next_);
  }

 private:
  std::string_view what_;
  std::span<const VisionGrid> grids_;
  std::size_t next_ = 0;
};

}  // namespace

Result<VisionGrid> VisionGrid::of_patches(std::array<std::int64_t, 3> patches, std::int64_t spatial_merge,
                                          std::int64_t temporal_merge) {
  const auto [t, h, w] = patches;
  if (spatial_merge < 1 || temporal_merge < 1 || t < 0 || h < 0 || w < 0 || t % temporal_merge != 0 ||
      h % spatial_merge != 0 || w % spatial_merge != 0) {
    return invalid("patches (", t, ", ", h, ", ", w, "): must be multiples of (", temporal_merge, ", ",
                   spatial_merge, ", ", spatial_merge, "), which are merged");
  }
  return VisionGrid{.time = t / temporal_merge, .height = h / spatial_merge, .width = w / spatial_merge};
}

std::vector<VisionGrid> VisionGrid::frames() const {
  return std::vector<VisionGrid>(static_cast<std::size_t>(std::max<std::int64_t>(time, 0)),
                                 {.height = height, .width = width});
}

void MultimodalSequence::append(const Result<Positions>& part, std::int64_t largest, std::int64_t next) {
  if (!status_.ok()) return;
  if (!part) {
    status_ = part.status();
  } else if (largest > most || part->tokens() > most - tokens_) {
    status_ = invalid("sequence: positions or tokens beyond 2^53");
  } else if (part->tokens() > 0) {
    parts_.push_back(*part);
    tokens_ += part->tokens();
    largest_ = std::max(largest_, largest);
    next_ = next;
  }
}

MultimodalSequence& MultimodalSequence::text(std::int64_t tokens) {
  if (status_.ok() && (tokens < 0 || tokens > most)) {
    status_ = invalid("text: tokens ", tokens, ": must be 0 to 2^53");
  }
  if (!status_.ok()) return *this;
  append(Positions::range(next_, next_ + tokens).select_axes({0, 0, 0}), next_ + tokens - 1, next_ + tokens);
  return *this;
}

MultimodalSequence& MultimodalSequence::vision(const VisionGrid& grid) {
  if (status_.ok() && !count(grid)) {
    status_ = invalid("vision: time ", grid.time, ", height ", grid.height, ", width ", grid.width,
                      ": none may be negative, and together at most 2^63");
  }
  if (!status_.ok()) return *this;
  const auto times = whole_steps(grid.time_step, grid.time);
  if (!times) {
    status_ = times.status();
    return *this;
  }
  const auto at_zero =
      Positions::grid({*times, Positions::range(0, grid.height), Positions::range(0, grid.width)});
  // What is beyond the bound, append refuses.
  const std::int64_t extent = std::min(std::max(grid.height, grid.width), most);
  std::int64_t reach = extent - 1;
  for (std::int64_t t = 0; t < grid.time; ++t) reach = std::max(reach, times->at(0, 0, t).whole);
  append(at_zero ? at_zero->shifted(next_) : at_zero, next_ + reach,
         next_ + (after_ == TextAfterVision::largest ? reach + 1 : extent));
  return *this;
}

Result<MultimodalSequence> MultimodalSequence::from_token_types(std::span<const std::int32_t> types,
                                                                std::span<const VisionGrid> images,
                                                                std::span<const VisionGrid> videos,
                                                                TextAfterVision after) {
  MultimodalSequence sequence(after);
  Grids image_grids("image", images), video_grids("video", videos);
  for (std::size_t begin = 0, end = 0; begin < types.size(); begin = end) {
    while (end < types.size() && types[end] == types[begin]) ++end;
    Status status;
    switch (types[begin]) {
      case 0:
        sequence.text(static_cast<std::int64_t>(end - begin));
        break;
      case 1:
        status = image_grids.fill(begin, end - begin, sequence);
        break;
      case 2:
        status = video_grids.fill(begin, end - begin, sequence);
        break;
      default:
        return invalid("types[", begin, "] ", types[begin], ": expected 0 (text), 1 (image) or 2 (video)");
    }
    if (!status.ok()) return status;
  }
  for (const Status& status : {image_grids.finish(), video_grids.finish(), sequence.status_}) {
    if (!status.ok()) return status;
  }
  return sequence;
}

Result<Positions> MultimodalSequence::positions() const {
  if (!status_.ok()) return status_;
  if (parts_.empty()) return Positions().select_axes({0, 0, 0});
  return Positions::concatenate(parts_);
}

Result<Positions> MultimodalSequence::decode(std::int64_t tokens) const {
  if (!status_.ok()) return status_;
  if (tokens < 0 || tokens > most) return invalid("decode: tokens ", tokens, ": must be 0 to 2^53");
  return Positions::range(largest_ + 1, largest_ + 1 + tokens).select_axes({0, 0, 0});
}

}  // namespace rotary
