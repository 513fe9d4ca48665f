// SPDX-License-Identifier: Apache-2.0
// A Rope's repr: the arguments that make its equal, or what Python does not evaluate.
#include <algorithm>

#include "rope.hpp"
#include "scaling.hpp"

namespace rotary::python {
namespace {

/// "(1,) * 16 + (0,) * 16"; one by one where there are no runs.
std::string runs_of(std::span<const std::uint8_t> axis) {
  std::string runs, each;
  std::size_t count = 0;
  for (std::size_t i = 0; i < axis.size(); ++i) {
    each += (i == 0 ? "" : ", ") + std::to_string(axis[i]);
    if (++count, i + 1 < axis.size() && axis[i + 1] == axis[i]) continue;
    runs += (runs.empty() ? "(" : " + (") + std::to_string(axis[i]) + ",) * " + std::to_string(count);
    count = 0;
  }
  return runs.size() < each.size() ? runs : "(" + each + ")";
}

constexpr AxisOrder orders[] = {AxisOrder::contiguous,  AxisOrder::interleaved, AxisOrder::imrope,
                                AxisOrder::round_robin, AxisOrder::spread,      AxisOrder::space_then_time};

std::string order_words(AxisOrder order) {
  return order == AxisOrder::contiguous ? "" : ", axis_order='" + std::string(name(order)) + "'";
}

/// ", axis_sections=(16, 24, 24)" with the order they are dealt in; the axes of the pairs where they are no sections.
std::string axes_of(const Spectrum& spectrum) {
  if (spectrum.axes() <= 1) return {};
  std::vector<std::int64_t> sections(static_cast<std::size_t>(spectrum.axes()));
  for (const std::uint8_t a : spectrum.axis()) ++sections[a];
  for (const AxisOrder order : orders) {
    const auto dealt = axis_map(order, sections);
    if (dealt.ok() && std::ranges::equal(*dealt, spectrum.axis()))
      return ", axis_sections=" + nb::cast<std::string>(nb::repr(nb::tuple(nb::cast(sections)))) +
             order_words(order);
  }
  return ", axis=" + runs_of(spectrum.axis());
}

/// Of what no arguments but all the frequencies make: not Python, so that it is never taken for another rope's.
std::string numbers_words(const Spectrum& spectrum) {
  return ", inv_freq=<" + std::to_string(spectrum.pairs()) + " numbers>";
}

/// ", base=..., scaling=...", and that there is more to it where they do not make its frequencies: those of another
/// length, or the caller's own.
std::string formula_words(const Spectrum& spectrum) {
  std::string out;
  const auto number = [](double x) { return nb::cast<std::string>(nb::repr(nb::float_(x))); };
  if (spectrum.base()) out += ", base=" + number(*spectrum.base());
  if (!std::holds_alternative<scaling::None>(spectrum.scaling()))
    out += ", scaling=" + nb::cast<std::string>(nb::repr(to_dict(spectrum.scaling())));
  const auto made = Spectrum::make({.rotary_dim = 2 * spectrum.pairs(),
                                    .base = spectrum.base().value_or(10000),
                                    .scaling = spectrum.scaling()});
  const bool is_made = spectrum.base() && made.ok() &&
                       made->attention_factor() == spectrum.attention_factor() &&
                       std::ranges::equal(made->inv_freq(), spectrum.inv_freq());
  if (is_made) return out;
  out += numbers_words(spectrum);
  return spectrum.attention_factor() == 1 ? out
                                          : out + ", attention_factor=" + number(spectrum.attention_factor());
}

/// ", parts=[...]" with the order in which their pairs are dealt, and the axes where a part's is not its place.
std::string parts_words(const Spectrum& spectrum) {
  std::string out = ", parts=" + nb::cast<std::string>(nb::repr(parts_of(spectrum)));
  std::vector<Spectrum> parts;
  for (const SpectrumPart& part : spectrum.parts()) {
    const auto made = Spectrum::make(
        {.rotary_dim = 2 * part.pairs, .base = part.base.value_or(10000), .scaling = part.scaling});
    if (!made.ok()) return out + numbers_words(spectrum);
    parts.push_back(*made);
  }
  for (const AxisOrder order : orders) {
    const auto joined = Spectrum::join(parts, order);
    if (!joined.ok() || !std::ranges::equal(joined->inv_freq(), spectrum.inv_freq())) continue;
    out += order_words(order);
    return std::ranges::equal(joined->axis(), spectrum.axis()) ? out
                                                               : out + ", axis=" + runs_of(spectrum.axis());
  }
  return out + numbers_words(spectrum);
}

}  // namespace

nb::list parts_of(const Spectrum& spectrum) {
  nb::list parts;
  for (const SpectrumPart& part : spectrum.parts()) {
    nb::dict dict;
    dict["rotary_dim"] = 2 * part.pairs;
    dict["base"] = part.base;
    dict["scaling"] = to_dict(part.scaling);
    parts.append(dict);
  }
  return parts;
}

std::string repr(const PyRope& self) {
  const Rope& rope = self.rope;
  std::string out = "Rope(head_dim=" + std::to_string(rope.head_dim());
  if (rope.rotary_dim() != rope.head_dim()) out += ", rotary_dim=" + std::to_string(rope.rotary_dim());
  if (rope.rotary_offset() != 0) out += ", rotary_offset=" + std::to_string(rope.rotary_offset());
  const bool is_joined = !rope.spectrum().parts().empty();
  out += is_joined ? parts_words(rope.spectrum()) : axes_of(rope.spectrum());
  if (!is_joined && rope.policy() != AnglePolicy::table) out += formula_words(rope.spectrum());
  out += ", pairing='" + std::string(name(rope.pairing())) + "'";
  if (rope.direction() != Direction::forward)
    out += ", direction='" + std::string(name(rope.direction())) + "'";
  if (rope.xpos()) out += ", xpos=" + nb::cast<std::string>(nb::repr(py_xpos(rope.xpos())));
  return out + ", angles='" + std::string(name(rope.policy())) + "')";
}

}  // namespace rotary::python
