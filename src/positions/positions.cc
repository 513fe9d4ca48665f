// SPDX-License-Identifier: Apache-2.0
// Reading positions: whatever made them, a table is walked as affine runs.
#include <algorithm>
#include <rotary/positions.hpp>

#include "positions/fixed_point.hpp"

namespace rotary {

Positions& Positions::operator=(const Positions& other) {
  if (other.segments_.empty() && other.ids_.empty()) {  // a decode step
    segments_.clear();
    ids_.clear();
  } else {
    segments_.reserve(other.segments_.size());
    ids_.reserve(other.ids_.size());
    segments_ = other.segments_;
    ids_ = other.ids_;
  }
  axes_ = other.axes_;
  batch_ = other.batch_;
  tokens_ = other.tokens_;
  only_ = other.only_;
  return *this;
}

Positions& Positions::operator=(Positions&& other) noexcept {
  if (this == &other) return *this;
  axes_ = other.axes_;
  batch_ = other.batch_;
  tokens_ = std::exchange(other.tokens_, 0);
  only_ = other.only_;
  segments_ = std::move(other.segments_);
  ids_ = std::move(other.ids_);
  return *this;
}

Positions::Run Positions::run_from(std::int64_t index) const noexcept {
  if (!ids_.empty()) return {ids_[static_cast<std::size_t>(index)], {}, 1};
  const Segment* segment = &only_;
  std::int64_t end = size();
  if (!segments_.empty()) {
    const auto next = std::upper_bound(segments_.begin(), segments_.end(), index,
                                       [](std::int64_t i, const Segment& s) { return i < s.begin; });
    if (next != segments_.end()) end = next->begin;
    segment = &*std::prev(next);
  }
  const std::int64_t steps = index - segment->begin;
  const Position start = steps == 0 ? segment->start : impl::advance(segment->start, segment->step, steps);
  return {start, segment->step, end - index};
}

Position Positions::at(std::int64_t axis, std::int64_t row, std::int64_t token) const noexcept {
  return run_from((axis * batch_ + row) * tokens_ + token).start;
}

void Positions::read(std::int64_t axis, std::int64_t row, std::int64_t token,
                     std::span<Position> out) const noexcept {
  if (out.size() == 1) {
    out[0] = at(axis, row, token);
    return;
  }
  std::int64_t index = (axis * batch_ + row) * tokens_ + token;
  for (std::size_t done = 0; done < out.size();) {
    const Run run = run_from(index);
    const auto count = std::min(static_cast<std::size_t>(run.count), out.size() - done);
    Position next = run.start;
    for (std::size_t i = 0; i < count; ++i, next = impl::advance(next, run.step, 1)) out[done + i] = next;
    done += count;
    index += static_cast<std::int64_t>(count);
  }
}

bool operator==(const Positions& a, const Positions& b) noexcept {
  if (a.axes_ != b.axes_ || a.batch_ != b.batch_ || a.tokens_ != b.tokens_) return false;
  for (std::int64_t index = 0; index < a.size();) {
    const Positions::Run run_a = a.run_from(index), run_b = b.run_from(index);
    const std::int64_t count = std::min(run_a.count, run_b.count);
    if (run_a.start != run_b.start || (count > 1 && run_a.step != run_b.step)) return false;
    index += count;
  }
  return true;
}

}  // namespace rotary
