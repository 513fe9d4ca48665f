// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <rotary/axes.hpp>
#include <rotary/spectrum.hpp>

#include "base/message.hpp"
#include "base/names.hpp"

namespace rotary {
namespace {

using impl::invalid;
using Map = std::vector<std::uint8_t>;
using Sections = std::span<const std::int64_t>;

constexpr std::string_view names[] = {"contiguous",  "interleaved", "imrope",
                                      "round_robin", "spread",      "space_then_time"};

/// The pairs of all sections together.
Result<std::size_t> count_pairs(Sections sections) {
  if (sections.size() > static_cast<std::size_t>(Spectrum::max_axes)) {
    return invalid("axis_sections: ", sections.size(), " sections, at most ", Spectrum::max_axes);
  }
  constexpr std::int64_t most = Spectrum::max_rotary_dim / 2;
  std::int64_t pairs = 0;
  for (std::size_t a = 0; a < sections.size(); ++a) {
    if (sections[a] < 0) return invalid("axis_sections[", a, "] ", sections[a], ": must not be negative");
    if (sections[a] > most - pairs) return invalid("axis_sections: sum over ", most, " at section ", a);
    pairs += sections[a];
  }
  return static_cast<std::size_t>(pairs);
}

Map in_runs(Sections sections) {
  Map map;
  for (std::size_t a = 0; a < sections.size(); ++a) {
    map.insert(map.end(), static_cast<std::size_t>(sections[a]), static_cast<std::uint8_t>(a));
  }
  return map;
}

/// Of n axes that take turns, axis a has the pairs a, a + n, ... up to n * sections[a]; the others are of
/// `rest`.
Result<Map> in_turns(Sections sections, std::size_t pairs, std::size_t rest) {
  Map map(pairs, static_cast<std::uint8_t>(rest));
  for (std::size_t a = 0; a < sections.size(); ++a) {
    const auto wanted = static_cast<std::size_t>(sections[a]);
    std::size_t taken = 0;
    for (std::size_t i = a; i < pairs && taken < wanted; i += sections.size(), ++taken) {
      map[i] = static_cast<std::uint8_t>(a);
    }
    if (taken < wanted && a != 0) {  // what axis 0 misses here, it has from the rest, or loses to it
      return invalid("axis_sections[", a, "] ", wanted, ": of ", pairs, " pairs only ", taken,
                     " fall to axis ", a, " when the axes take turns");
    }
  }
  return map;
}

Result<Map> imrope(Sections sections, std::size_t pairs) {
  if (sections.size() == 4 && sections[3] == 0) sections = sections.first(3);
  if (sections.size() != 3) return invalid("axis_sections: ", sections.size(), " sections, imrope has 3");
  return in_turns(sections, pairs, 3);
}

Map round_robin(Sections sections, std::size_t pairs) {
  std::vector<std::int64_t> left(sections.begin(), sections.end());
  Map map;
  for (std::size_t i = 0; i < pairs; ++i) {
    std::size_t a = i % left.size();
    while (left[a] == 0) a = (a + 1) % left.size();
    --left[a];
    map.push_back(static_cast<std::uint8_t>(a));
  }
  return map;
}

/// Each pair goes to the axis with the smallest share of its section placed, but the one before only if there
/// is no other. Of three axes the first keeps one pair for the end.
Result<Map> spread(Sections sections, std::size_t pairs) {
  if (sections.size() < 2 || sections.size() > 3) {
    return invalid("axis_sections: ", sections.size(), " sections, spread has 2 or 3");
  }
  std::vector<std::int64_t> all(sections.begin(), sections.end()), placed(all.size(), 0);
  const bool keeps_one = all.size() == 3;
  if (keeps_one && all[0]-- == 0) return invalid("axis_sections[0] 0: spread ends on a pair of axis 0");
  Map map;
  for (std::size_t last = all.size(); map.size() < pairs - keeps_one;) {
    std::size_t best = last;
    for (std::size_t a = 0; a < all.size(); ++a) {
      if (a == last || placed[a] == all[a]) continue;
      if (best == last || placed[a] * all[best] < placed[best] * all[a]) best = a;
    }
    ++placed[best];
    last = best;
    map.push_back(static_cast<std::uint8_t>(best));
  }
  if (keeps_one) map.push_back(0);
  return map;
}

Result<Map> space_then_time(Sections sections) {
  if (sections.empty()) return Map();
  Map map = round_robin(sections.subspan(1), in_runs(sections.subspan(1)).size());
  for (std::uint8_t& axis : map) ++axis;
  map.insert(map.end(), static_cast<std::size_t>(sections[0]), 0);
  return map;
}

}  // namespace

std::string_view name(AxisOrder order) noexcept { return impl::name_at(names, order); }
std::optional<AxisOrder> axis_order_from_name(std::string_view word) noexcept {
  return impl::find_name<AxisOrder>(names, word);
}

Result<std::vector<std::uint8_t>> axis_map(AxisOrder order, std::span<const std::int64_t> sections) {
  const auto pairs = count_pairs(sections);
  if (!pairs) return pairs.status();
  switch (order) {
    case AxisOrder::contiguous:
      return in_runs(sections);
    case AxisOrder::interleaved:
      return in_turns(sections, *pairs, 0);
    case AxisOrder::imrope:
      return imrope(sections, *pairs);
    case AxisOrder::round_robin:
      return round_robin(sections, *pairs);
    case AxisOrder::spread:
      return spread(sections, *pairs);
    case AxisOrder::space_then_time:
      return space_then_time(sections);
  }
  return invalid("axis_order ", static_cast<int>(order), ": no such order");
}

}  // namespace rotary
