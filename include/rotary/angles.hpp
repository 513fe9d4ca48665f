// SPDX-License-Identifier: Apache-2.0
/// @file
/// Angles: one row of cos and sin a token, made once a forward pass and used by every layer.
///
///     auto angles = rope.angles(rotary::Positions::range(0, tokens)).value();
///     ...                                                         // every layer: rope.rotate(angles, q, k)
///     angles.refill(rotary::Positions::range(p, p + 1)).value();  // next step; does not allocate
///
/// A row of `pairs` pairs, A included:   | cos 0 | cos 1 | ... | cos n-1 | sin 0 | sin 1 | ... | sin n-1 |
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <rotary/export.hpp>
#include <rotary/positions.hpp>
#include <rotary/status.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace rotary {

/// How cos and sin come from position and frequency. The policy is part of the Rope and printed by every
/// tool.
enum class AnglePolicy {
  exact,  ///< of the real product position * inv_freq; absolute error <= 3.0e-8 at any position (f64: 2e-16)
  fp32,   ///< inverse frequency, then product, each rounded to fp32, as Transformers and vLLM do
  ggml,   ///< the running fp32 product of llama.cpp's CPU path
  table,  ///< cos and sin given by the caller
};
/// "exact", "fp32", "ggml", "table".
ROTARY_API std::string_view name(AnglePolicy policy) noexcept;
ROTARY_API std::optional<AnglePolicy> angle_policy_from_name(std::string_view word) noexcept;

/// Whether Angles keep their rows in memory or make them while rotating. Same bits; a held row costs
/// rotary_dim * 4 bytes a token, a made one about as long as reading it from memory.
enum class Rows { held, on_the_way };

namespace impl {
class AngleSource;

/// Memory that begins with a line of the caches: rows of whole lines are loaded by the line.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) noexcept {}
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), line)); }
  void deallocate(T* memory, std::size_t) noexcept { ::operator delete(memory, line); }
  friend bool operator==(LineAllocator, LineAllocator) noexcept { return true; }
};
}  // namespace impl

class ROTARY_API Angles {
 public:
  Angles(const Angles&) = default;
  Angles& operator=(const Angles&) = default;
  /// Leaves angles of the same rope without tokens behind.
  Angles(Angles&& other) noexcept : source_(other.source_), rows_(other.rows_) { take(other); }
  Angles& operator=(Angles&& other) noexcept {
    source_ = other.source_;
    rows_ = other.rows_;
    take(other);
    return *this;
  }
  ~Angles() = default;

  std::int64_t batch() const noexcept { return positions_.batch(); }
  std::int64_t tokens() const noexcept { return positions_.tokens(); }
  std::int64_t pairs() const noexcept;
  AnglePolicy policy() const noexcept;
  Rows rows() const noexcept { return rows_; }
  const Positions& positions() const noexcept { return positions_; }

  /// New positions, same rope; allocates only where there are more rows, ids or sequences than ever before.
  /// On error nothing changes. Errors: as Rope::angles; more rows than memory holds.
  Status refill(const Positions& positions);

  /// Copies the row of one token: cos and sin as the rotation uses them, A included. Each span takes pairs()
  /// numbers. Error: an index out of range, a span of another size.
  Status row(std::int64_t batch_row, std::int64_t token, std::span<float> cos, std::span<float> sin) const;
  Status row(std::int64_t batch_row, std::int64_t token, std::span<double> cos, std::span<double> sin) const;

 private:
  friend class Rope;
  friend class RotatePlan;
  Angles(std::shared_ptr<const impl::AngleSource> source, Rows rows) noexcept;
  void take(Angles& other) noexcept {
    if (this == &other) return;
    positions_ = std::move(other.positions_);
    held_ = std::move(other.held_);
  }
  Status check_row(std::int64_t batch_row, std::int64_t token, std::size_t cos, std::size_t sin) const;

  std::shared_ptr<const impl::AngleSource> source_;
  Rows rows_ = Rows::held;
  Positions positions_;
  // [batch, tokens, 2, pairs], and what larger positions have left behind it
  std::vector<float, impl::LineAllocator<float>> held_;
};

/// cos and sin of the caller's own, for the policy `table`: position p takes row p. Any numbers, on the unit
/// circle or not; A is taken to be in them.
struct AngleTable {
  std::span<const float> cos;  ///< [rows, width]
  std::span<const float> sin;  ///< [rows, width]
  std::int64_t rows = 0;
  /// rotary_dim / 2 (one number a pair), or rotary_dim (one a lane: both lanes of a pair must agree to the
  /// bit, or the table is refused). Lanes are in the order of the rope's pairing; of interleaved_to_half, in
  /// halves, as it writes them.
  std::int64_t width = 0;
  std::int64_t rotary_dim = 0;  ///< lanes that turn; 0: twice the width
};

}  // namespace rotary
