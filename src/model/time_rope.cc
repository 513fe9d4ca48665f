// SPDX-License-Identifier: Apache-2.0
// Source: Transformers 5.24 musicflamingo. What its audio encoder gives is turned before the projector: on the first lanes
// by the window a frame is of, on those behind them by the frame within it, both times the time stamp.
#include <cmath>

#include "base/in_quotes.hpp"
#include "model/hf_config.hpp"

namespace rotary::impl {
namespace {

constexpr std::string_view owner = "musicflamingo";
constexpr std::int64_t silent_width = 1280;  ///< of AudioFlamingo3EncoderConfig

}  // namespace

bool has_time_rope(const Keys& document) {
  const auto model_type = document.text("model_type");
  return model_type && model_type->value == owner;
}

void add_time_rope(const Keys& document, ModelBuilder& builder) {
  const std::string silent = message("default of ", owner);
  const Keys parameters = document.child("rope_parameters");
  Agreed<double> base(builder), part(builder);
  for (const Keys& keys : {parameters, document}) {
    base.add(keys.number("rope_theta"));
    part.add(keys.number("partial_rotary_factor"));
  }
  if (const auto type = parameters.text("rope_type"); type && type->value != "default")
    return builder.fail(StatusCode::unsupported, type->from, " ", in_quotes(type->value),
                        ": a scaling of the rope of time; must be default");
  RopeDescription rope;
  rope.name = "time";
  rope.of_layers = false;
  rope.head_dim = document.child("audio_config")
                      .integer("hidden_size")
                      .value_or(Sourced<std::int64_t>{silent_width, silent});
  rope.base = base.value().value_or(Sourced<double>{1200, silent});
  const auto stated = part.value().value_or(Sourced<double>{0.2, silent});
  const double lanes = std::floor(static_cast<double>(rope.head_dim.value) * stated.value);
  if (rope.head_dim.value > Spectrum::max_rotary_dim || !(lanes >= 2 && stated.value <= 0.5)) {
    return builder.malformed(stated.from, " ", stated.value, " of a width of ", rope.head_dim.value,
                             ": must be at least 2 lanes and at most half of them, of a width up to ",
                             Spectrum::max_rotary_dim);
  }
  const auto width = static_cast<std::int64_t>(lanes);
  const auto one = Spectrum::make({.rotary_dim = width, .base = rope.base.value});
  const auto both = one ? Spectrum::join(std::vector<Spectrum>(2, *one)) : one;
  if (!both) return builder.malformed("rope time: ", both.status().message());
  rope.spectrum = *both;
  rope.rotary_dim = {2 * width, "derived: 2 * partial_rotary_factor * audio_config.hidden_size"};
  rope.rotary_offset = {0, "default"};
  rope.scaling = {scaling::None(), silent};
  rope.axis_sections = {{width / 2, width / 2}, silent};
  rope.axis_order = {AxisOrder::contiguous, silent};
  rope.pairing = {Pairing::interleaved, silent};
  rope.direction = {Direction::forward, "default"};
  builder.add_rope(rope);
}

}  // namespace rotary::impl
