// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <vector>

#include "base/checked.hpp"
#include "classic/table.hpp"

namespace rotary::classic::palm {
namespace {

/// The old table's rows as they are, and new ones behind them.
Result<CosSin> extend(const Rope& rope, const CosSin& old, std::string_view what, std::int64_t rows) {
  const std::int64_t pairs = rope.pairs(), dim = 2 * pairs;
  auto cos = impl::make_rows<float>(what, rows, dim);
  if (!cos) return cos.status();
  auto sin = impl::make_rows<float>(what, rows, dim);
  if (!sin) return sin.status();
  std::copy_n(old.cos.data.get(), old.cos.rows * dim, cos->get());
  std::copy_n(old.sin.data.get(), old.sin.rows * dim, sin->get());
  const auto angles = rope.angles(Positions::range(old.cos.rows, rows), Rows::on_the_way);
  if (!angles) return angles.status();
  for (std::int64_t p = old.cos.rows; p < rows; ++p) {
    const std::span c(cos->get() + p * dim, static_cast<std::size_t>(pairs));
    const std::span s(sin->get() + p * dim, static_cast<std::size_t>(pairs));
    if (Status status = angles->row(0, p - old.cos.rows, c, s); !status.ok()) return status;
    std::copy(c.begin(), c.end(), c.data() + pairs);
    std::copy(s.begin(), s.end(), s.data() + pairs);
  }
  return CosSin{{{*cos, cos->get()}, rows, dim}, {{*sin, sin->get()}, rows, dim}};
}

/// The rows that the position ids name, one behind the other.
Result<std::shared_ptr<float[]>> gather(std::string_view name, const Table<float>& table,
                                        const Positions& ids) {
  const auto count = impl::checked_mul(ids.batch(), ids.tokens());
  auto rows = impl::make_rows<float>("position_ids", count.value_or(-1), table.width);
  if (!rows) return rows.status();
  float* next = rows->get();
  for (std::int64_t b = 0; b < ids.batch(); ++b) {
    for (std::int64_t t = 0; t < ids.tokens(); ++t) {
      const Position p = ids.at(0, b, t);
      if (p.fraction != 0 || p.whole < 0 || p.whole >= table.rows) {
        return impl::failure(StatusCode::out_of_range, "position ", to_double(p), " of batch row ", b,
                             ", token ", t, ": ", name, " has the rows 0:", table.rows);
      }
      next = std::ranges::copy(table[p.whole], next).out;
    }
  }
  return rows;
}

}  // namespace

struct RotaryEmbedding::Cache {
  Rope rope;
  CosSin table;
  std::mutex looking;  // for as long as a pointer's copy takes: readers never wait for new rows
  std::mutex growing;  // one thread makes new rows

  explicit Cache(const Rope& of) : rope(of), table() {
    table.cos.width = table.sin.width = rope.rotary_dim();
  }

  CosSin now() {
    const std::lock_guard lock(looking);
    return table;
  }
  Status grow(std::string_view what, std::int64_t rows) {
    const std::lock_guard alone(growing);
    const CosSin old = now();
    if (old.cos.rows >= rows) return {};
    // By half at least, so that a sequence growing token by token copies seldom.
    auto longer = extend(rope, old, what, std::max(rows, old.cos.rows + old.cos.rows / 2));
    if (!longer) return longer.status();
    const std::lock_guard lock(looking);
    table = *std::move(longer);
    return {};
  }
};

RotaryEmbedding::RotaryEmbedding(std::shared_ptr<Cache> cache) noexcept : cache_(std::move(cache)) {}

Result<RotaryEmbedding> RotaryEmbedding::make(std::int64_t dim, std::int64_t max_position_embeddings,
                                              double base) {
  const auto spectrum = Spectrum::make({.rotary_dim = dim, .base = base});
  if (!spectrum) return spectrum.status();
  const auto rope =
      Rope::make({.spectrum = *spectrum, .pairing = Pairing::half_split, .policy = AnglePolicy::fp32});
  if (!rope) return rope.status();
  if (max_position_embeddings < 0) {
    return impl::invalid("max_position_embeddings ", max_position_embeddings, ": must not be negative");
  }
  auto cache = std::make_shared<Cache>(*rope);
  if (Status status = cache->grow("max_position_embeddings", max_position_embeddings); !status.ok()) {
    return status;
  }
  return RotaryEmbedding(std::move(cache));
}

Result<CosSin> RotaryEmbedding::operator()(std::int64_t seq_len) const {
  CosSin table = cache_->now();
  if (seq_len > table.cos.rows) {
    if (Status status = cache_->grow("seq_len", seq_len); !status.ok()) return status;
    table = cache_->now();
  }
  auto cos = table.cos.slice(0, seq_len), sin = table.sin.slice(0, seq_len);
  if (!cos) return cos.status();
  return CosSin{*std::move(cos), *std::move(sin)};
}

std::int64_t RotaryEmbedding::max_seq_len_cached() const noexcept { return cache_->now().cos.rows; }
const Rope& RotaryEmbedding::rope() const noexcept { return cache_->rope; }

Status rotate_half(const Operand& x) { return impl::quarter_turn("rotate_half", Pairing::half_split, x); }

Status apply_rotary_pos_emb(const Operand& q, const Operand& k, const Table<float>& cos,
                            const Table<float>& sin, const Positions& position_ids) {
  if (cos.rows != sin.rows || cos.width != sin.width) {
    return impl::invalid("sin [", sin.rows, ", ", sin.width, "]: expected [", cos.rows, ", ", cos.width,
                         "] as cos");
  }
  const HeadsShape& shape = q.in.shape;
  const std::int64_t batch = position_ids.batch(), tokens = position_ids.tokens();
  if (position_ids.axes() != 1 || (batch != 1 && batch != shape.batch) || tokens != shape.tokens) {
    return impl::invalid("position_ids [", position_ids.axes(), ", ", batch, ", ", tokens,
                         "]: expected [1, 1 or ", shape.batch, ", ", shape.tokens,
                         "] (axes, batch, tokens) as q");
  }
  const auto cos_rows = gather("cos", cos, position_ids);
  if (!cos_rows) return cos_rows.status();
  const auto sin_rows = gather("sin", sin, position_ids);
  if (!sin_rows) return sin_rows.status();
  // Token t of batch row b now stands at row b * tokens + t.
  std::vector<std::int64_t> first_of_row;
  for (std::int64_t b = 0; b < batch; ++b) first_of_row.push_back(b * tokens);
  const auto positions = Positions::offsets(first_of_row, tokens);
  if (!positions) return positions.status();
  const auto numbers = static_cast<std::size_t>(batch * tokens * cos.width);
  return impl::rotate_by(
      {{cos_rows->get(), numbers}, {sin_rows->get(), numbers}, batch * tokens, cos.width, cos.width},
      Pairing::half_split, *positions, q, &k);
}

}  // namespace rotary::classic::palm
