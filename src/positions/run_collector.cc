// SPDX-License-Identifier: Apache-2.0
#include "positions/run_collector.hpp"

#include <algorithm>
#include <new>

#include "base/checked.hpp"
#include "base/message.hpp"
#include "positions/fixed_point.hpp"

namespace rotary::impl {

std::optional<std::int64_t> table_size(std::int64_t axes, std::int64_t batch, std::int64_t tokens) noexcept {
  if (axes < 0 || batch < 0 || tokens < 0) return std::nullopt;
  const auto rows = checked_mul(axes, batch);
  return rows ? checked_mul(*rows, tokens) : std::nullopt;
}

void RunCollector::add(Position start, Position step, std::int64_t count) noexcept {
  if (count <= 0 || full_) return;
  if (!runs_.empty()) {
    auto& last = runs_.back();
    const std::int64_t length = size_ - last.begin;
    const Position gap = difference(start, advance(last.start, last.step, length - 1));
    if ((length == 1 || gap == last.step) && (count == 1 || gap == step)) {
      last.step = gap;
      size_ += count;
      return;
    }
  }
  full_ = static_cast<std::int64_t>(runs_.size()) >= most_runs;
  if (full_) return;
  try {
    runs_.push_back({size_, start, step});
  } catch (const std::bad_alloc&) {
    full_ = true;
  }
  size_ += count;
}

void RunCollector::copy(const Positions& from, std::int64_t axis, std::int64_t row, std::int64_t token,
                        std::int64_t count, std::int64_t stride) noexcept {
  std::int64_t index = (axis * from.batch() + row) * from.tokens() + token;
  while (count > 0 && !full_) {
    const auto run = from.run_from(index);
    const std::int64_t here = std::min(count, (run.count - 1) / stride + 1);
    add(run.start, advance({}, run.step, stride), here);
    count -= here;
    if (count > 0)
      index += here * stride;  // a token that is there: the last stride may reach beyond any number
  }
}

Result<Positions> RunCollector::finish(std::string_view what, std::int64_t axes, std::int64_t batch,
                                       std::int64_t tokens) && {
  if (full_) return invalid(what, ": more than ", most_runs, " runs of positions");
  Positions table(axes, batch, tokens);
  const bool ids_are_smaller =
      runs_.size() > 1 && runs_.size() * sizeof runs_[0] / sizeof(Position) > static_cast<std::size_t>(size_);
  if (ids_are_smaller) {
    table.ids_.reserve(static_cast<std::size_t>(size_));
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      const std::int64_t end = r + 1 < runs_.size() ? runs_[r + 1].begin : size_;
      for (std::int64_t i = 0; i < end - runs_[r].begin; ++i) {
        table.ids_.push_back(advance(runs_[r].start, runs_[r].step, i));
      }
    }
  } else {
    table.set_segments(std::move(runs_));
  }
  return table;
}

}  // namespace rotary::impl
