// SPDX-License-Identifier: Apache-2.0
// Policy exact: cos and sin of the real product position * inv_freq, A multiplied in before the one rounding.
#include <array>

#include "angles/phase.hpp"
#include "angles/row_source.hpp"
#include "kernels/row_maker.hpp"

namespace rotary::impl {
namespace {

class ExactRows {
 public:
  explicit ExactRows(const Spectrum& spectrum)
      : axis_(spectrum.axis().begin(), spectrum.axis().end()),
        axes_(static_cast<std::size_t>(spectrum.axes())),
        attention_factor_(spectrum.attention_factor()) {
    for (const double inv_freq : spectrum.inv_freq()) {
      const Frequency f = frequency_in_turns(inv_freq);
      turns_.push_back(f.turns);
      fraction_.push_back(f.fraction);
      guard_.push_back(f.guard);
      guard_high_.push_back(f.guard >> 32);
    }
    // A factor that leaves fp32 would leave the bounds of runs too.
    if (attention_factor_ >= 0x1p-100) steps_ = Steps(fraction_, guard_high_);
  }

  void rows(const AxisPositions& first, std::int64_t tokens, float* rows) const noexcept {
    const auto pairs = static_cast<std::int64_t>(axis_.size());
    for (std::int64_t t = 0, count = 0; t < tokens; t += count) {
      float* const at = rows + t * 2 * pairs;
      count = run_length(first.after(t), tokens - t);
      if (count == 1) {
        row(first.after(t), at, at + pairs);
      } else {
        run(first.after(t)[0].whole, count, at);
      }
    }
  }

  void row(const AxisPositions& at, float* cos, float* sin) const noexcept {
    const Distance first = distance_of(at[0]);
    if (is_near(first) && (axes_ <= 1 || is_alike(at))) {
      // Turning by -p is the mirror image of turning by p.
      maker_->of_distance(first.whole, fraction_.data(), guard_high_.data(),
                          static_cast<std::int64_t>(axis_.size()),
                          {cos, sin, attention_factor_, first.negative != 0});
      return;
    }
    each_block(at, [&](std::size_t begin, std::size_t count, const std::uint64_t* phase) {
      maker_->of_phases(phase, static_cast<std::int64_t>(count),
                        {cos + begin, sin + begin, attention_factor_});
    });
  }

  void row(const AxisPositions& at, double* cos, double* sin) const noexcept {
    each_block(at, [&](std::size_t begin, std::size_t count, const std::uint64_t* phase) {
      maker_->wide_of_phases(phase, static_cast<std::int64_t>(count),
                             {cos + begin, sin + begin, attention_factor_});
    });
  }

 private:
  /// Rows of start, start + 1, ...; of negative positions by their distance, so from the last on.
  void run(std::int64_t start, std::int64_t count, float* rows) const noexcept {
    const auto pairs = static_cast<std::int64_t>(axis_.size());
    const bool mirrored = start < 0;
    const std::int64_t nearest = mirrored ? -(start + count - 1) : start;
    float* const first = rows + (mirrored ? (count - 1) * 2 * pairs : 0);
    maker_->of_run({static_cast<std::uint64_t>(nearest), count, mirrored ? -2 * pairs : 2 * pairs},
                   {pairs, fraction_.data(), guard_high_.data(), steps_.steps.data(), steps_.slack.data()},
                   {first, first + pairs, attention_factor_, mirrored});
  }

  /// Tokens from the first on that of_run takes together, each a step further than the one before.
  std::int64_t run_length(const AxisPositions& first, std::int64_t tokens) const noexcept {
    constexpr std::int64_t least = 3;  // fewer are faster alone
    const std::int64_t start = first[0].whole;
    const auto is_on = [&](std::int64_t t) {
      const AxisPositions at = first.after(t);
      const Distance d = distance_of(at[0]);
      return is_near(d) && at[0].whole == start + t && (d.negative != 0) == (start < 0) && is_alike(at);
    };
    if (steps_.steps.empty() || tokens < least || !is_on(0)) return 1;
    std::int64_t count = 1;
    while (count < tokens && count < run_rows && is_on(count)) ++count;
    return count < least ? 1 : count;
  }

  /// As text stands in a model of images: the same on every axis.
  bool is_alike(const AxisPositions& at) const noexcept {
    for (std::size_t a = 1; a < axes_; ++a) {
      if (at[a] != at[0]) return false;
    }
    return true;
  }

  /// phase_of where is_near(d).
  std::uint64_t of_near(const Distance& d, std::size_t i) const noexcept {
    const std::uint64_t phase = d.whole * fraction_[i] + ((d.whole * guard_high_[i]) >> 32);
    return (phase ^ d.negative) - d.negative;
  }

  /// The phases of all pairs, some at a time.
  template <class Use>
  void each_block(const AxisPositions& at, const Use& use) const noexcept {
    constexpr std::size_t block = 64;
    std::uint64_t phase[block];
    const std::size_t pairs = axis_.size();
    std::array<Distance, Spectrum::max_axes> on_axis;
    bool near = true;
    for (std::size_t a = 0; a < axes_; ++a) {
      on_axis[a] = distance_of(at[a]);
      near = near && is_near(on_axis[a]);
    }
    for (std::size_t begin = 0; begin < pairs; begin += block) {
      const std::size_t count = std::min(block, pairs - begin);
      for (std::size_t j = 0; j < count; ++j) {
        const std::size_t i = begin + j;
        const Distance& d = on_axis[axis_[i]];
        phase[j] = near ? of_near(d, i) : phase_of(d, {turns_[i], fraction_[i], guard_[i]});
      }
      use(begin, count, phase);
    }
  }

  std::vector<std::uint64_t> turns_, fraction_, guard_, guard_high_;  // one a pair
  Steps steps_;                                                       // or empty: no runs
  std::vector<std::uint8_t> axis_;
  std::size_t axes_;
  double attention_factor_;
  const RowMaker* maker_ = &best_row_maker();
};

}  // namespace

std::shared_ptr<const AngleSource> make_exact_source(const Spectrum& spectrum) {
  return make_row_source(AnglePolicy::exact, spectrum, ExactRows(spectrum));
}

}  // namespace rotary::impl
