// SPDX-License-Identifier: Apache-2.0
/// @file
/// The names people know from published code, as thin wrappers over the core.
///
///     namespace llama      complex numbers of magnitude 1, adjacent lanes, [batch, tokens, heads, head_dim]
///     namespace palm       cos and sin as wide as the head, two halves, [batch, heads, tokens, head_dim]
///     namespace textbook   x cos + rotate_every_two(x) sin, adjacent lanes, [batch, tokens, dim]
///
/// Where the published functions return new tensors, these take an Operand: a view alone is turned in place,
/// {from, to} writes to another. f16 and bf16 are computed in float and rounded once, as published; f64 is
/// computed in double. The tables follow the published fp32 arithmetic (angle policy fp32), whose error grows
/// with the position; for exact angles, and for speed over many layers, make a Rope. docs/classic.md compares
/// the three.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <rotary/export.hpp>
#include <rotary/positions.hpp>
#include <rotary/rope.hpp>
#include <rotary/rotate.hpp>
#include <rotary/status.hpp>
#include <rotary/tensor.hpp>
#include <span>

namespace rotary::classic {

/// Rows of numbers, one row a position, never written again: copies and slices share the memory.
template <class T>
struct ROTARY_API Table {
  std::shared_ptr<const T> data;  ///< [rows, width]
  std::int64_t rows = 0, width = 0;

  /// The numbers of one row; the index must be in range.
  std::span<const T> operator[](std::int64_t row) const noexcept {
    return {data.get() + row * width, static_cast<std::size_t>(width)};
  }
  /// The rows first ... last - 1, as Python's table[first : last]. Error: rows that the table lacks.
  Result<Table> slice(std::int64_t first, std::int64_t last) const;
};
extern template struct Table<float>;
extern template struct Table<std::complex<float>>;

/// As LLaMA was published:
///
///     auto freqs_cis = llama::precompute_freqs_cis(head_dim, 2 * max_seq_len).value();
///     auto now = freqs_cis.slice(start_pos, start_pos + seqlen).value();
///     llama::apply_rotary_emb(xq, xk, now).value();   // in place; or ({xq, xq_out}, {xk, xk_out}, now)
namespace llama {

using FreqsCis = Table<std::complex<float>>;

/// [end, dim / 2]: row t, pair i holds cos(t w) + i sin(t w), w = base^(-2i/dim).
/// Errors: an odd or negative dim, a base that is not positive and finite, a negative or too large end.
ROTARY_API Result<FreqsCis> precompute_freqs_cis(std::int64_t dim, std::int64_t end, double base = 10000);

/// freqs_cis seen with the four axes of x: one row a token, the same for every batch row and head.
struct Broadcast {
  FreqsCis freqs_cis;
  std::array<std::int64_t, 4> shape = {};  ///< [1, tokens, 1, head_dim / 2]

  std::complex<float> operator()(std::int64_t /*batch*/, std::int64_t token, std::int64_t /*head*/,
                                 std::int64_t pair) const noexcept {
    return freqs_cis[token][static_cast<std::size_t>(pair)];
  }
};
/// Error unless freqs_cis is [tokens of x, head_dim of x / 2].
ROTARY_API Result<Broadcast> reshape_for_broadcast(const FreqsCis& freqs_cis, const HeadsShape& x);

/// Token t of xq and xk times row t of freqs_cis, each pair (2i, 2i + 1) taken as a complex number. Views of
/// [batch, tokens, heads, head_dim]; xk may have fewer heads. Errors: those of reshape_for_broadcast, and of
/// Rope::rotate, which calls the operands q and k.
ROTARY_API Status apply_rotary_emb(const Operand& xq, const Operand& xk, const FreqsCis& freqs_cis);

}  // namespace llama

/// As PaLM re-implementations, Baichuan and the first Transformers models have it:
///
///     auto rotary_emb = palm::RotaryEmbedding::make(head_dim).value();   // once
///     auto [cos, sin] = rotary_emb(seq_len).value();
///     palm::apply_rotary_pos_emb(q, k, cos, sin, position_ids).value();
namespace palm {

/// [rows, dim]; the second half of a row repeats the first.
struct CosSin {
  Table<float> cos, sin;
};

/// Holds cos and sin for positions 0 ... max_position_embeddings - 1 and more when a longer sequence comes.
/// Any number of threads may call one object, or copies of it, which share the cache.
class ROTARY_API RotaryEmbedding {
 public:
  /// Errors: an odd or negative dim, a base that is not positive and finite, a negative or too large length.
  static Result<RotaryEmbedding> make(std::int64_t dim, std::int64_t max_position_embeddings = 2048,
                                      double base = 10000);

  /// The first seq_len rows. Rows once given keep their bits and stay valid, however the cache grows.
  /// Error: a negative or too large seq_len.
  Result<CosSin> operator()(std::int64_t seq_len) const;

  /// Rows in the cache now.
  std::int64_t max_seq_len_cached() const noexcept;
  /// The core's form of the same: half_split, policy fp32.
  const Rope& rope() const noexcept;

 private:
  struct Cache;
  explicit RotaryEmbedding(std::shared_ptr<Cache> cache) noexcept;
  std::shared_ptr<Cache> cache_;
};

/// (x1, x2) -> (-x2, x1) on the two halves of a head: a quarter turn of every pair. Finite numbers.
ROTARY_API Status rotate_half(const Operand& x);

/// q cos + rotate_half(q) sin with the rows that position_ids names, and the same for k. Views of
/// [batch, heads, tokens, head_dim] (rotary::bhtd); position_ids whole, [batch, tokens], or [tokens] for
/// every batch row. Errors: a position outside the tables, tables of different shapes or whose halves differ,
/// and those of Rope::rotate.
ROTARY_API Status apply_rotary_pos_emb(const Operand& q, const Operand& k, const Table<float>& cos,
                                       const Table<float>& sin, const Positions& position_ids);

}  // namespace palm

/// As in textbooks after Su et al. 2021, arXiv:2104.09864, equation 34:
///
///     auto rope = textbook::RoPE::make(dim).value();
///     rope(positions, textbook::btd(x, batch, tokens, dim)).value();
namespace textbook {

/// Contiguous [batch, tokens, dim]: one head a token.
template <class T>
auto btd(T* data, std::int64_t batch, std::int64_t tokens, std::int64_t dim) noexcept {
  return bthd(data, batch, tokens, 1, dim);
}

class ROTARY_API RoPE {
 public:
  /// Errors: an odd or negative dim, a base that is not positive and finite.
  static Result<RoPE> make(std::int64_t dim, double base = 10000);

  /// x of [batch, tokens, dim]; positions [batch, tokens], or [tokens] for every batch row. Turns by
  /// +position * frequency. Errors: those of Rope::angles and Rope::rotate.
  Status operator()(const Positions& positions, const Operand& x) const;

  /// The core's form of the same: interleaved, policy fp32.
  const Rope& rope() const noexcept { return rope_; }

 private:
  explicit RoPE(Rope rope) noexcept : rope_(std::move(rope)) {}
  Rope rope_;
};

/// (x0, x1) -> (-x1, x0) on adjacent lanes: a quarter turn of every pair. Finite numbers.
ROTARY_API Status rotate_every_two(const Operand& x);

}  // namespace textbook

}  // namespace rotary::classic
