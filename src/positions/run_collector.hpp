// SPDX-License-Identifier: Apache-2.0
// Puts a table together run by run, in its order [axes, batch, tokens]. Runs that continue one another become
// one.
#pragma once

#include <rotary/positions.hpp>
#include <string_view>
#include <vector>

namespace rotary::impl {

class RunCollector {
 public:
  /// A table of more runs is a mistake in a count, or wants ids.
  static constexpr std::int64_t most_runs = std::int64_t{1} << 26;

  /// start, start + step, ... (`count` of them).
  void add(Position start, Position step, std::int64_t count) noexcept;
  /// `count` tokens of a row from `token` on, every `stride`-th. They are in range.
  void copy(const Positions& from, std::int64_t axis, std::int64_t row, std::int64_t token,
            std::int64_t count, std::int64_t stride = 1) noexcept;
  /// Body for each run of the row: body(start, step, count).
  template <class Body>
  static void for_each_run(const Positions& from, std::int64_t axis, std::int64_t row, Body&& body) {
    for (std::int64_t token = 0; token < from.tokens();) {
      const auto run = from.run_from((axis * from.batch() + row) * from.tokens() + token);
      const std::int64_t count = std::min(run.count, from.tokens() - token);
      body(run.start, run.step, count);
      token += count;
    }
  }

  /// What was added is exactly the table. Error, which names `what`: too many runs.
  Result<Positions> finish(std::string_view what, std::int64_t axes, std::int64_t batch,
                           std::int64_t tokens) &&;

 private:
  std::vector<Positions::Segment> runs_;
  std::int64_t size_ = 0;
  bool full_ = false;
};

/// Numbers in a table, or empty if they are too many or an extent is negative.
std::optional<std::int64_t> table_size(std::int64_t axes, std::int64_t batch, std::int64_t tokens) noexcept;

}  // namespace rotary::impl
