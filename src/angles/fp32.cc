// SPDX-License-Identifier: Apache-2.0
// Policy fp32: position, inverse frequency, product, cos, sin and the product with A each rounded to fp32.
#include <cmath>

#include "angles/rounding.hpp"
#include "angles/row_source.hpp"

namespace rotary::impl {
namespace {

struct Fp32Rows {
  std::vector<float> inv_freq;
  std::vector<std::uint8_t> axis;
  float attention_factor;

  template <class Real>
  void row(const AxisPositions& at, Real* cos, Real* sin) const noexcept {
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
      const float angle = to_float(at[axis[i]]) * inv_freq[i];
      cos[i] = static_cast<Real>(cos_fp32(angle) * attention_factor);
      sin[i] = static_cast<Real>(sin_fp32(angle) * attention_factor);
    }
  }
};

}  // namespace

std::shared_ptr<const AngleSource> make_fp32_source(const Spectrum& spectrum) {
  return make_row_source(AnglePolicy::fp32, spectrum,
                         Fp32Rows{{spectrum.inv_freq_fp32().begin(), spectrum.inv_freq_fp32().end()},
                                  {spectrum.axis().begin(), spectrum.axis().end()},
                                  static_cast<float>(spectrum.attention_factor())});
}

}  // namespace rotary::impl
