// SPDX-License-Identifier: Apache-2.0
// Sources: the vision rotary modules of Transformers' models of these names.
#include "model/vision.hpp"

#include <algorithm>
#include <array>

#include "base/in_quotes.hpp"
#include "model/hf_config.hpp"
#include "model/scaling_keys.hpp"

namespace rotary::impl {
namespace {

enum class Axes {
  halves,     ///< one schedule an axis: the first half of the pairs follows rows, the second columns
  alternate,  ///< one schedule for both: rows take its frequencies 0, 2, ..., then columns 1, 3, ...
};

struct VisionFamily {
  std::string_view model_types;
  Pairing pairing = Pairing::half_split;
  Axes axes = Axes::halves;
  std::int64_t first_axis = 0;  ///< of the first half: 1 where it follows columns
  double base = 10000;
  std::string_view scaling = "default";
  std::string_view unsupported = {};
};

constexpr VisionFamily families[] = {
    {.model_types =
         "qwen2_vl qwen2_vl_vision qwen2_5_vl qwen2_5_vl_vision qwen3_vl qwen3_vl_vision qwen3_vl_moe "
         "qwen3_vl_moe_vision qwen3_5 qwen3_5_vision qwen3_5_moe qwen3_5_moe_vision "
         "qwen2_5_omni_vision_encoder qwen3_omni_moe_vision_encoder glm4v glm4v_vision glm4v_moe "
         "glm4v_moe_vision ernie4_5_vl_moe_vision paddleocr_vl_vision"},
    {.model_types = "pixtral", .axes = Axes::alternate},
    {.model_types = "llama4_vision_model", .pairing = Pairing::interleaved, .first_axis = 1},
    {.model_types = "dinov3_vit", .base = 100, .scaling = "dinov3"},
    {.model_types = "gemma4_vision",
     .base = 100,
     .unsupported = "not described: each half of the head is a half-split rope of its own"},
};

const VisionFamily* family_of(std::string_view model_type) noexcept {
  const auto found =
      std::ranges::find_if(families, [&](const auto& f) { return lists(f.model_types, model_type); });
  return found == std::end(families) ? nullptr : &*found;
}

Sourced<double> base_of(const Keys& config, const VisionFamily& family, std::string_view model_type,
                        ModelBuilder& builder) {
  Agreed<double> base(builder);
  base.add(config.child("rope_parameters").number("rope_theta"));
  base.add(config.number("rope_theta"));
  return base.value().value_or(Sourced<double>{family.base, message("default of ", model_type)});
}

/// Pairs by rows and by columns, as the family has them.
Result<Spectrum> spectrum_of(const VisionFamily& family, std::int64_t width, double base) {
  const Scaling scaling = family.scaling == "dinov3" ? Scaling(scaling::Dinov3()) : Scaling(scaling::None());
  if (family.axes == Axes::halves) {
    auto one = Spectrum::make({.rotary_dim = width / 2, .base = base, .scaling = scaling});
    if (!one) return one;
    auto both = Spectrum::join(std::array{*one, *one});
    if (!both || family.first_axis == 0) return both;
    std::vector<std::uint8_t> axis(both->axis().begin(), both->axis().end());
    for (auto& a : axis) a = a == 0 ? 1 : 0;
    return both->with_axis(axis);
  }
  auto whole = Spectrum::make({.rotary_dim = width, .base = base, .scaling = scaling});
  if (!whole) return whole;
  std::vector<double> inv_freq;
  std::vector<std::uint8_t> axis;
  for (std::uint8_t a = 0; a < 2; ++a) {
    for (std::size_t i = a; i < whole->inv_freq().size(); i += 2) {
      inv_freq.push_back(whole->inv_freq()[i]);
      axis.push_back(a);
    }
  }
  auto both = Spectrum::from_inv_freq(inv_freq);
  return both ? both->with_axis(axis) : both;
}

}  // namespace

bool is_vision_model(std::string_view model_type) noexcept { return family_of(model_type) != nullptr; }

namespace {

void add(const Keys& config, std::string_view model_type, std::optional<Pairing> pairing, bool of_layers,
         ModelBuilder& builder) {
  const VisionFamily* family = family_of(model_type);
  if (family == nullptr) {
    for (const auto key : {"rope_parameters", "rope_theta"}) {
      if (config.find(key) != nullptr)
        return builder.warn(config.path_of(key),
                            ": of an image encoder that is not known, so it is not read");
    }
    return;
  }
  if (!family->unsupported.empty()) {
    return builder.add_value({0, "vision", std::string(family->unsupported), config.path_of("model_type")});
  }
  const HfConfig encoder{config, std::string(model_type), {.model_types = model_type}, true, builder};
  RopeDescription rope;
  rope.name = "vision";
  rope.of_layers = of_layers;
  const auto head_dim = head_dim_of(encoder, false);
  if (!head_dim || builder.failed())
    return builder.malformed(config.path_of("head_dim"),
                             ": missing, and the width and the number of heads do not replace it");
  if (head_dim->value < 4 || head_dim->value % 4 != 0 || head_dim->value > Spectrum::max_rotary_dim) {
    return builder.malformed(head_dim->from, ": head_dim ", head_dim->value,
                             " of an image encoder: must be a multiple of 4, at most ",
                             Spectrum::max_rotary_dim);
  }
  rope.head_dim = rope.rotary_dim = *head_dim;
  rope.rotary_offset = {0, "default"};
  rope.base = base_of(config, *family, model_type, builder);
  if (const auto type = config.child("rope_parameters").text("rope_type");
      type && type->value != "axial" && type->value != "default") {
    builder.warn(type->from, " ", in_quotes(type->value), ": not read; the encoder's own axes are taken");
  }
  rope.scaling = {*scaling_named(family->scaling), encoder.family_default()};
  rope.axis_sections = {{head_dim->value / 4, head_dim->value / 4}, encoder.family_default()};
  rope.axis_order = {AxisOrder::contiguous, encoder.family_default()};
  rope.pairing = {family->pairing, encoder.family_default()};
  if (pairing) rope.pairing = {*pairing, "order of the file's own code"};
  rope.direction = {Direction::forward, "default"};
  const auto spectrum = spectrum_of(*family, head_dim->value, rope.base.value);
  if (!spectrum) return builder.malformed("rope vision: ", spectrum.status().message());
  rope.spectrum = *spectrum;
  builder.add_rope(rope);
}

}  // namespace

void add_vision(const Keys& config, std::string_view model_type, std::optional<Pairing> pairing,
                ModelBuilder& builder) {
  add(config, model_type, pairing, false, builder);
}

void add_encoder(const Keys& config, std::string_view model_type, ModelBuilder& builder) {
  const VisionFamily& family = *family_of(model_type);
  if (!family.unsupported.empty()) {
    return builder.fail(StatusCode::unsupported, "model_type ", model_type, ": ", family.unsupported);
  }
  add(config, model_type, builder.options().pairing, true, builder);
  const HfConfig encoder{config, std::string(model_type), {.model_types = model_type}, true, builder};
  builder.set_layers(std::vector<std::optional<std::size_t>>(read_layers(encoder).types.size(), 0));
}

}  // namespace rotary::impl
