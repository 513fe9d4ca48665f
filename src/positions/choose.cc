// SPDX-License-Identifier: Apache-2.0
// Parts of a table, and a table moved.
#include <algorithm>
#include <vector>

#include "base/checked.hpp"
#include "base/message.hpp"
#include "positions/fixed_point.hpp"
#include "positions/run_collector.hpp"

namespace rotary {
namespace {

using impl::invalid;

/// Error unless every token of the segment is one of `tokens`.
Status check_segment(std::size_t index, const TokenSegment& segment, std::int64_t tokens) {
  const auto [first, count, step] = segment;
  if (count < 0) return invalid("take: segments[", index, "]: count ", count, ": must not be negative");
  if (step < 1) return invalid("take: segments[", index, "]: step ", step, ": must be at least 1");
  if (count == 0) return {};
  const auto way = impl::checked_mul(count - 1, step), last = way ? impl::checked_add(first, *way) : way;
  if (first >= 0 && last && *last < tokens) return {};
  return invalid("take: segments[", index, "]: ", count, " tokens from ", first, " on in steps of ", step,
                 ", of ", tokens);
}

}  // namespace

Result<Positions> Positions::take(std::span<const TokenSegment> segments) const {
  std::int64_t tokens = 0;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    if (Status status = check_segment(s, segments[s], tokens_); !status.ok()) return status;
    const auto sum = impl::checked_add(tokens, segments[s].count);
    if (!sum) return invalid("take: more than 2^63 tokens at segments[", s, "]");
    tokens = *sum;
  }
  if (!impl::table_size(axes_, batch_, tokens)) return invalid("take: more than 2^63 positions");
  impl::RunCollector runs;
  for (std::int64_t axis = 0; axis < axes_; ++axis) {
    for (std::int64_t row = 0; row < batch_; ++row) {
      for (const auto& [first, count, step] : segments) runs.copy(*this, axis, row, first, count, step);
    }
  }
  return std::move(runs).finish("take", axes_, batch_, tokens);
}

Result<Positions> Positions::select_axes(std::span<const std::int64_t> axes) const {
  const auto count = static_cast<std::int64_t>(axes.size());
  if (count < 1 || count > max_axes)
    return invalid("select_axes: ", count, " axes, expected 1 to ", max_axes);
  if (!impl::table_size(count, batch_, tokens_)) return invalid("select_axes: more than 2^63 positions");
  impl::RunCollector runs;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a] < 0 || axes[a] >= axes_) {
      return invalid("select_axes: axes[", a, "] ", axes[a], ": must be 0 to ", axes_ - 1);
    }
    for (std::int64_t row = 0; row < batch_; ++row) runs.copy(*this, axes[a], row, 0, tokens_);
  }
  return std::move(runs).finish("select_axes", count, batch_, tokens_);
}

Result<Positions> Positions::shifted(std::int64_t by) const {
  return shifted(std::vector<std::int64_t>(static_cast<std::size_t>(axes_), by));
}

Result<Positions> Positions::shifted(std::span<const std::int64_t> by_of_axis) const {
  if (by_of_axis.size() != static_cast<std::size_t>(axes_)) {
    return invalid("shifted: ", by_of_axis.size(), " numbers, expected ", axes_, ", one an axis");
  }
  bool leaves = false;
  impl::RunCollector runs;
  for (std::int64_t axis = 0; axis < axes_; ++axis) {
    const std::int64_t by = by_of_axis[static_cast<std::size_t>(axis)];
    for (std::int64_t row = 0; row < batch_; ++row) {
      impl::RunCollector::for_each_run(*this, axis, row,
                                       [&](Position start, Position step, std::int64_t count) {
                                         const Position last = impl::advance(start, step, count - 1);
                                         const auto moved = impl::checked_add(start.whole, by);
                                         leaves |= !moved || !impl::checked_add(last.whole, by);
                                         runs.add({moved.value_or(0), start.fraction}, step, count);
                                       });
    }
    if (leaves) return invalid("shifted: axis ", axis, " by ", by, ": positions leave the int64 range");
  }
  return std::move(runs).finish("shifted", axes_, batch_, tokens_);
}

}  // namespace rotary
