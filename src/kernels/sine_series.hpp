// SPDX-License-Identifier: Apache-2.0
// What every row maker computes: cos and sin of r, |r| at most an eighth of a turn and a little, in double, with
// fused operations (a target without them: `round` in rows-inl.h). Errors against the true value: 2^-43 of it, of which
// a float sees two millionths of its last place.
#pragma once

namespace rotary::impl::sine_series {

/// sin r = r (sin[0] + z (sin[1] + z (...))), cos r = cos[0] + z (cos[1] + z (...)) with z = r r.
struct Series {
  double sin[6], cos[6];
};

/// Of r radians: minimax of the relative error up to an eighth of a turn, 2^-47.5 and 2^-43.6.
inline constexpr Series of_radians = {{1, -0x1.5555555552239p-3, 0x1.1111110c87334p-7, -0x1.a019f93968ccdp-13,
                                       0x1.71d76d1679a1ep-19, -0x1.a961a17fcf773p-26},
                                      {1, -0x1.ffffffffe98afp-2, 0x1.55555545c5141p-5, -0x1.6c16b348bbdf2p-10,
                                       0x1.a00eb9af27545p-16, -0x1.23c97e6040237p-22}};

/// Of r steps of 2 pi / 2^66: those of a phase whose two highest bits, the quarter, were shifted out.
inline constexpr Series of_phase = [] {
  Series series = of_radians;
  double power = 1;
  for (int i = 0; i < 6; ++i) {
    constexpr double step = 0x1.921fb54442d18p-64;
    series.cos[i] *= power;
    series.sin[i] *= power * step;
    power *= step * step;
  }
  return series;
}();

/// A quarter of a turn in radians, in three parts; a whole number below 2^31 times one of the first two is
/// exact.
inline constexpr double quarter_1 = 0x1.921fbp+0, quarter_2 = 0x1.5110bp-22,
                        quarter_3 = 0x1.18469898cc517p-44;
inline constexpr double quarters_a_radian = 0x1.45f306dc9c883p-1;
/// Added to a double below 2^51, it leaves the nearest whole number in the lowest bits.
inline constexpr double to_whole = 0x1.8p52;

}  // namespace rotary::impl::sine_series
