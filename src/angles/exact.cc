// SPDX-License-Identifier: Apache-2.0
// Policy exact: cos and sin of the real product position * inv_freq, A multiplied in before the one rounding.
#include "angles/phase.hpp"
#include "angles/row_source.hpp"

namespace rotary::impl {
namespace {

class ExactRows {
 public:
  explicit ExactRows(const Spectrum& spectrum)
      : axis_(spectrum.axis().begin(), spectrum.axis().end()),
        one_axis_(spectrum.axes() <= 1),
        attention_factor_(spectrum.attention_factor()) {
    for (const double inv_freq : spectrum.inv_freq()) {
      const Frequency f = frequency_in_turns(inv_freq);
      turns_.push_back(f.turns);
      fraction_.push_back(f.fraction);
      guard_.push_back(f.guard);
    }
  }

  template <class Real>
  void row(const AxisPositions& at, Real* cos, Real* sin) const noexcept {
    constexpr std::size_t block = 64;
    std::uint64_t phase[block];
    const std::size_t pairs = axis_.size();
    const Distance first = distance_of(at[0]);
    for (std::size_t begin = 0; begin < pairs; begin += block) {
      const std::size_t count = std::min(block, pairs - begin);
      if (one_axis_ && is_near(first)) {
        for (std::size_t j = 0; j < count; ++j) {
          phase[j] = phase_near(first, fraction_[begin + j], guard_[begin + j]);
        }
      } else {
        for (std::size_t j = 0; j < count; ++j) {
          const std::size_t i = begin + j;
          phase[j] = phase_of(distance_of(at[axis_[i]]), {turns_[i], fraction_[i], guard_[i]});
        }
      }
      for (std::size_t j = 0; j < count; ++j) {
        const CosSin value = sincos_of_phase(phase[j]);
        cos[begin + j] = static_cast<Real>(value.cos * attention_factor_);
        sin[begin + j] = static_cast<Real>(value.sin * attention_factor_);
      }
    }
  }

 private:
  std::vector<std::uint64_t> turns_, fraction_, guard_;  // one a pair
  std::vector<std::uint8_t> axis_;
  bool one_axis_;
  double attention_factor_;
};

}  // namespace

std::shared_ptr<const AngleSource> make_exact_source(const Spectrum& spectrum) {
  return make_row_source(AnglePolicy::exact, spectrum, ExactRows(spectrum));
}

}  // namespace rotary::impl
