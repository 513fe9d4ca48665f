// SPDX-License-Identifier: Apache-2.0
// Policy table: rows of the caller's own, copied and folded to one number a pair.
#include <bit>

#include "angles/row_source.hpp"
#include "base/checked.hpp"

namespace rotary::impl {
namespace {

struct TableRows {
  std::vector<float> numbers;  // [rows, 2, pairs]
  std::int64_t rows;
  std::size_t pairs;

  template <class Real>
  void row(const AxisPositions& at, Real* cos, Real* sin) const noexcept {
    const float* from = numbers.data() + 2 * pairs * static_cast<std::size_t>(at[0].whole);
    std::copy(from, from + pairs, cos);
    std::copy(from + pairs, from + 2 * pairs, sin);
  }
};

class TableSource final : public RowSource<TableRows> {
 public:
  using RowSource::RowSource;

  Status check(const Positions& positions) const override {
    constexpr std::int64_t block = 64;
    std::array<Position, block> at;
    for (std::int64_t row = 0; row < positions.batch(); ++row) {
      for (std::int64_t begin = 0; begin < positions.tokens(); begin += block) {
        const std::int64_t count = std::min(block, positions.tokens() - begin);
        positions.read(0, row, begin, std::span(at).first(static_cast<std::size_t>(count)));
        for (std::int64_t t = 0; t < count; ++t) {
          if (Status status = check(at[static_cast<std::size_t>(t)], row, begin + t); !status.ok()) {
            return status;
          }
        }
      }
    }
    return {};
  }

  /// Bit for bit, so that a NaN equals itself and the zeros differ.
  bool equals(const AngleSource& other) const noexcept override {
    if (!AngleSource::equals(other)) return false;
    const TableRows &a = policy_rows(), &b = static_cast<const TableSource&>(other).policy_rows();
    return std::equal(
        a.numbers.begin(), a.numbers.end(), b.numbers.begin(), b.numbers.end(),
        [](float x, float y) { return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y); });
  }

 private:
  Status check(Position position, std::int64_t row, std::int64_t token) const {
    const std::int64_t rows = policy_rows().rows;
    if (position.fraction != 0) {
      return invalid("position ", to_double(position), " (row ", row, ", token ", token,
                     "): a table takes whole positions only");
    }
    if (position.whole >= 0 && position.whole < rows) return {};
    return failure(StatusCode::out_of_range, "position ", position.whole, " (row ", row, ", token ", token,
                   "): the table has the rows 0 to ", rows - 1);
  }
};

/// Where lane i of the two lanes of a pair lies. interleaved_to_half turns halves, so its tables have halves
/// too.
struct PairLanes {
  std::size_t x, y;
};
PairLanes lanes_of(Pairing pairing, std::size_t pair, std::size_t pairs) noexcept {
  if (pairing == Pairing::interleaved) return {2 * pair, 2 * pair + 1};
  return {pair, pair + pairs};
}

Status fold(std::string_view name, std::span<const float> full, std::int64_t row, Pairing pairing,
            float* half, std::size_t pairs) {
  for (std::size_t i = 0; i < pairs; ++i) {
    const PairLanes lane = lanes_of(pairing, i, pairs);
    const float x = full[lane.x], y = full[lane.y];
    if (std::bit_cast<std::uint32_t>(x) != std::bit_cast<std::uint32_t>(y)) {
      return invalid("table: ", name, " row ", row, ": lane ", lane.x, " is ", x, " and lane ", lane.y,
                     " is ", y, ", but they form pair ", i, " of ", rotary::name(pairing),
                     " and must be equal");
    }
    half[i] = x;
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const AngleSource>> make_table_source(const AngleTable& table, Pairing pairing) {
  const std::int64_t width = table.width;
  const std::int64_t rotary_dim =
      table.rotary_dim != 0 ? table.rotary_dim : checked_mul<std::int64_t>(width, 2).value_or(0);
  if (table.rows < 1 || width < 1) {
    return invalid("table: rows ", table.rows, ", width ", width, ": empty");
  }
  if (table.cos.size() != table.sin.size()) {
    return invalid("table: cos has ", table.cos.size(), " numbers, sin has ", table.sin.size());
  }
  const auto size = checked_mul(table.rows, width);
  if (!size || static_cast<std::size_t>(*size) != table.cos.size()) {
    return invalid("table: cos and sin have ", table.cos.size(), " numbers, expected rows ", table.rows,
                   " * width ", width);
  }
  if (rotary_dim % 2 != 0 || (width != rotary_dim && width != rotary_dim / 2)) {
    return invalid("table: width ", width, ", expected rotary_dim ", rotary_dim, " or half of it");
  }
  const auto pairs = static_cast<std::size_t>(rotary_dim / 2), lanes = static_cast<std::size_t>(width);
  TableRows rows{.numbers = {}, .rows = table.rows, .pairs = pairs};
  rows.numbers.resize(2 * pairs * static_cast<std::size_t>(table.rows));
  float* to = rows.numbers.data();
  for (std::int64_t row = 0; row < table.rows; ++row) {
    for (const auto& [name, given] : {std::pair{"cos", table.cos}, std::pair{"sin", table.sin}}) {
      const std::span<const float> from = given.subspan(static_cast<std::size_t>(row) * lanes, lanes);
      if (lanes == pairs) {
        std::copy(from.begin(), from.end(), to);
      } else if (Status status = fold(name, from, row, pairing, to, pairs); !status.ok()) {
        return status;
      }
      to += pairs;
    }
  }
  // A table has no frequencies: its spectrum says how many pairs there are, and that they all take axis 0.
  auto spectrum = Spectrum::from_inv_freq(std::vector<double>(pairs, 0.0));
  if (!spectrum) return spectrum.status();
  return std::shared_ptr<const AngleSource>(
      std::make_shared<const TableSource>(AnglePolicy::table, *spectrum, std::move(rows)));
}

}  // namespace rotary::impl
