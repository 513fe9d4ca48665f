// SPDX-License-Identifier: Apache-2.0
#include "model/builder.hpp"

#include <algorithm>
#include <cmath>

namespace rotary {
namespace {

using impl::RopeDescription;

Result<Spectrum> spectrum_of(const RopeDescription& rope, std::optional<std::int64_t> length) {
  if (rope.spectrum) return *rope.spectrum;
  const auto spectrum = Spectrum::make({.rotary_dim = rope.rotary_dim.value,
                                        .base = rope.base.value,
                                        .scaling = rope.scaling.value,
                                        .axis_sections = rope.axis_sections.value,
                                        .axis_order = rope.axis_order.value,
                                        .length = length});
  const auto& divisors = rope.divisors.value;
  if (!spectrum || divisors.empty()) return spectrum;
  auto divided = spectrum->divided_by(divisors);
  return divided ? divided : impl::invalid(rope.divisors.from, ": ", divided.status().message());
}

/// Which rule gave A, and what the one of YaRN's that it passed over would have given.
std::string attention_rule(const Scaling& scaling, double attention_factor) {
  if (const auto* longrope = std::get_if<scaling::LongRope>(&scaling)) {
    if (longrope->short_mscale && attention_factor == *longrope->short_mscale) return "derived: short_mscale";
    if (longrope->long_mscale && attention_factor == *longrope->long_mscale) return "derived: long_mscale";
    return impl::message("derived: sqrt(1 + ln(factor) / ln(original_max_position_embeddings))",
                         longrope->factor ? "" : ", factor = the ratio of the two lengths");
  }
  const auto* yarn = std::get_if<scaling::Yarn>(&scaling);
  if (yarn == nullptr) return impl::message("derived: scaling ", name(scaling));
  if (yarn->mscale.value_or(0) == 0 || yarn->mscale_all_dim.value_or(0) == 0)
    return "derived: 0.1 ln(factor) + 1";
  scaling::Yarn alone = *yarn;
  alone.mscale.reset();
  const auto without = Spectrum::make({.rotary_dim = 0, .scaling = alone});
  return impl::message("derived: mscale over mscale_all_dim; without the two it would be ",
                       without ? without->attention_factor() : 1);
}

}  // namespace

void impl::RopeDescription::settle_magnitude(std::string from) {
  auto* yarn = std::get_if<scaling::Yarn>(&scaling.value);
  if (yarn == nullptr) return;
  yarn->attention_factor = 1;
  wording.settled_magnitude = true;
  scaling_values.push_back({0, "attention_factor", 1.0, std::move(from)});
}

ModelBuilder::ModelBuilder(Model::Source source, std::string origin, const ModelOptions& options)
    : options_(options) {
  model_.source_ = source;
  model_.origin_ = std::move(origin);
  model_.length_ = options.length;
}

void ModelBuilder::set_names(std::string architecture, std::string model_type) {
  model_.architecture_ = std::move(architecture);
  model_.model_type_ = std::move(model_type);
}

void ModelBuilder::add_rope(const RopeDescription& description) {
  if (failed()) return;
  if (description.context && description.context->value < 1) {
    return malformed(description.context->from, " ", description.context->value,
                     ": must be at least 1 token");
  }
  const auto spectrum = spectrum_of(description, options_.length);
  if (!spectrum) return malformed("rope ", description.name, ": ", spectrum.status().message());
  const std::int64_t head_dim = description.head_dim.value, width = description.rotary_dim.value;
  const std::int64_t offset = description.rotary_offset.value;
  if (offset < 0 || offset > head_dim - width) {
    return malformed("rope ", description.name, ": rotary_dim ", width, " at rotary_offset ", offset,
                     ": must lie within head_dim ", head_dim);
  }
  auto rope = Rope::make({.spectrum = *spectrum,
                          .pairing = description.pairing.value,
                          .head_dim = head_dim,
                          .rotary_offset = offset,
                          .direction = description.direction.value,
                          .policy = options_.policy});
  if (!rope) return fail(rope.status().code(), "rope ", description.name, ": ", rope.status().message());

  const std::size_t index = model_.ropes_.size();
  const auto add = [&](std::string key, ModelNumberOrText value, const auto& source) {
    add_value({index, std::move(key), std::move(value), source.from, source.assumed});
  };
  add("head_dim", head_dim, description.head_dim);
  add("rotary_dim", width, description.rotary_dim);
  if (offset != 0) add("rotary_offset", offset, description.rotary_offset);
  add("base", description.base.value, description.base);
  add("scaling", std::string(name(description.scaling.value)), description.scaling);
  for (ModelValue value : description.scaling_values) {
    value.rope = index;
    add_value(std::move(value));
  }
  if (const auto& divisors = description.divisors; !divisors.value.empty()) {
    add("divisors", divisors.value, divisors);
  }
  const bool stated = std::ranges::any_of(description.scaling_values,
                                          [](const ModelValue& v) { return v.key == "attention_factor"; });
  const bool made = description.spectrum.has_value();
  if (!std::holds_alternative<scaling::None>(description.scaling.value) && !stated && !made) {
    add_value({index, "attention_factor", spectrum->attention_factor(),
               attention_rule(description.scaling.value, spectrum->attention_factor())});
  }
  if (const auto& sections = description.axis_sections; !sections.value.empty()) {
    add("axis_sections", std::vector<double>(sections.value.begin(), sections.value.end()), sections);
    add("axis_order", std::string(name(description.axis_order.value)), description.axis_order);
  }
  add("pairing", std::string(name(description.pairing.value)), description.pairing);
  add("direction", std::string(name(description.direction.value)), description.direction);
  if (description.original_context) {
    add("original_context", description.original_context->value, *description.original_context);
  }
  if (description.context) add("context", description.context->value, *description.context);

  const auto tokens = [](const auto& sourced) {
    return sourced ? std::optional(sourced->value) : std::nullopt;
  };
  model_.ropes_.push_back({description.name, *std::move(rope), tokens(description.original_context),
                           tokens(description.context), description.of_layers, description.wording});
}

void ModelBuilder::add_rope(std::string name, Rope rope, std::string from) {
  const std::size_t index = model_.ropes_.size();
  const auto add = [&](std::string key, ModelNumberOrText value) {
    add_value({index, std::move(key), std::move(value), from});
  };
  add("head_dim", rope.head_dim());
  add("rotary_dim", rope.rotary_dim());
  if (rope.rotary_offset() != 0) add("rotary_offset", rope.rotary_offset());
  if (rope.spectrum().base()) add("base", *rope.spectrum().base());
  add("scaling", std::string(rotary::name(rope.spectrum().scaling())));
  add("pairing", std::string(rotary::name(rope.pairing())));
  add("direction", std::string(rotary::name(rope.direction())));
  model_.ropes_.push_back({std::move(name), std::move(rope), std::nullopt, std::nullopt});
}

void ModelBuilder::add_other_factors(const impl::RopeDescription& rope) {
  for (std::size_t i = 0; i < rope.other_factors.size(); ++i) {
    const double factor = rope.other_factors[i];
    RopeDescription other = rope;
    other.name = impl::message(rope.name == "default" ? "" : rope.name + " ", "factor ", factor);
    other.scaling.value = scaling::Linear{factor};
    const std::string& from = rope.scaling_values.front().from;
    other.scaling_values = {
        {0, "factor", factor, impl::message(from.substr(0, from.rfind('[')), "[", i + 1, "]")}};
    other.of_layers = false;
    add_rope(other);
  }
}

void ModelBuilder::set_temperature(const impl::Sourced<double>& scale, const impl::Sourced<double>& length,
                                   bool without_rope) {
  if (!(std::isfinite(scale.value) && scale.value >= 0)) {
    return malformed(scale.from, " ", scale.value, ": must be finite and not negative");
  }
  if (!(std::isfinite(length.value) && length.value >= 1)) {
    return malformed(length.from, " ", length.value, ": must be finite and at least 1 token");
  }
  add_value({0, "temperature_scale", scale.value, scale.from, scale.assumed});
  add_value({0, "temperature_length", length.value, length.from, length.assumed});
  if (scale.value == 0) return;
  model_.temperature_ = {{.scale = scale.value, .length = length.value, .first = without_rope ? 1.0 : 0.0},
                         without_rope};
}

Result<Model> ModelBuilder::finish() && {
  if (!failed() && options_.strict && !model_.warnings_.empty()) malformed(model_.warnings_.front());
  if (failed()) return status_;
  return std::move(model_);
}

}  // namespace rotary
