// SPDX-License-Identifier: Apache-2.0
// Sources: the vision rotary modules of Transformers' models of these names.
#include "model/vision.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/in_quotes.hpp"
#include "model/hf_config.hpp"
#include "model/scaling_keys.hpp"

namespace rotary::impl {
namespace {

/// How the axes share the pairs.
enum class Axes {
  halves,     ///< one schedule an axis: the first half of the pairs follows rows, the second columns
  alternate,  ///< one schedule for both: rows take its frequencies 0, 2, ..., then columns 1, 3, ...
  turns,      ///< one schedule an axis, its pairs in turns: columns, rows, columns, ...
  thirds,     ///< one schedule an axis: time, rows, columns; lanes that three do not share pass unchanged
  two_ropes,  ///< each half of the head is a rope of its own, for one coordinate
};

struct VisionFamily {
  std::string_view model_types;
  Pairing pairing = Pairing::half_split;
  Axes axes = Axes::halves;
  std::int64_t first_axis = 0;  ///< of the first pair: 1 where it follows columns
  double base = 10000;
  std::string_view scaling = "default";
  std::int64_t head_dim = 0;         ///< where it is not stated; 0: width / heads
  std::int64_t silent_head_dim = 0;  ///< where neither it nor width and heads are stated
  std::int64_t memory_layers = 0;    ///< of SAM's memory attention, whose sizes have names of their own
};

constexpr VisionFamily families[] = {
    {.model_types =
         "qwen2_vl qwen2_vl_vision qwen2_5_vl qwen2_5_vl_vision qwen3_vl qwen3_vl_vision qwen3_vl_moe "
         "qwen3_vl_moe_vision qwen3_5 qwen3_5_vision qwen3_5_moe qwen3_5_moe_vision qwen4_exp_vision "
         "qwen2_5_omni_vision_encoder qwen3_omni_moe_vision_encoder glm4v glm4v_vision glm4v_moe "
         "glm4v_moe_vision glm_ocr_vision glm5_next_vision ernie4_5_vl_moe_vision paddleocr_vl_vision "
         "exaone4_5_vision video_llama_3_vision mlcd_vision_model"},
    {.model_types = "lfm3_vl_vision", .base = 1e6},
    {.model_types = "pixtral", .axes = Axes::alternate},
    {.model_types = "kimi_k25_vision", .axes = Axes::turns, .first_axis = 1},
    {.model_types = "minimax_m3_vl_vision", .axes = Axes::thirds},
    {.model_types = "llama4_vision_model", .pairing = Pairing::interleaved, .first_axis = 1},
    {.model_types = "sam3_vit_model",
     .pairing = Pairing::interleaved,
     .first_axis = 1,
     .silent_head_dim = 64},
    {.model_types = "sam2_video sam3_tracker_video",
     .pairing = Pairing::interleaved,
     .first_axis = 1,
     .memory_layers = 4},
    {.model_types = "edgetam_video", .pairing = Pairing::interleaved, .first_axis = 1, .memory_layers = 2},
    {.model_types = "dinov3_vit", .base = 100, .scaling = "dinov3"},
    {.model_types = "gemma4_vision", .axes = Axes::two_ropes, .base = 100, .head_dim = 64},
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
  base.add(config.number(family.memory_layers == 0 ? "rope_theta" : "memory_attention_rope_theta"));
  return base.value().value_or(Sourced<double>{family.base, message("default of ", model_type)});
}

/// Of the memory attention: what its width leaves to each head.
Sourced<std::int64_t> memory_head_dim(const Keys& config, ModelBuilder& builder) {
  const auto size = [&](std::string_view key, std::int64_t silent) {
    auto stated = config.integer(key).value_or(Sourced<std::int64_t>{silent, "default"});
    if (stated.value < 1 || stated.value > Spectrum::max_rotary_dim) {
      builder.malformed(config.path_of(key), " ", stated.value, ": must be from 1 to ",
                        Spectrum::max_rotary_dim);
      stated.value = 1;
    }
    return stated;
  };
  const auto width = size("memory_attention_hidden_size", 256);
  const auto parts = size("memory_attention_downsample_rate", 1).value *
                     size("memory_attention_num_attention_heads", 1).value;
  if (width.value % parts != 0) {
    builder.malformed(config.path_of("memory_attention_hidden_size"), " ", width.value,
                      ": must be a multiple of memory_attention_downsample_rate * "
                      "memory_attention_num_attention_heads, ",
                      parts);
  }
  return {width.value / parts, "derived: memory_attention_hidden_size / (downsample_rate * heads)"};
}

std::int64_t axes_of(const VisionFamily& family) { return family.axes == Axes::thirds ? 3 : 2; }

/// Lanes that turn: all, or what three axes share evenly and in pairs.
std::int64_t width_of(const VisionFamily& family, std::int64_t head_dim) {
  return family.axes == Axes::thirds ? 3 * (head_dim / 3 / 2 * 2) : head_dim;
}

/// Pairs by rows and by columns, as the family has them: a schedule an axis.
Result<Spectrum> spectrum_of(const VisionFamily& family, std::int64_t width, double base) {
  const std::int64_t axes = axes_of(family);
  SpectrumOptions one{.rotary_dim = width / axes, .base = base, .scaling = *scaling_named(family.scaling)};
  const auto first = Spectrum::make(one);
  if (!first) return first;
  std::vector<Spectrum> parts(static_cast<std::size_t>(axes), *first);
  if (family.axes == Axes::alternate) {  // columns have what lies between the frequencies of the rows
    one.scaling = scaling::Linear{std::pow(base, 2 / static_cast<double>(width))};
    const auto second = Spectrum::make(one);
    if (!second) return second;
    parts[1] = *second;
  }
  const bool in_turns = family.axes == Axes::turns;
  const auto joined = Spectrum::join(parts, in_turns ? AxisOrder::round_robin : AxisOrder::contiguous);
  if (!joined || family.first_axis == 0) return joined;
  std::vector<std::uint8_t> axis(joined->axis().begin(), joined->axis().end());
  for (auto& a : axis) a = a == 0 ? 1 : 0;
  return joined->with_axis(axis);
}

/// What all ropes of an encoder share.
std::optional<RopeDescription> read(const Keys& config, const VisionFamily& family,
                                    std::string_view model_type, std::optional<Pairing> pairing,
                                    ModelBuilder& builder) {
  const HfConfig encoder{
      config,
      std::string(model_type),
      {.model_types = model_type, .head_dim = family.head_dim, .silent_head_dim = family.silent_head_dim},
      true,
      builder};
  RopeDescription rope;
  rope.name = "vision";
  const auto head_dim =
      family.memory_layers == 0 ? head_dim_of(encoder, false) : memory_head_dim(config, builder);
  if (!head_dim || builder.failed()) {
    builder.malformed(config.path_of("head_dim"),
                      ": missing, and the width and the number of heads do not replace it");
    return std::nullopt;
  }
  if (head_dim->value < 4 || head_dim->value % 4 != 0 || head_dim->value > Spectrum::max_rotary_dim) {
    builder.malformed(head_dim->from, ": head_dim ", head_dim->value,
                      " of an image encoder: must be a multiple of 4, at most ", Spectrum::max_rotary_dim);
    return std::nullopt;
  }
  rope.head_dim = *head_dim;
  rope.rotary_dim = {width_of(family, head_dim->value), head_dim->from};
  if (rope.rotary_dim.value != head_dim->value)
    rope.rotary_dim.from = "derived: 3 * (2 * (head_dim / 3 / 2))";
  rope.rotary_offset = {0, "default"};
  rope.base = base_of(config, family, model_type, builder);
  if (const auto type = config.child("rope_parameters").text("rope_type");
      type && type->value != "axial" && type->value != "default" && type->value != "mllama4") {
    builder.warn(type->from, " ", in_quotes(type->value), ": not read; the encoder's own axes are taken");
  }
  rope.scaling = {*scaling_named(family.scaling), encoder.family_default()};
  rope.pairing = {family.pairing, encoder.family_default()};
  if (pairing) rope.pairing = {*pairing, "order of the file's own code"};
  rope.direction = {Direction::forward, "default"};
  return rope;
}

/// Gemma 4: x turns the first half of the head, y the second, each half as a head of its own would turn.
void add_two(RopeDescription rope, ModelBuilder& builder) {
  const std::int64_t half = rope.head_dim.value / 2;
  rope.of_layers = false;
  rope.rotary_dim = {half, "derived: head_dim / 2"};
  for (const auto coordinate : {"x", "y"}) {
    rope.name = message("vision-", coordinate);
    builder.add_rope(rope);
    rope.rotary_offset = {half, "derived: head_dim / 2"};
  }
}

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
  constexpr std::string_view known[] = {"rope_theta",
                                        "rope_parameters",
                                        "memory_attention_rope_theta",
                                        "memory_attention_rope_feat_sizes",
                                        "memory_attention_rope_k_sizes",
                                        "memory_attention_rope_dropout"};
  warn_about_similar_keys(config, known, builder);
  warn_about_misspellings(config, builder);
  auto rope = read(config, *family, model_type, pairing, builder);
  if (!rope) return;
  if (family->axes == Axes::two_ropes) return add_two(*rope, builder);
  const std::string from = message("default of ", model_type);
  const std::int64_t axes = axes_of(*family);
  if (family->axes != Axes::turns) {
    rope->axis_sections = {
        std::vector<std::int64_t>(static_cast<std::size_t>(axes), rope->rotary_dim.value / 2 / axes), from};
    rope->axis_order = {AxisOrder::contiguous, from};
  }
  const auto spectrum = spectrum_of(*family, rope->rotary_dim.value, rope->base.value);
  if (!spectrum) return builder.malformed("rope vision: ", spectrum.status().message());
  rope->spectrum = *spectrum;
  rope->of_layers = of_layers;
  builder.add_rope(*rope);
}

}  // namespace

bool is_vision_model(std::string_view model_type) noexcept { return family_of(model_type) != nullptr; }

void add_vision(const Keys& config, std::string_view model_type, std::optional<Pairing> pairing,
                ModelBuilder& builder) {
  add(config, model_type, pairing, false, builder);
}

void add_encoder(const Keys& config, std::string_view model_type, ModelBuilder& builder) {
  add(config, model_type, builder.options().pairing, true, builder);
  if (builder.failed()) return;
  if (const VisionFamily* family = family_of(model_type); family->memory_layers != 0) {
    const auto other = config.child("vision_config").text("model_type");
    if (other && other->value == "sam3_vision_model") {
      builder.warn(config.path_of("vision_config"),
                   ": not read; its encoder has a rope of its own, which it describes as a file alone");
    }
    const auto layers = config.integer("memory_attention_num_layers")
                            .value_or(Sourced<std::int64_t>{family->memory_layers, "default"});
    if (!builder.accept_layers(layers.from, layers.value)) return;
    return builder.set_layers(
        std::vector<std::optional<std::size_t>>(static_cast<std::size_t>(layers.value), 0));
  }
  const HfConfig encoder{config, std::string(model_type), {.model_types = model_type}, true, builder};
  // Layers with two ropes have none that is theirs alone.
  if (builder.model().ropes().size() != 1) return;
  builder.set_layers(std::vector<std::optional<std::size_t>>(read_layers(encoder).types.size(), 0));
}

}  // namespace rotary::impl
