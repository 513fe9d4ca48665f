// SPDX-License-Identifier: Apache-2.0
// Policy ggml: the angle as llama.cpp's CPU path makes it, all in fp32. theta starts as the position and is
// multiplied by base^(-2/rotary_dim) from pair to pair, so its error grows along the row:
//
//     angle_i = scale_i * (theta_i / divisor_i)      theta_0 = position, theta_i+1 = theta_i *
//     base^(-2/rotary_dim)
//
// scale_i is llama.cpp's freq_scale (linear, YaRN: 1 / factor), divisor_i its frequency factors (llama3, longrope,
// ...). YaRN mixes the angle that is scaled with the one that is not:
//
//     angle_i = scale_i * theta_i * (1 - kept_i) + theta_i * kept_i      kept_i: the ramp, 1 where W_i = w_i
//
// Several axes run side by side, one theta each.
#include <cmath>

#include "angles/radians.hpp"
#include "angles/row_source.hpp"

namespace rotary::impl {
namespace {

struct GgmlRows {
  float ratio;                        // base^(-2/rotary_dim)
  std::vector<float> scale, divisor;  // one a pair
  std::vector<float> kept = {};       // YaRN: one a pair; else empty
  bool scaled = false;                // by any of these
  std::vector<std::uint8_t> axis;
  std::size_t axes;
  RadianRow turn;

  template <class Real>
  void row(const AxisPositions& at, Real* cos, Real* sin) const noexcept {
    make<1>(at, cos, sin);
  }
  template <class Real>
  void rows(const AxisPositions& first, std::int64_t tokens, Real* rows) const noexcept {
    // Products wait for one another, but not for those of other tokens.
    constexpr std::int64_t together = 4;
    const auto pairs = static_cast<std::int64_t>(axis.size());
    std::int64_t t = 0;
    for (; t + together <= tokens; t += together, rows += together * 2 * pairs) {
      make<together>(first.after(t), rows, rows + pairs);
    }
    for (; t < tokens; ++t, rows += 2 * pairs) row(first.after(t), rows, rows + pairs);
  }

 private:
  template <std::int64_t tokens, class Real>
  void make(const AxisPositions& first, Real* cos, Real* sin) const noexcept {
    const std::size_t pairs = axis.size();
    float theta[Positions::max_axes][tokens];
    for (std::size_t a = 0; a < axes; ++a) {
      for (std::int64_t t = 0; t < tokens; ++t) theta[a][t] = to_float(first.after(t)[a]);
    }
    float angle[tokens][radians_block];
    for (std::size_t begin = 0; begin < pairs; begin += radians_block) {
      const std::size_t count = std::min(radians_block, pairs - begin);
      if (axes <= 1) {
        float one[tokens];
        for (std::int64_t t = 0; t < tokens; ++t) one[t] = theta[0][t];
        for (std::size_t j = 0; j < count; ++j) {
          for (std::int64_t t = 0; t < tokens; ++t) {
            angle[t][j] = one[t];
            one[t] *= ratio;
          }
        }
        for (std::int64_t t = 0; t < tokens; ++t) theta[0][t] = one[t];
      } else {
        for (std::size_t j = 0; j < count; ++j) {
          for (std::int64_t t = 0; t < tokens; ++t) angle[t][j] = theta[axis[begin + j]][t];
          for (std::size_t a = 0; a < axes; ++a) {
            for (std::int64_t t = 0; t < tokens; ++t) theta[a][t] *= ratio;
          }
        }
      }
      for (std::int64_t t = 0; t < tokens; ++t) {
        if (scaled) scale_angles(angle[t], begin, count);
        const std::size_t at = static_cast<std::size_t>(t) * 2 * pairs + begin;
        turn(angle[t], count, cos + at, sin + at);
      }
    }
  }

  void scale_angles(float* angle, std::size_t begin, std::size_t count) const noexcept {
    for (std::size_t j = 0; j < count; ++j) {
      const float whole = angle[j] / divisor[begin + j];
      angle[j] = scale[begin + j] * whole;
      if (!kept.empty()) angle[j] = angle[j] * (1.0f - kept[begin + j]) + whole * kept[begin + j];
    }
  }
};

/// By which YaRN divides the slow pairs; 0: not YaRN.
double yarn_factor(const Scaling& scaling) {
  if (const auto* yarn = std::get_if<scaling::Yarn>(&scaling)) return yarn->factor;
  if (const auto* yarn = std::get_if<scaling::DeepseekYarn>(&scaling)) return yarn->factor;
  const auto* yarn = std::get_if<scaling::Telechat3Yarn>(&scaling);
  if (yarn == nullptr) return 0;
  const auto &context = yarn->max_position_embeddings, &original = yarn->original_max_position_embeddings;
  return context && original ? *context / *original : yarn->factor;
}

}  // namespace

Result<std::shared_ptr<const AngleSource>> make_ggml_source(const Spectrum& spectrum) {
  if (!spectrum.parts().empty()) {
    return invalid("policy ggml: has one schedule, and these frequencies are of ", spectrum.parts().size());
  }
  if (!spectrum.base()) {
    return invalid("policy ggml: needs a base, and these frequencies are the caller's own");
  }
  const std::span<const double> inv_freq = spectrum.inv_freq();
  const float base = static_cast<float>(*spectrum.base());
  GgmlRows rows{.ratio = std::pow(base, -2.0f / static_cast<float>(2 * inv_freq.size())),
                .scale = std::vector<float>(inv_freq.size(), 1.0f),
                .divisor = std::vector<float>(inv_freq.size(), 1.0f),
                .scaled = !std::holds_alternative<scaling::None>(spectrum.scaling()),
                .axis = {spectrum.axis().begin(), spectrum.axis().end()},
                .axes = static_cast<std::size_t>(spectrum.axes()),
                .turn = RadianRow(spectrum.attention_factor())};
  const auto* linear = std::get_if<scaling::Linear>(&spectrum.scaling());
  const double factor = yarn_factor(spectrum.scaling());
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    const double unscaled =
        std::pow(*spectrum.base(), -static_cast<double>(i) / static_cast<double>(inv_freq.size()));
    if (linear != nullptr) {
      rows.scale[i] = static_cast<float>(1 / linear->factor);
    } else if (factor != 0) {
      // The ramp in fp32, as a quotient that is then taken from 1.
      const double divided = factor == 1 ? 0 : (1 - inv_freq[i] / unscaled) / (1 - 1 / factor);
      rows.scale[i] = static_cast<float>(1 / factor);
      rows.kept.push_back(1.0f - static_cast<float>(std::clamp(divided, 0.0, 1.0)));
    } else if (!std::holds_alternative<scaling::None>(spectrum.scaling())) {
      rows.divisor[i] = static_cast<float>(unscaled / inv_freq[i]);
    }
  }
  return make_row_source(AnglePolicy::ggml, spectrum, std::move(rows));
}

}  // namespace rotary::impl
