// SPDX-License-Identifier: Apache-2.0
// What turns positions into rows of cos and sin: one class a policy. Immutable and shared by a Rope and its
// Angles.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <rotary/angles.hpp>
#include <rotary/positions.hpp>
#include <rotary/rope.hpp>
#include <rotary/spectrum.hpp>
#include <rotary/status.hpp>

namespace rotary::impl {

class AngleSource {
 public:
  virtual ~AngleSource() = default;

  /// Error unless every row that these positions ask for exists: enough axes; table rows in range.
  virtual Status check(const Positions& positions) const = 0;

  /// Writes the rows of `count` tokens of one batch row from `token` on; a row is pairs() cosines, then
  /// pairs() sines, A included. The positions have passed check(). Allocates nothing.
  virtual void fill(const Positions& positions, std::int64_t batch_row, std::int64_t token,
                    std::int64_t count, float* rows) const noexcept = 0;
  virtual void fill(const Positions& positions, std::int64_t batch_row, std::int64_t token,
                    std::int64_t count, double* rows) const noexcept = 0;

  AnglePolicy policy() const noexcept { return policy_; }
  std::int64_t pairs() const noexcept { return spectrum_.pairs(); }
  const Spectrum& spectrum() const noexcept { return spectrum_; }
  /// Set where rows stretch each pair by another number (xpos.cc).
  virtual std::optional<Xpos> xpos() const noexcept { return std::nullopt; }
  /// Same rows for the same positions. By content, never by address.
  virtual bool equals(const AngleSource& other) const noexcept {
    return policy_ == other.policy_ && spectrum_ == other.spectrum_ && xpos() == other.xpos();
  }

 protected:
  AngleSource(AnglePolicy policy, const Spectrum& spectrum) : policy_(policy), spectrum_(spectrum) {}

 private:
  AnglePolicy policy_;
  Spectrum spectrum_;
};

/// For the policies exact, fp32 and ggml. Error: ggml without a base; table.
Result<std::shared_ptr<const AngleSource>> make_angle_source(AnglePolicy policy, const Spectrum& spectrum);
/// Rows of `source`, stretched as xPos does. Error: a number out of range, several axes.
Result<std::shared_ptr<const AngleSource>> make_xpos_source(std::shared_ptr<const AngleSource> source,
                                                            const Xpos& xpos);
/// A copy of the caller's table, folded to one number a pair. `pairing` is the lane order of a full-width
/// table.
Result<std::shared_ptr<const AngleSource>> make_table_source(const AngleTable& table, Pairing pairing);

}  // namespace rotary::impl
