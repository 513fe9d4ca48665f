// SPDX-License-Identifier: Apache-2.0
// Tables put together from tables: along axes, rows or tokens, and as the product of coordinates.
#include <algorithm>

#include "base/checked.hpp"
#include "base/message.hpp"
#include "positions/run_collector.hpp"

namespace rotary {
namespace {

using impl::invalid;
using impl::RunCollector;

Status check_count(std::string_view what, std::size_t axes) {
  if (axes >= 1 && axes <= static_cast<std::size_t>(Positions::max_axes)) return {};
  return invalid(what, ": ", axes, " given, expected 1 to ", Positions::max_axes);
}

Status check_size(std::string_view what, std::int64_t axes, std::int64_t batch, std::int64_t tokens) {
  if (impl::table_size(axes, batch, tokens)) return {};
  return invalid(what, ": ", axes, " of batch ", batch, ", tokens ", tokens, ": more than 2^63 positions");
}

void copy_row(RunCollector& runs, const Positions& from, std::int64_t axis, std::int64_t row) {
  runs.copy(from, axis, row, 0, from.tokens());
}

}  // namespace

Result<Positions> Positions::axes(std::span<const Positions> each) {
  if (Status status = check_count("axes", each.size()); !status.ok()) return status;
  const auto axes = static_cast<std::int64_t>(each.size());
  const std::int64_t batch = each[0].batch(), tokens = each[0].tokens();
  for (std::size_t axis = 0; axis < each.size(); ++axis) {
    const Positions& one = each[axis];
    if (one.axes() != 1) return invalid("axes[", axis, "]: has ", one.axes(), " axes itself, expected 1");
    if (one.batch() != batch || one.tokens() != tokens) {
      return invalid("axes[", axis, "]: batch ", one.batch(), ", tokens ", one.tokens(), ", expected batch ",
                     batch, ", tokens ", tokens, " as axes[0]");
    }
  }
  if (Status status = check_size("axes", axes, batch, tokens); !status.ok()) return status;
  RunCollector runs;
  for (const Positions& one : each) {
    for (std::int64_t row = 0; row < batch; ++row) copy_row(runs, one, 0, row);
  }
  return std::move(runs).finish("axes", axes, batch, tokens);
}

Result<Positions> Positions::grid(std::span<const Positions> coordinates) {
  if (Status status = check_count("grid", coordinates.size()); !status.ok()) return status;
  std::int64_t tokens = 1, lines = 1;
  for (std::size_t axis = 0; axis < coordinates.size(); ++axis) {
    const Positions& at = coordinates[axis];
    if (at.axes() != 1 || at.batch() != 1) {
      return invalid("grid: coordinates[", axis, "]: axes ", at.axes(), ", batch ", at.batch(),
                     ", expected 1 and 1");
    }
    lines = tokens;
    const auto product = impl::checked_mul(tokens, at.tokens());
    if (!product) return invalid("grid: more than 2^63 tokens at axis ", axis);
    tokens = *product;
  }
  const auto axes = static_cast<std::int64_t>(coordinates.size());
  if (Status status = check_size("grid", axes, 1, tokens); !status.ok()) return status;
  if (lines > RunCollector::most_runs) {
    return invalid("grid: ", lines, " lines of the last axis, at most ", RunCollector::most_runs);
  }
  RunCollector runs;
  std::int64_t inner = tokens,
               outer = 1;  // tokens while a cell of this axis stays, and how often it is passed
  for (std::size_t axis = 0; axis < coordinates.size() && tokens > 0; ++axis) {
    const Positions& at = coordinates[axis];
    inner /= at.tokens();
    for (std::int64_t pass = 0; pass < outer; ++pass) {
      if (inner == 1) {
        copy_row(runs, at, 0, 0);
        continue;
      }
      for (std::int64_t cell = 0; cell < at.tokens(); ++cell) runs.add(at.at(0, 0, cell), {}, inner);
    }
    outer *= at.tokens();
  }
  return std::move(runs).finish("grid", axes, 1, tokens);
}

Result<Positions> Positions::concatenate(std::span<const Positions> parts) {
  const Positions* first = nullptr;
  std::int64_t batch = 1, tokens = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Positions& part = parts[p];
    if (part.tokens() == 0) continue;
    if (first == nullptr) first = &part;
    if (part.axes() != first->axes() || (part.batch() != batch && part.batch() != 1 && batch != 1)) {
      return invalid("concatenate: parts[", p, "]: axes ", part.axes(), ", batch ", part.batch(),
                     ", expected axes ", first->axes(), ", batch ", batch == 1 ? "" : "1 or ", batch,
                     " as the parts before");
    }
    batch = std::max(batch, part.batch());
    const auto sum = impl::checked_add(tokens, part.tokens());
    if (!sum) return invalid("concatenate: more than 2^63 tokens at parts[", p, "]");
    tokens = *sum;
  }
  if (first == nullptr) return parts.empty() ? Positions() : parts[0];
  if (Status status = check_size("concatenate: axes", first->axes(), batch, tokens); !status.ok())
    return status;
  RunCollector runs;
  for (std::int64_t axis = 0; axis < first->axes(); ++axis) {
    for (std::int64_t row = 0; row < batch; ++row) {
      for (const Positions& part : parts) copy_row(runs, part, axis, part.batch() == 1 ? 0 : row);
    }
  }
  return std::move(runs).finish("concatenate", first->axes(), batch, tokens);
}

Result<Positions> Positions::rows(std::span<const Positions> each) {
  if (each.empty()) return invalid("rows: none given");
  const std::int64_t axes = each[0].axes(), tokens = each[0].tokens();
  std::int64_t batch = 0;
  for (std::size_t r = 0; r < each.size(); ++r) {
    if (each[r].axes() != axes || each[r].tokens() != tokens) {
      return invalid("rows[", r, "]: axes ", each[r].axes(), ", tokens ", each[r].tokens(),
                     ", expected axes ", axes, ", tokens ", tokens, " as rows[0]");
    }
    const auto sum = impl::checked_add(batch, each[r].batch());
    if (!sum) return invalid("rows: more than 2^63 rows at rows[", r, "]");
    batch = *sum;
  }
  if (Status status = check_size("rows: axes", axes, batch, tokens); !status.ok()) return status;
  RunCollector runs;
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    for (const Positions& one : each) {
      for (std::int64_t row = 0; row < one.batch(); ++row) copy_row(runs, one, axis, row);
    }
  }
  return std::move(runs).finish("rows", axes, batch, tokens);
}

Result<Positions> Positions::left_padded(std::span<const std::int64_t> pads_of_row, std::int64_t tokens) {
  if (tokens < 0) return invalid("left_padded: tokens ", tokens, ": must not be negative");
  const auto batch = static_cast<std::int64_t>(pads_of_row.size());
  if (Status status = check_size("left_padded: axes", 1, batch, tokens); !status.ok()) return status;
  RunCollector runs;
  for (std::size_t row = 0; row < pads_of_row.size(); ++row) {
    const std::int64_t pads = pads_of_row[row];
    if (pads < 0 || pads > tokens) {
      return invalid("left_padded: pads_of_row[", row, "] ", pads, ": must be 0 to tokens, ", tokens);
    }
    runs.add({}, {}, pads);
    runs.add({}, {1, 0}, tokens - pads);
  }
  return std::move(runs).finish("left_padded", 1, batch, tokens);
}

Result<Positions> Positions::padded(std::int64_t left, std::int64_t right, std::int64_t pad) const {
  if (left < 0 || right < 0) {
    return invalid("padded: left ", left, ", right ", right, ": must not be negative");
  }
  const auto before = impl::checked_add(left, right),
             all = before ? impl::checked_add(*before, tokens_) : before;
  if (!all) return invalid("padded: more than 2^63 tokens");
  if (Status status = check_size("padded: axes", axes_, batch_, *all); !status.ok()) return status;
  RunCollector runs;
  for (std::int64_t axis = 0; axis < axes_; ++axis) {
    for (std::int64_t row = 0; row < batch_; ++row) {
      runs.add({pad, 0}, {}, left);
      copy_row(runs, *this, axis, row);
      runs.add({pad, 0}, {}, right);
    }
  }
  return std::move(runs).finish("padded", axes_, batch_, *all);
}

}  // namespace rotary
