// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where each token stands, on one axis or several: logically a table [axes, batch, tokens].
///
///     Positions::range(0, 4096)               prefill
///     Positions::range(p, p + 1)              one decode step; no allocation
///     Positions::offsets(lengths, 1)          decode of a batch: row b stands at lengths[b]
///     Positions::ids(position_ids, batch, tokens)
///     Positions::packed(cu_seqlens)           0 1 2 3 0 1 2 ...: starts again with every sequence
///
/// and what these make together, each a table again:
///
///     Positions::grid({t, h, w})              images and video: every cell of a grid, the last axis fastest
///     Positions::axes({t, h, w})              one after another: axes,
///     Positions::rows({short_one, long_one})  rows of a batch,
///     Positions::concatenate({text, image})   tokens
///     image.shifted(15).take(segments)        moved, and some of its tokens
///
/// Coordinates of grids: grids.hpp; text with images: multimodal.hpp; a rank's share: shards.hpp.
///
/// A position is whole or fractional, positive or negative; units are the model's steps. Ids of 32 and 64
/// bits and of float and double give the same table where they hold the same numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <rotary/export.hpp>
#include <rotary/status.hpp>
#include <span>
#include <utility>
#include <vector>

namespace rotary {

/// A position as fixed point: whole + fraction / 2^64, exact for every integer id and for every double whose
/// last bit is worth at least 2^-64.
struct Position {
  std::int64_t whole = 0;
  std::uint64_t fraction = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

/// Nearest double.
ROTARY_API double to_double(Position position) noexcept;
/// Error unless finite and at most 2^53 in magnitude.
ROTARY_API Result<Position> to_position(double value);

/// Tokens first, first + step, ... of a sequence (`count` of them).
struct TokenSegment {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;

  friend bool operator==(const TokenSegment&, const TokenSegment&) = default;
};

namespace impl {
class RunCollector;
}

class ROTARY_API Positions {
 public:
  static constexpr std::int64_t max_axes = 8;

  /// No tokens.
  Positions() noexcept = default;

  /// first, first + 1, ..., last - 1 for one row, shared by every row of a batch. Empty if last <= first.
  /// Of more than 2^63 - 1 positions the first so many.
  static Positions range(std::int64_t first, std::int64_t last) noexcept;
  /// first, first + step, ... (`tokens` of them), each exact: fractional ranges, interpolated grids. Error if
  /// a number is not finite, beyond 2^53 in magnitude, or a position would be beyond 2^62.
  static Result<Positions> spaced(double first, double step, std::int64_t tokens);

  /// Row b holds first_of_row[b], first_of_row[b] + 1, ... (`tokens` of them). Error beyond 2^63 - 1.
  static Result<Positions> offsets(std::span<const std::int64_t> first_of_row, std::int64_t tokens);
  static Result<Positions> offsets(std::span<const std::int32_t> first_of_row, std::int64_t tokens);

  /// One id a token: [tokens] for one row, shared by every row of a batch. Any array, vector or span of them.
  template <std::ranges::contiguous_range Ids>
  static Result<Positions> ids(const Ids& ids) {
    return Positions::ids(ids, 1, std::ranges::ssize(ids));
  }
  /// One id a token: [batch, tokens].
  template <std::ranges::contiguous_range Ids>
  static Result<Positions> ids(const Ids& ids, std::int64_t batch, std::int64_t tokens) {
    return Positions::ids(std::span(ids), 1, batch, tokens);
  }
  /// One id an axis and token: [axes, batch, tokens], at most max_axes. Error if the span has another size,
  /// or an id is not finite or, as a float or double, beyond 2^53 in magnitude.
  static Result<Positions> ids(std::span<const std::int32_t> ids, std::int64_t axes, std::int64_t batch,
                               std::int64_t tokens);
  static Result<Positions> ids(std::span<const std::int64_t> ids, std::int64_t axes, std::int64_t batch,
                               std::int64_t tokens);
  static Result<Positions> ids(std::span<const float> ids, std::int64_t axes, std::int64_t batch,
                               std::int64_t tokens);
  static Result<Positions> ids(std::span<const double> ids, std::int64_t axes, std::int64_t batch,
                               std::int64_t tokens);

  /// Sequences behind one another in one row: sequence s has the tokens cu_seqlens[s] ... cu_seqlens[s+1] - 1
  /// and starts at starts[s], or 0 where `starts` is empty. cu_seqlens begins with 0 and never falls; a
  /// sequence may be empty.
  static Result<Positions> packed(std::span<const std::int32_t> cu_seqlens,
                                  std::span<const std::int64_t> starts = {});
  static Result<Positions> packed(std::span<const std::int64_t> cu_seqlens,
                                  std::span<const std::int64_t> starts = {});

  /// One Positions an axis, 1 to max_axes of them, all of the same batch and tokens, each with a single axis.
  static Result<Positions> axes(std::span<const Positions> each);
  static Result<Positions> axes(std::initializer_list<Positions> each) { return axes(std::span(each)); }

  /// Every cell of a grid, row-major: axis a stands at coordinates[a], a Positions of one axis and one row;
  /// the last axis runs fastest. {range(0, 2), range(0, 3)}: rows 0 0 0 1 1 1, columns 0 1 2 0 1 2.
  static Result<Positions> grid(std::span<const Positions> coordinates);
  static Result<Positions> grid(std::initializer_list<Positions> coordinates) {
    return grid(std::span(coordinates));
  }

  /// The tokens of each part behind those of the part before. The same axes; the same batch, or one row that
  /// serves every row. A part without tokens is skipped.
  static Result<Positions> concatenate(std::span<const Positions> parts);
  static Result<Positions> concatenate(std::initializer_list<Positions> parts) {
    return concatenate(std::span(parts));
  }

  /// The rows of each behind those of the one before. The same axes and tokens.
  static Result<Positions> rows(std::span<const Positions> each);
  static Result<Positions> rows(std::initializer_list<Positions> each) { return rows(std::span(each)); }

  /// Row b of a batch of prompts that end together: pads_of_row[b] pads at position 0, as Transformers has
  /// them, then 0, 1, ... Error: more pads than tokens.
  static Result<Positions> left_padded(std::span<const std::int64_t> pads_of_row, std::int64_t tokens);

  /// `left` tokens before and `right` tokens behind every row, at position `pad` of every axis.
  Result<Positions> padded(std::int64_t left, std::int64_t right, std::int64_t pad = 0) const;

  /// The tokens of the segments, one segment behind the other, of every axis and row. Error: a token that is
  /// not there.
  Result<Positions> take(std::span<const TokenSegment> segments) const;

  /// Axis a is axis axes[a] of this table: {1, 0} swaps two; {0, 0, 0} gives text its three axes.
  Result<Positions> select_axes(std::span<const std::int64_t> axes) const;
  Result<Positions> select_axes(std::initializer_list<std::int64_t> axes) const {
    return select_axes(std::span(axes));
  }

  /// Every position plus `by`; or plus by_of_axis[a] on axis a. Error where one would leave the int64 range.
  Result<Positions> shifted(std::int64_t by) const;
  Result<Positions> shifted(std::span<const std::int64_t> by_of_axis) const;

  std::int64_t axes() const noexcept { return axes_; }
  /// Rows; 1 serves every row of a batch.
  std::int64_t batch() const noexcept { return batch_; }
  std::int64_t tokens() const noexcept { return tokens_; }

  /// The position of one token. The indices must be in range.
  Position at(std::int64_t axis, std::int64_t row, std::int64_t token) const noexcept;
  /// The positions of out.size() tokens of one row from `token` on. The indices must be in range.
  void read(std::int64_t axis, std::int64_t row, std::int64_t token, std::span<Position> out) const noexcept;

  /// The same table, however it is held.
  friend ROTARY_API bool operator==(const Positions& a, const Positions& b) noexcept;

  Positions(const Positions&) = default;
  /// Leaves no tokens behind.
  Positions(Positions&& other) noexcept { *this = std::move(other); }
  /// Allocates only beyond the capacity; if that fails nothing has changed.
  Positions& operator=(const Positions& other);
  Positions& operator=(Positions&& other) noexcept;
  ~Positions() = default;

 private:
  friend class impl::RunCollector;
  /// An affine run; `begin` counts tokens through the whole table [axes, batch, tokens].
  struct Segment {
    std::int64_t begin = 0;
    Position start;
    Position step;
  };
  /// How the table goes on from one token: start, start + step, ... (`count` of them).
  struct Run {
    Position start;
    Position step;
    std::int64_t count;
  };

  Positions(std::int64_t axes, std::int64_t batch, std::int64_t tokens) noexcept
      : axes_(axes), batch_(batch), tokens_(tokens) {}
  std::int64_t size() const noexcept { return axes_ * batch_ * tokens_; }
  Run run_from(std::int64_t index) const noexcept;
  void set_segments(std::vector<Segment> segments) noexcept;
  template <class T>
  static Result<Positions> copy_ids(std::span<const T> ids, std::int64_t axes, std::int64_t batch,
                                    std::int64_t tokens);

  // Either ids_ has every token, or segments do: one inline (a range needs no allocation), or several.
  std::int64_t axes_ = 1, batch_ = 1, tokens_ = 0;
  Segment only_;
  std::vector<Segment> segments_;
  std::vector<Position> ids_;
};

}  // namespace rotary
