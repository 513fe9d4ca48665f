// SPDX-License-Identifier: Apache-2.0
// Policy fp32: position, inverse frequency, product, cos, sin and the product with A each rounded to fp32.
#include "angles/radians.hpp"
#include "angles/row_source.hpp"

namespace rotary::impl {
namespace {

struct Fp32Rows {
  std::vector<float> inv_freq;
  std::vector<std::uint8_t> axis;
  bool one_axis;
  RadianRow turn;

  template <class Real>
  void row(const AxisPositions& at, Real* cos, Real* sin) const noexcept {
    float angle[radians_block];
    const float first = to_float(at[0]);
    for (std::size_t begin = 0; begin < inv_freq.size(); begin += radians_block) {
      const std::size_t count = std::min(radians_block, inv_freq.size() - begin);
      const float* freq = inv_freq.data() + begin;
      if (one_axis) {
        for (std::size_t j = 0; j < count; ++j) angle[j] = first * freq[j];
      } else {
        for (std::size_t j = 0; j < count; ++j) angle[j] = to_float(at[axis[begin + j]]) * freq[j];
      }
      turn(angle, count, cos + begin, sin + begin);
    }
  }
};

}  // namespace

std::shared_ptr<const AngleSource> make_fp32_source(const Spectrum& spectrum) {
  return make_row_source(AnglePolicy::fp32, spectrum,
                         Fp32Rows{{spectrum.inv_freq_fp32().begin(), spectrum.inv_freq_fp32().end()},
                                  {spectrum.axis().begin(), spectrum.axis().end()},
                                  spectrum.axes() <= 1,
                                  RadianRow(spectrum.attention_factor())});
}

}  // namespace rotary::impl
