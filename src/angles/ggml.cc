// SPDX-License-Identifier: Apache-2.0
// Policy ggml: the angle as llama.cpp's CPU path makes it, all in fp32. theta starts as the position and is
// multiplied by base^(-2/rotary_dim) from pair to pair, so its error grows along the row:
//
//     angle_i = scale_i * (theta_i / divisor_i)      theta_0 = position, theta_i+1 = theta_i *
//     base^(-2/rotary_dim)
//
// scale_i is llama.cpp's freq_scale (linear: 1 / factor), divisor_i its frequency factors (llama3, longrope,
// ...); where it mixes two angles (YaRN) scale_i is W_i / w_i instead. Several axes run side by side, one
// theta each.
#include <cmath>

#include "angles/rounding.hpp"
#include "angles/row_source.hpp"

namespace rotary::impl {
namespace {

struct GgmlRows {
  float ratio;                        // base^(-2/rotary_dim)
  std::vector<float> scale, divisor;  // one a pair
  std::vector<std::uint8_t> axis;
  std::size_t axes;
  float attention_factor;

  template <class Real>
  void row(const AxisPositions& at, Real* cos, Real* sin) const noexcept {
    std::array<float, Positions::max_axes> theta{};
    for (std::size_t a = 0; a < axes; ++a) theta[a] = to_float(at[a]);
    for (std::size_t i = 0; i < axis.size(); ++i) {
      const float angle = scale[i] * (theta[axis[i]] / divisor[i]);
      cos[i] = static_cast<Real>(cos_fp32(angle) * attention_factor);
      sin[i] = static_cast<Real>(sin_fp32(angle) * attention_factor);
      for (std::size_t a = 0; a < axes; ++a) theta[a] *= ratio;
    }
  }
};

}  // namespace

Result<std::shared_ptr<const AngleSource>> make_ggml_source(const Spectrum& spectrum) {
  if (!spectrum.base()) {
    return invalid("policy ggml: needs a base, and these frequencies are the caller's own");
  }
  const std::span<const double> inv_freq = spectrum.inv_freq();
  const float base = static_cast<float>(*spectrum.base());
  GgmlRows rows{.ratio = std::pow(base, -2.0f / static_cast<float>(2 * inv_freq.size())),
                .scale = std::vector<float>(inv_freq.size(), 1.0f),
                .divisor = std::vector<float>(inv_freq.size(), 1.0f),
                .axis = {spectrum.axis().begin(), spectrum.axis().end()},
                .axes = static_cast<std::size_t>(spectrum.axes()),
                .attention_factor = static_cast<float>(spectrum.attention_factor())};
  const auto* linear = std::get_if<scaling::Linear>(&spectrum.scaling());
  const bool mixes = std::holds_alternative<scaling::Yarn>(spectrum.scaling()) ||
                     std::holds_alternative<scaling::DeepseekYarn>(spectrum.scaling()) ||
                     std::holds_alternative<scaling::Telechat3Yarn>(spectrum.scaling());
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    const double unscaled =
        std::pow(*spectrum.base(), -static_cast<double>(i) / static_cast<double>(inv_freq.size()));
    if (linear != nullptr) {
      rows.scale[i] = static_cast<float>(1 / linear->factor);
    } else if (mixes) {
      rows.scale[i] = static_cast<float>(inv_freq[i] / unscaled);
    } else if (!std::holds_alternative<scaling::None>(spectrum.scaling())) {
      rows.divisor[i] = static_cast<float>(unscaled / inv_freq[i]);
    }
  }
  return make_row_source(AnglePolicy::ggml, spectrum, std::move(rows));
}

}  // namespace rotary::impl
