// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <rotary/grids.hpp>

#include "base/checked.hpp"
#include "base/message.hpp"
#include "positions/run_collector.hpp"

namespace rotary {
namespace {

using impl::invalid;

Status check_cells(std::string_view what, std::int64_t cells) {
  if (cells >= 0) return {};
  return invalid(what, ": ", cells, " cells: must not be negative");
}

}  // namespace

Result<Positions> centred_cells(std::int64_t cells) {
  if (Status status = check_cells("centred_cells", cells); !status.ok()) return status;
  return Positions::range(cells / 2 - cells, cells / 2);
}

Result<Positions> patch_centres(std::int64_t cells) {
  if (Status status = check_cells("patch_centres", cells); !status.ok()) return status;
  if (cells == 0) return Positions();
  const auto n = static_cast<double>(cells);
  return Positions::spaced((1 - n) / n, 2 / n, cells);
}

Result<Positions> evenly_between(double first, double last, std::int64_t cells) {
  if (Status status = check_cells("evenly_between", cells); !status.ok()) return status;
  if (cells == 0) return Positions();
  return Positions::spaced(first, (last - first) / static_cast<double>(cells), cells);
}

Result<Positions> whole_steps(double step, std::int64_t cells) {
  if (Status status = check_cells("whole_steps", cells); !status.ok()) return status;
  constexpr std::int64_t most = 1 << 24;  // whole in fp32
  if (cells > most) return invalid("whole_steps: ", cells, " cells, at most ", most);
  const float fp32_step = static_cast<float>(step);
  if (!(std::fabs(fp32_step) * static_cast<float>(most) <= 0x1p53F)) {
    return invalid("whole_steps: step ", step, ": must be finite and at most 2^29");
  }
  impl::RunCollector runs;
  for (std::int64_t i = 0; i < cells; ++i) {
    runs.add({static_cast<std::int64_t>(static_cast<float>(i) * fp32_step), 0}, {}, 1);
  }
  return std::move(runs).finish("whole_steps", 1, 1, cells);
}

Result<std::vector<TokenSegment>> block_order(std::int64_t frames, std::int64_t height, std::int64_t width,
                                              std::int64_t block) {
  if (frames < 0 || height < 0 || width < 0) {
    return invalid("block_order: frames ", frames, ", height ", height, ", width ", width,
                   ": none may be negative");
  }
  if (block < 1 || height % block != 0 || width % block != 0) {
    return invalid("block_order: block ", block, ": must divide height ", height, " and width ", width);
  }
  std::vector<TokenSegment> segments;
  const auto rows = impl::checked_mul(frames, height),
             count = rows ? impl::checked_mul(*rows, width / block) : rows;
  if (!count || *count > impl::RunCollector::most_runs) {
    return invalid("block_order: ", frames, " frames of ", height, " rows with ", width / block, " runs of ",
                   block, " patches, at most ", impl::RunCollector::most_runs, " runs together");
  }
  segments.reserve(static_cast<std::size_t>(*count));
  for (std::int64_t band = 0; width > 0 && band < *rows; band += block) {  // block rows of one frame
    for (std::int64_t column = 0; column < width; column += block) {
      for (std::int64_t row = band; row < band + block; ++row)
        segments.push_back({row * width + column, block});
    }
  }
  return segments;
}

}  // namespace rotary
