// SPDX-License-Identifier: Apache-2.0
/// @file
/// A Rope is everything a layer's rotation depends on besides the tokens: spectrum, pairing, rotary window,
/// direction and angle policy. Immutable, cheap to copy, safe to share between threads.
///
///     auto rope = rotary::Rope::make({.spectrum = spectrum}).value();
///     auto angles = rope.angles(rotary::Positions::range(0, tokens)).value();  // once a forward pass
///     rope.rotate(angles, q, k).value();                                       // every layer, in place
///     rope.gradient().rotate(angles, grad_q, grad_k).value();                  // the backward pass
///
///     the window of a head     | 0 ... rotary_offset | rotary_dim lanes that turn | ... head_dim |
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <rotary/angles.hpp>
#include <rotary/export.hpp>
#include <rotary/rotate.hpp>
#include <rotary/spectrum.hpp>
#include <rotary/status.hpp>
#include <string_view>

namespace rotary {

/// Which two lanes of the rotary window form pair i.
enum class Pairing : std::uint8_t {
  half_split,           ///< (i, i + pairs): GPT-NeoX, Hugging Face's rotate_half
  interleaved,          ///< (2i, 2i + 1): GPT-J, Meta's complex form, the RoFormer paper
  interleaved_to_half,  ///< reads (2i, 2i + 1), writes (i, i + pairs): DeepSeek-V3, Mistral 4
};
/// "half_split", "interleaved", "interleaved_to_half".
ROTARY_API std::string_view name(Pairing pairing) noexcept;
ROTARY_API std::optional<Pairing> pairing_from_name(std::string_view word) noexcept;

/// Which way the pairs turn, and whether A multiplies or divides. The inverse of interleaved_to_half reads
/// halves and writes interleaved lanes, and so does its gradient.
enum class Direction : std::uint8_t {
  forward = 0,           ///< by +angle, times A
  gradient = 1,          ///< by -angle, times A: the transpose
  inverse_gradient = 2,  ///< by +angle, divided by A: the gradient of `inverse`
  inverse = 3,           ///< by -angle, divided by A: undoes `forward`
};
/// "forward", "gradient", "inverse_gradient", "inverse".
ROTARY_API std::string_view name(Direction direction) noexcept;
ROTARY_API std::optional<Direction> direction_from_name(std::string_view word) noexcept;
/// What `second` does to a rotation that already has direction `first`: inverse of inverse is forward.
constexpr Direction compose(Direction first, Direction second) noexcept {
  return static_cast<Direction>(static_cast<unsigned>(first) ^ static_cast<unsigned>(second));
}

/// xPos: the rows of pair i are multiplied by z_i^e at position p, and those of keys by z_i^-e, with
/// z_i = (2i + gamma rotary_dim) / ((1 + gamma) rotary_dim) and e = (p - centre) / scale_base. A score then decays
/// with the distance. Queries and keys have a rope each, and the same centre: what was cached with another one is off
/// by z_i^(difference / scale_base). Source: Sun et al. 2022, arXiv:2212.10554.
///
///     auto queries = Rope::make({.spectrum = s, .xpos = Xpos{.scale_base = 512}}).value();
///     auto keys    = Rope::make({.spectrum = s, .xpos = Xpos{.scale_base = 512, .keys = true}}).value();
struct Xpos {
  double scale_base = 512;  ///< positions; > 0
  double centre = 0;   ///< the position whose rows are not stretched; fixed, so that cached keys stay right
  double gamma = 0.4;  ///< > 0
  bool keys = false;   ///< the reciprocal, for keys

  /// The centre of flash-attn and lucidrains: half of the tokens that a call has, so it moves when they grow.
  static Xpos moving(std::int64_t tokens, double scale_base = 512) noexcept {
    return {.scale_base = scale_base, .centre = static_cast<double>(tokens / 2)};
  }
  friend bool operator==(const Xpos&, const Xpos&) = default;
};

struct RopeOptions {
  Spectrum spectrum = {};
  Pairing pairing = Pairing::half_split;
  std::int64_t head_dim = 0;       ///< lanes of a head; 0: rotary_offset + rotary_dim
  std::int64_t rotary_offset = 0;  ///< first lane that turns
  Direction direction = Direction::forward;
  AnglePolicy policy = AnglePolicy::exact;
  std::optional<Xpos> xpos = {};  ///< rotates q or k alone
};

class ROTARY_API Rope {
 public:
  /// The widest rotary window, lanes.
  static constexpr std::int64_t max_rotary_dim = Spectrum::max_rotary_dim;

  /// Errors: a window that leaves the head, policy ggml without a base, policy table (see from_table), numbers of xpos
  /// out of range, xpos over several axes.
  static Result<Rope> make(const RopeOptions& options);

  /// cos and sin of the caller's own. `options.spectrum` and `options.policy` are not read. The table is
  /// copied.
  static Result<Rope> from_table(const AngleTable& table, const RopeOptions& options);

  /// Moving is copying: there is no rope without a state.
  Rope(const Rope&) noexcept = default;
  Rope& operator=(const Rope&) noexcept = default;
  ~Rope() = default;

  const Spectrum& spectrum() const noexcept;
  Pairing pairing() const noexcept { return pairing_; }
  std::int64_t head_dim() const noexcept;
  std::int64_t rotary_dim() const noexcept { return 2 * pairs(); }
  std::int64_t rotary_offset() const noexcept;
  std::int64_t pairs() const noexcept;
  Direction direction() const noexcept { return direction_; }
  AnglePolicy policy() const noexcept;
  /// Empty: rows keep the lengths of all pairs alike.
  std::optional<Xpos> xpos() const noexcept;

  /// One row a token. Errors: too few axes; more rows than memory holds; policy table: a position that is
  /// not whole or outside the table; xpos: a position so far from the centre that a row leaves fp32.
  Result<Angles> angles(const Positions& positions, Rows rows = Rows::held) const;

  /// The same rope turned back: inverse() undoes it (divides by A), gradient() is its transpose (times A).
  /// Both take the same Angles. Neither allocates.
  Rope inverse() const noexcept { return turned(Direction::inverse); }
  Rope gradient() const noexcept { return turned(Direction::gradient); }

  /// Validates shapes and chooses the kernel. q and k share batch, tokens and dtype and may differ in heads
  /// and strides; k may be absent. Errors name the operand: "k: head_dim 64, expected 128".
  Result<RotatePlan> plan(const OperandShape& q, const RotateOptions& options = {}) const;
  Result<RotatePlan> plan(const OperandShape& q, const OperandShape& k,
                          const RotateOptions& options = {}) const;

  /// Plans and runs; errors of both. Allocates nothing unless it fails; writes nothing if it does.
  Status rotate(const Angles& angles, const Operand& q, const RotateOptions& options = {}) const noexcept;
  Status rotate(const Angles& angles, const Operand& q, const Operand& k,
                const RotateOptions& options = {}) const noexcept;

  /// Same numbers on the same lanes: equal ropes may share Angles, different ones never do.
  friend ROTARY_API bool operator==(const Rope& a, const Rope& b) noexcept;

 private:
  friend struct impl::Store;
  Rope(std::shared_ptr<const impl::RopeState> state, Pairing pairing, Direction direction) noexcept;
  static Result<Rope> assemble(std::shared_ptr<const impl::AngleSource> source, const RopeOptions& options);
  Rope turned(Direction by) const noexcept;
  Status prepare(RotatePlan& plan, const RotateOptions& options) const;

  std::shared_ptr<const impl::RopeState> state_;
  Pairing pairing_;
  Direction direction_;
};

}  // namespace rotary
