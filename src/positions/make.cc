// SPDX-License-Identifier: Apache-2.0
// Making positions: what callers know, checked and turned into affine segments or ids.
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/checked.hpp"
#include "base/message.hpp"
#include "positions/cu_seqlens.hpp"
#include "positions/fixed_point.hpp"
#include "positions/run_collector.hpp"

namespace rotary {
namespace {

constexpr Position one{.whole = 1, .fraction = 0};

Status check_extents(std::string_view what, std::int64_t batch, std::int64_t tokens) {
  if (batch < 0 || tokens < 0) {
    return impl::invalid(what, ": batch ", batch, ", tokens ", tokens, ": none may be negative");
  }
  return {};
}

/// Error if first + tokens leaves an int64.
Status check_end(std::string_view what, std::size_t index, std::int64_t first, std::int64_t tokens) {
  if (impl::checked_add(first, tokens)) return {};
  return impl::invalid(what, "[", index, "]: ", tokens, " tokens from ", first, " on end beyond 2^63 - 1");
}

}  // namespace

void Positions::set_segments(std::vector<Segment> segments) noexcept {
  if (segments.size() == 1) {
    only_ = segments.front();
  } else {
    segments_ = std::move(segments);
  }
}

Positions Positions::range(std::int64_t first, std::int64_t last) noexcept {
  std::int64_t tokens = 0;
  if (last > first && __builtin_sub_overflow(last, first, &tokens)) {
    tokens = std::numeric_limits<std::int64_t>::max();
  }
  Positions positions(1, 1, tokens);
  positions.only_ = {0, {first, 0}, one};
  return positions;
}

Result<Positions> Positions::spaced(double first, double step, std::int64_t tokens) {
  if (Status status = check_extents("spaced", 1, tokens); !status.ok()) return status;
  const auto start = to_position(first), stride = to_position(step);
  if (!start) return impl::invalid("spaced: first: ", start.status().message());
  if (!stride) return impl::invalid("spaced: step: ", stride.status().message());
  if (std::fabs(first) + std::fabs(step) * static_cast<double>(tokens) > 0x1p62) {
    return impl::invalid("spaced: ", tokens, " tokens from ", first, " on in steps of ", step,
                         " end beyond 2^62");
  }
  Positions positions(1, 1, tokens);
  positions.only_ = {0, *start, *stride};
  return positions;
}

Result<Positions> Positions::offsets(std::span<const std::int64_t> first_of_row, std::int64_t tokens) {
  const auto batch = static_cast<std::int64_t>(first_of_row.size());
  if (Status status = check_extents("offsets", batch, tokens); !status.ok()) return status;
  if (!impl::table_size(1, batch, tokens)) {
    return impl::invalid("offsets: batch ", batch, ", tokens ", tokens, ": more than 2^63 positions");
  }
  std::vector<Segment> segments;
  segments.reserve(first_of_row.size());
  for (std::size_t row = 0; row < first_of_row.size() && tokens > 0; ++row) {
    if (Status status = check_end("offsets", row, first_of_row[row], tokens); !status.ok()) return status;
    segments.push_back({static_cast<std::int64_t>(row) * tokens, {first_of_row[row], 0}, one});
  }
  Positions positions(1, batch, tokens);
  positions.set_segments(std::move(segments));
  return positions;
}

Result<Positions> Positions::offsets(std::span<const std::int32_t> first_of_row, std::int64_t tokens) {
  const std::vector<std::int64_t> wide(first_of_row.begin(), first_of_row.end());
  return offsets(std::span<const std::int64_t>(wide), tokens);
}

template <class T>
Result<Positions> Positions::copy_ids(std::span<const T> ids, std::int64_t axes, std::int64_t batch,
                                      std::int64_t tokens) {
  if (axes < 1 || axes > max_axes) return impl::invalid("ids: axes ", axes, ", expected 1 to ", max_axes);
  if (Status status = check_extents("ids", batch, tokens); !status.ok()) return status;
  const auto size = impl::table_size(axes, batch, tokens);
  if (!size || static_cast<std::size_t>(*size) != ids.size()) {
    return impl::invalid("ids: ", ids.size(), " numbers, expected axes ", axes, " * batch ", batch,
                         " * tokens ", tokens);
  }
  Positions positions(axes, batch, tokens);
  positions.ids_.reserve(ids.size());
  for (const T& id : ids) {
    if constexpr (std::is_integral_v<T>) {
      positions.ids_.push_back({id, 0});
    } else {
      const auto position = to_position(static_cast<double>(id));
      if (!position) return impl::invalid("ids[", &id - ids.data(), "]: ", position.status().message());
      positions.ids_.push_back(*position);
    }
  }
  return positions;
}

Result<Positions> Positions::ids(std::span<const std::int32_t> ids, std::int64_t axes, std::int64_t batch,
                                 std::int64_t tokens) {
  return copy_ids(ids, axes, batch, tokens);
}
Result<Positions> Positions::ids(std::span<const std::int64_t> ids, std::int64_t axes, std::int64_t batch,
                                 std::int64_t tokens) {
  return copy_ids(ids, axes, batch, tokens);
}
Result<Positions> Positions::ids(std::span<const float> ids, std::int64_t axes, std::int64_t batch,
                                 std::int64_t tokens) {
  return copy_ids(ids, axes, batch, tokens);
}
Result<Positions> Positions::ids(std::span<const double> ids, std::int64_t axes, std::int64_t batch,
                                 std::int64_t tokens) {
  return copy_ids(ids, axes, batch, tokens);
}

Result<Positions> Positions::packed(std::span<const std::int32_t> cu_seqlens,
                                    std::span<const std::int64_t> starts) {
  return packed(std::vector<std::int64_t>(cu_seqlens.begin(), cu_seqlens.end()), starts);
}

Result<Positions> Positions::packed(std::span<const std::int64_t> cu_seqlens,
                                    std::span<const std::int64_t> starts) {
  if (Status status = impl::check_cu_seqlens(cu_seqlens); !status.ok()) return status;
  const std::size_t sequences = cu_seqlens.size() - 1;
  if (!starts.empty() && starts.size() != sequences) {
    return impl::invalid("starts: ", starts.size(), " numbers, expected ", sequences,
                         ", one a sequence of cu_seqlens");
  }
  std::vector<Segment> segments;
  segments.reserve(sequences);
  for (std::size_t s = 0; s < sequences; ++s) {
    const std::int64_t start = starts.empty() ? 0 : starts[s], tokens = cu_seqlens[s + 1] - cu_seqlens[s];
    if (tokens == 0) continue;
    if (Status status = check_end("starts", s, start, tokens); !status.ok()) return status;
    segments.push_back({cu_seqlens[s], {start, 0}, one});
  }
  Positions positions(1, 1, cu_seqlens.back());
  positions.set_segments(std::move(segments));
  return positions;
}

}  // namespace rotary
