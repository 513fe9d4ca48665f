// SPDX-License-Identifier: Apache-2.0
/// @file
/// Schedules that stretch nothing and space the frequencies otherwise: image and video encoders. Their
/// positions are often coordinates. A = 1; n = rotary_dim / 2 pairs. Several axes, each with a schedule of its
/// own, are Spectrum::join. Notation: scaling.hpp.
#pragma once

#include <array>
#include <string_view>

namespace rotary::scaling {

/// W_i = 1 / (min_window (max_window / min_window)^(2i/rotary_dim)); the base is not read. Source:
/// TransformerEngine's `rotary_pos_emb_windows`.
struct Windows {
  static constexpr std::string_view name = "windows";
  static constexpr std::array<std::string_view, 2> required = {"min_window", "max_window"};
  double min_window = 1;
  double max_window = 10000;

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    visit("min_window", self.min_window);
    visit("max_window", self.max_window);
  }
  friend bool operator==(const Windows&, const Windows&) = default;
};

/// W_i = pi * b_i, for positions in [-1, 1]; the base is not read. b runs evenly from 1 to max_freq / 2, or,
/// without linear_bands, evenly in its logarithm. Source: rotary-embedding-torch's "pixel", timm's
/// pixel_freq_bands.
struct Pixel {
  static constexpr std::string_view name = "pixel";
  static constexpr std::array<std::string_view, 0> required = {};
  double max_freq = 10;
  bool linear_bands = true;

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    visit("max_freq", self.max_freq);
    visit("linear_bands", self.linear_bands);
  }
  friend bool operator==(const Pixel&, const Pixel&) = default;
};

/// W_i = 1; the base is not read. Source: rotary-embedding-torch's "constant".
struct Constant {
  static constexpr std::string_view name = "constant";
  static constexpr std::array<std::string_view, 0> required = {};
  template <class Self, class Visit>
  static void fields(Self&&, Visit&&) {}
  friend bool operator==(const Constant&, const Constant&) = default;
};

/// W_i = (pi / 2) base^(i / (n - 1)), rising, for positions 2 x - 1 of a fraction x of the whole. Source:
/// LTX-Video in diffusers.
struct Ltx {
  static constexpr std::string_view name = "ltx";
  static constexpr std::array<std::string_view, 0> required = {};
  template <class Self, class Visit>
  static void fields(Self&&, Visit&&) {}
  friend bool operator==(const Ltx&, const Ltx&) = default;
};

/// W_i = 2 pi w_i, for patch centres in [-1, 1]; one axis. Source: DINOv3, base 100.
struct Dinov3 {
  static constexpr std::string_view name = "dinov3";
  static constexpr std::array<std::string_view, 0> required = {};
  template <class Self, class Visit>
  static void fields(Self&&, Visit&&) {}
  friend bool operator==(const Dinov3&, const Dinov3&) = default;
};

/// W_i = 2 pi / (min_period (max_period / min_period)^(i / (n - 1))): periods from the first to the last, evenly in
/// their logarithm, for patch centres in [-1, 1]; one axis. The base is not read. Source: DINOv3's other mode, as
/// timm has it.
struct Periods {
  static constexpr std::string_view name = "periods";
  static constexpr std::array<std::string_view, 2> required = {"min_period", "max_period"};
  double min_period = 0.5;
  double max_period = 90;

  template <class Self, class Visit>
  static void fields(Self&& self, Visit&& visit) {
    visit("min_period", self.min_period);
    visit("max_period", self.max_period);
  }
  friend bool operator==(const Periods&, const Periods&) = default;
};

}  // namespace rotary::scaling
