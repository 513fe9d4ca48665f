// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <rotary/spectrum.hpp>

#include "spectrum/scaling_rules.hpp"

namespace rotary {
namespace {

using impl::invalid;

Status check_window(std::int64_t rotary_dim) {
  if (rotary_dim == SpectrumOptions().rotary_dim) {
    return invalid("rotary_dim: not given, or ", rotary_dim, "; must be even, from 0 to ",
                   Spectrum::max_rotary_dim);
  }
  if (rotary_dim >= 0 && rotary_dim <= Spectrum::max_rotary_dim && rotary_dim % 2 == 0) return {};
  return invalid("rotary_dim ", rotary_dim, ": must be even, from 0 to ", Spectrum::max_rotary_dim);
}

Status check_finite(const impl::Frequencies& f) {
  for (std::size_t i = 0; i < f.inv_freq.size(); ++i) {
    const double exact = f.inv_freq[i], fp32 = double{f.inv_freq_fp32[i]};
    if (std::isfinite(exact) && std::isfinite(fp32)) continue;
    const bool is_cause = !(std::fabs(exact) <= std::numeric_limits<float>::max());
    const double bad = is_cause ? exact : fp32;
    return invalid("inv_freq of pair ", i, ": ", std::isnan(bad) ? std::fabs(bad) : bad,
                   ": must be finite in fp32");
  }
  return {};
}

/// Rows and their inverse are fp32, and a formula may leave what its options are within.
Status check_factors(const impl::Frequencies& f) {
  for (const auto& [what, value] :
       {std::pair{"attention_factor", f.attention_factor}, {"softmax_factor", f.softmax_factor}}) {
    if (!impl::is_normal_in_fp32(value)) {
      return invalid(what, " ", value, ": must be positive and finite in fp32");
    }
  }
  return {};
}

/// 1, 1.15, ... 10000: the wavelengths over 2 pi that some code calls frequencies. Real ones fall from 1, and
/// more than half a turn a step carries no meaning.
bool look_like_periods(std::span<const double> list) {
  return list.size() > 1 && list.front() == 1 && list.back() > std::numbers::pi &&
         std::is_sorted(list.begin(), list.end());
}

Result<std::vector<std::uint8_t>> axis_of_each_pair(const SpectrumOptions& options) {
  const auto pairs = static_cast<std::size_t>(options.rotary_dim / 2);
  if (options.axis_sections.empty()) return std::vector<std::uint8_t>(pairs, 0);
  auto map = axis_map(options.axis_order, options.axis_sections);
  if (!map || map->size() == pairs) return map;
  return invalid("axis_sections: sum ", map->size(), ", must be the number of pairs, ", pairs);
}

}  // namespace

Result<Spectrum> Spectrum::make(const SpectrumOptions& options) {
  if (Status status = check_window(options.rotary_dim); !status.ok()) return status;
  if (!impl::is_positive(options.base)) {
    return invalid("base ", options.base, ": must be positive and finite");
  }
  if (options.length && *options.length < 1) {
    return invalid("length ", *options.length, ": must be at least 1 token");
  }
  if (options.base > std::numeric_limits<float>::max()) {
    return invalid("base ", options.base, ": must be finite in fp32");
  }
  if (static_cast<float>(options.base) == 0) {
    return invalid("base ", options.base, ": must be over 0 in fp32");
  }
  auto axis = axis_of_each_pair(options);
  if (!axis) return axis.status();
  auto frequencies =
      std::visit([&](const auto& scaling) { return impl::frequencies(scaling, options); }, options.scaling);
  if (!frequencies) return frequencies.status();
  if (Status status = check_finite(*frequencies); !status.ok()) return status;
  if (Status status = check_factors(*frequencies); !status.ok()) return status;

  Spectrum spectrum;
  spectrum.inv_freq_ = std::move(frequencies->inv_freq);
  spectrum.inv_freq_fp32_ = std::move(frequencies->inv_freq_fp32);
  spectrum.axis_ = *std::move(axis);
  spectrum.attention_factor_ = frequencies->attention_factor;
  spectrum.softmax_factor_ = frequencies->softmax_factor;
  spectrum.base_ = options.base;
  spectrum.scaling_ = options.scaling;
  return spectrum;
}

Result<Spectrum> Spectrum::from_inv_freq(std::span<const double> inv_freq, double attention_factor) {
  if (inv_freq.size() > static_cast<std::size_t>(max_rotary_dim / 2)) {
    return invalid("inv_freq: ", inv_freq.size(), " pairs, at most ", max_rotary_dim / 2);
  }
  if (!impl::is_positive(attention_factor)) {
    return invalid("attention_factor ", attention_factor, ": must be positive and finite");
  }
  if (inv_freq.empty()) {
    return invalid("inv_freq: empty; rotary_dim 0 of Spectrum::make is a rope that turns nothing");
  }
  if (look_like_periods(inv_freq)) {
    return invalid("inv_freq: grows from 1 to ", inv_freq.back(),
                   ": these are the reciprocals of inverse frequencies, which fall from 1");
  }
  impl::Frequencies frequencies;
  frequencies.inv_freq.assign(inv_freq.begin(), inv_freq.end());
  frequencies.inv_freq_fp32.assign(inv_freq.begin(), inv_freq.end());
  frequencies.attention_factor = attention_factor;
  if (Status status = check_finite(frequencies); !status.ok()) return status;
  if (Status status = check_factors(frequencies); !status.ok()) return status;

  Spectrum spectrum;
  spectrum.inv_freq_ = std::move(frequencies.inv_freq);
  spectrum.inv_freq_fp32_ = std::move(frequencies.inv_freq_fp32);
  spectrum.axis_.assign(inv_freq.size(), 0);
  spectrum.attention_factor_ = attention_factor;
  return spectrum;
}

Result<Spectrum> Spectrum::from_periods(std::span<const double> periods, double attention_factor) {
  std::vector<double> inv_freq(periods.begin(), periods.end());
  for (std::size_t i = 0; i < periods.size(); ++i) {
    if (!(periods[i] > 0)) return invalid("periods[", i, "] ", periods[i], ": must be positive, or infinite");
    inv_freq[i] = 1 / periods[i];
  }
  if (periods.size() > 1 && periods.front() == 1 && periods.back() < 1 &&
      std::is_sorted(periods.rbegin(), periods.rend())) {
    return invalid("periods: fall from 1 to ", periods.back(),
                   ": these are inverse frequencies, whose reciprocals grow from 1");
  }
  return from_inv_freq(inv_freq, attention_factor);
}

Result<Spectrum> Spectrum::join(std::span<const Spectrum> parts, AxisOrder order) {
  if (parts.empty()) return invalid("join: no parts");
  Spectrum joined;
  std::vector<std::int64_t> sections;
  for (std::size_t a = 0; a < parts.size(); ++a) {
    const Spectrum& part = parts[a];
    if (part.axes() != 1) return invalid("join: part ", a, " has ", part.axes(), " axes, must have one");
    if (part.attention_factor_ != parts[0].attention_factor_ ||
        part.softmax_factor_ != parts[0].softmax_factor_) {
      return invalid("join: part ", a, " has attention_factor ", part.attention_factor_,
                     " and softmax_factor ", part.softmax_factor_, ", part 0 has ",
                     parts[0].attention_factor_, " and ", parts[0].softmax_factor_, ": must be the same");
    }
    joined.attention_factor_ = part.attention_factor_;
    joined.softmax_factor_ = part.softmax_factor_;
    joined.parts_.push_back({part.pairs(), part.base_, part.scaling_});
    sections.push_back(part.pairs());
  }
  const auto same = [&](auto SpectrumPart::*field) {
    return std::ranges::all_of(joined.parts_,
                               [&](const auto& part) { return part.*field == joined.parts_[0].*field; });
  };
  if (same(&SpectrumPart::base)) joined.base_ = parts[0].base_;
  if (same(&SpectrumPart::scaling)) joined.scaling_ = parts[0].scaling_;
  auto axis = axis_map(order, sections);
  if (!axis) return invalid("join: ", axis.status().message());
  std::vector<std::size_t> next(parts.size(), 0);
  for (const std::uint8_t a : *axis) {
    if (a >= parts.size())
      return invalid("join: ", name(order), " has pairs of axis ", int{a}, ", but no part");
    joined.inv_freq_.push_back(parts[a].inv_freq_[next[a]]);
    joined.inv_freq_fp32_.push_back(parts[a].inv_freq_fp32_[next[a]++]);
  }
  joined.axis_ = *std::move(axis);
  return joined;
}

Result<Spectrum> Spectrum::axial(std::span<const std::int64_t> rotary_dims, double base, AxisOrder order) {
  std::vector<Spectrum> parts;
  for (const std::int64_t rotary_dim : rotary_dims) {
    auto part = make({.rotary_dim = rotary_dim, .base = base});
    if (!part) return part;
    parts.push_back(*std::move(part));
  }
  return join(parts, order);
}

Result<Spectrum> Spectrum::with_axis(std::span<const std::uint8_t> axis) const {
  if (axis.size() != inv_freq_.size()) {
    return invalid("axis: ", axis.size(), " entries, must be one a pair, ", inv_freq_.size());
  }
  const auto bad = std::find_if(axis.begin(), axis.end(), [](std::uint8_t a) { return a >= max_axes; });
  if (bad != axis.end()) {
    return invalid("axis[", bad - axis.begin(), "] ", int{*bad}, ": must be under ", max_axes);
  }
  Spectrum copy = *this;
  copy.axis_.assign(axis.begin(), axis.end());
  return copy;
}

Result<Spectrum> Spectrum::divided_by(std::span<const double> divisors) const {
  if (divisors.size() != inv_freq_.size()) {
    return invalid("divisors: ", divisors.size(), " numbers, must be one a pair, ", inv_freq_.size());
  }
  Spectrum copy = *this;
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    if (!(divisors[i] > 0)) return invalid("divisors[", i, "] ", divisors[i], ": must be positive");
    const bool still = divisors[i] >= scaling::Divided::no_rotation;
    copy.inv_freq_[i] = still ? 0 : inv_freq_[i] / divisors[i];
    copy.inv_freq_fp32_[i] = still ? 0 : inv_freq_fp32_[i] / static_cast<float>(divisors[i]);
    if (!std::isfinite(copy.inv_freq_[i]) || !std::isfinite(copy.inv_freq_fp32_[i])) {
      return invalid("divisors[", i, "] ", divisors[i], ": the frequency must be finite in fp32");
    }
  }
  copy.divisors_.assign(divisors.begin(), divisors.end());
  return copy;
}

std::int64_t Spectrum::axes() const noexcept {
  const auto largest = std::max_element(axis_.begin(), axis_.end());
  return largest == axis_.end() ? 1 : std::int64_t{*largest} + 1;
}

}  // namespace rotary
