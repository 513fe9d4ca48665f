// SPDX-License-Identifier: Apache-2.0
// The part of an angle source that every policy shares: positions of the right axes go in, rows come out one
// after the other. A policy is a struct with
//
//     template <class Real> void row(const AxisPositions& at, Real* cos, Real* sin) const noexcept;
//
// and may have another for rows of several tokens at once, one behind the other, of the same bits:
//
//     void rows(const AxisPositions& first, std::int64_t tokens, Real* rows) const noexcept;
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "angles/angle_source.hpp"
#include "base/message.hpp"

namespace rotary::impl {

static_assert(Spectrum::max_axes <= Positions::max_axes);

/// Where one token stands on each axis.
class AxisPositions {
 public:
  AxisPositions(const Position* first, std::int64_t stride) noexcept : first_(first), stride_(stride) {}
  const Position& operator[](std::size_t axis) const noexcept {
    return first_[static_cast<std::int64_t>(axis) * stride_];
  }
  /// Where the t-th token after this one stands.
  AxisPositions after(std::int64_t t) const noexcept { return {first_ + t, stride_}; }

 private:
  const Position* first_;
  std::int64_t stride_;
};

template <class Policy>
class RowSource : public AngleSource {
 public:
  RowSource(AnglePolicy name, const Spectrum& spectrum, Policy policy)
      : AngleSource(name, spectrum), axes_(spectrum.axes()), rows_(std::move(policy)) {}

  Status check(const Positions& positions) const override {
    if (positions.axes() >= axes_) return {};
    return invalid("positions: axes ", positions.axes(), ", expected at least ", axes_,
                   " as the pairs ask for");
  }
  void fill(const Positions& positions, std::int64_t batch_row, std::int64_t token, std::int64_t count,
            float* rows) const noexcept override {
    fill_rows(positions, batch_row, token, count, rows);
  }
  void fill(const Positions& positions, std::int64_t batch_row, std::int64_t token, std::int64_t count,
            double* rows) const noexcept override {
    fill_rows(positions, batch_row, token, count, rows);
  }

 protected:
  const Policy& policy_rows() const noexcept { return rows_; }

 private:
  template <class Real>
  void fill_rows(const Positions& positions, std::int64_t batch_row, std::int64_t token, std::int64_t count,
                 Real* row) const noexcept {
    if (count == 1 && axes_ == 1) {  // a decode step
      const Position at = positions.at(0, batch_row, token);
      rows_.row(AxisPositions(&at, 1), row, row + pairs());
      return;
    }
    constexpr std::int64_t block = 16;
    // Bytes: zeroing positions that are written right away would take as long as a row.
    alignas(Position) std::byte memory[Positions::max_axes * block * sizeof(Position)];
    auto* at = reinterpret_cast<Position*>(memory);
    for (std::int64_t begin = 0; begin < count; begin += block) {
      const std::int64_t tokens = std::min(block, count - begin);
      for (std::int64_t axis = 0; axis < axes_; ++axis) {
        positions.read(axis, batch_row, token + begin,
                       std::span(at + axis * block, static_cast<std::size_t>(tokens)));
      }
      const AxisPositions first(at, block);
      if constexpr (requires { rows_.rows(first, tokens, row); }) {
        rows_.rows(first, tokens, row);
        row += tokens * 2 * pairs();
      } else {
        for (std::int64_t t = 0; t < tokens; ++t, row += 2 * pairs()) {
          rows_.row(first.after(t), row, row + pairs());
        }
      }
    }
  }

  std::int64_t axes_;
  Policy rows_;
};

template <class Policy>
std::shared_ptr<const AngleSource> make_row_source(AnglePolicy name, const Spectrum& spectrum,
                                                   Policy policy) {
  return std::make_shared<const RowSource<Policy>>(name, spectrum, std::move(policy));
}

/// One a policy; each in its own file.
std::shared_ptr<const AngleSource> make_exact_source(const Spectrum& spectrum);
std::shared_ptr<const AngleSource> make_fp32_source(const Spectrum& spectrum);
Result<std::shared_ptr<const AngleSource>> make_ggml_source(const Spectrum& spectrum);

}  // namespace rotary::impl
