// SPDX-License-Identifier: Apache-2.0
// config.json of an image or video generator of diffusers: told by its _class_name. Several axes, a schedule each; the
// positions are the caller's grids. Sources: diffusers' models/transformers/transformer_*.py of these names.
#include <algorithm>
#include <array>
#include <numeric>

#include "base/in_quotes.hpp"
#include "model/hf_plans.hpp"
#include "model/readers.hpp"

namespace rotary::impl {
namespace {

struct Generator {
  std::string_view class_name;
  std::string_view axes_key =
      {};  ///< lanes of each axis; empty: a third of the pairs each, as Wan deals them
  std::array<std::int64_t, 4> axes = {};  ///< where the file is silent; 0 ends the list
  double base = 10000;
  std::string_view base_key = {};     ///< empty: the class has no way to state another
  std::int64_t head_dim = 0;          ///< where neither it nor width and heads are stated
  std::string_view unsupported = {};  ///< why not
};

constexpr Generator generators[] = {
    {.class_name = "FluxTransformer2DModel",
     .axes_key = "axes_dims_rope",
     .axes = {16, 56, 56},
     .head_dim = 128},
    {.class_name = "Flux2Transformer2DModel",
     .axes_key = "axes_dims_rope",
     .axes = {32, 32, 32, 32},
     .base = 2000,
     .base_key = "rope_theta",
     .head_dim = 128},
    {.class_name = "QwenImageTransformer2DModel",
     .axes_key = "axes_dims_rope",
     .axes = {16, 56, 56},
     .head_dim = 128},
    {.class_name = "HunyuanVideoTransformer3DModel",
     .axes_key = "rope_axes_dim",
     .axes = {16, 56, 56},
     .base = 256,
     .base_key = "rope_theta",
     .head_dim = 128},
    {.class_name = "ZImageTransformer2DModel",
     .axes_key = "axes_dims",
     .axes = {32, 48, 48},
     .base = 256,
     .base_key = "rope_theta",
     .head_dim = 128},
    {.class_name = "Lumina2Transformer2DModel",
     .axes_key = "axes_dim_rope",
     .axes = {32, 32, 32},
     .head_dim = 96},
    {.class_name = "WanTransformer3DModel", .head_dim = 128},
    {.class_name = "MochiTransformer3DModel",
     .unsupported = "its frequencies are learned and stand in the weights (pos_frequencies)"},
};

/// By which one class or another states its axes and base.
constexpr std::string_view stating_keys[] = {"axes_dims_rope", "rope_axes_dim", "axes_dims", "axes_dim_rope",
                                             "rope_theta",     "theta",         "rope_base"};

class DiffusersReader {
 public:
  DiffusersReader(const Keys& top, const Generator& generator, ModelBuilder& builder)
      : config_{top,
                std::string(generator.class_name),
                {.model_types = generator.class_name, .silent_head_dim = generator.head_dim},
                true,
                builder},
        generator_(generator) {}

  void read() {
    std::vector<std::string_view> known = {"rope_max_seq_len", "use_rotary_positional_embeddings"};
    known.insert(known.end(), std::begin(stating_keys), std::end(stating_keys));
    warn_about_similar_keys(config_.top, known, config_.builder);
    warn_about_misspellings(config_.top, config_.builder);
    warn_about_others();
    const auto head_dim = head_dim_of(config_, false);
    if (!head_dim) return config_.builder.malformed("attention_head_dim: missing");
    RopeDescription rope;
    rope.head_dim = *head_dim;
    rope.rotary_offset = {0, "default"};
    rope.base = {generator_.base, config_.family_default()};
    if (!generator_.base_key.empty()) rope.base = config_.top.number(generator_.base_key).value_or(rope.base);
    rope.scaling = {scaling::None{}, config_.family_default()};
    rope.pairing = {Pairing::interleaved, message("how ", generator_.class_name, " rotates")};
    if (const auto& option = config_.builder.options().pairing) rope.pairing = {*option, "option pairing"};
    rope.direction = {Direction::forward, "default"};
    const auto lanes = read_axes(head_dim->value);
    if (config_.builder.failed()) return;
    check_sum(lanes, *head_dim);
    if (config_.builder.failed()) return;
    const auto spectrum = Spectrum::axial(lanes.value, rope.base.value);
    if (!spectrum) return config_.builder.malformed(lanes.from, ": ", spectrum.status().message());
    rope.spectrum = *spectrum;
    rope.rotary_dim = {static_cast<std::int64_t>(spectrum->inv_freq().size()) * 2,
                       message("derived: ", lanes.from)};
    rope.axis_sections.from = lanes.from;
    for (const auto axis : lanes.value) rope.axis_sections.value.push_back(axis / 2);
    rope.axis_order = {AxisOrder::contiguous, config_.family_default()};
    config_.builder.add_rope(rope);
    set_layers();
  }

 private:
  void warn_about_others() {
    for (const std::string_view key : stating_keys) {
      if (key == generator_.axes_key || key == generator_.base_key || config_.top.find(key) == nullptr)
        continue;
      config_.builder.warn(config_.top.path_of(key), ": not read by ", generator_.class_name);
    }
  }

  /// The axes fill the head: diffusers multiplies all of its lanes.
  void check_sum(const Sourced<std::vector<std::int64_t>>& lanes, const Sourced<std::int64_t>& head_dim) {
    const auto sum = std::accumulate(lanes.value.begin(), lanes.value.end(), std::int64_t{0});
    if (sum == head_dim.value) return;
    config_.builder.malformed(lanes.from, ": sum ", sum, ", expected head_dim ", head_dim.value, " (",
                              head_dim.from, ")");
  }

  /// Lanes of each axis.
  Sourced<std::vector<std::int64_t>> read_axes(std::int64_t head_dim) {
    if (generator_.axes_key.empty()) {
      const std::int64_t space = head_dim / 6 * 2;
      return {{head_dim - 2 * space, space, space},
              message("thirds of head_dim, ", config_.family_default())};
    }
    Sourced<std::vector<std::int64_t>> lanes{{}, config_.family_default()};
    const auto stated = config_.top.numbers(generator_.axes_key);
    if (!stated) {
      std::ranges::copy_if(generator_.axes, std::back_inserter(lanes.value), [](auto n) { return n > 0; });
      return lanes;
    }
    lanes.from = stated->from;
    for (const double number : stated->value) {
      if (!(number >= 2 && number <= static_cast<double>(Spectrum::max_rotary_dim)) ||
          number != static_cast<double>(static_cast<std::int64_t>(number))) {
        config_.builder.malformed(stated->from, ": ", number, ": must be a whole number from 2 to ",
                                  Spectrum::max_rotary_dim);
        return lanes;
      }
      lanes.value.push_back(static_cast<std::int64_t>(number));
    }
    return lanes;
  }

  /// Those with two streams and those with one.
  void set_layers() {
    std::int64_t count = 0;
    for (const auto key : {"num_layers", "n_layers", "num_single_layers"}) {
      const auto layers = config_.top.integer(key);
      if (!layers) continue;
      if (!config_.builder.accept_layers(layers->from, layers->value)) return;
      count += layers->value;
    }
    if (!config_.builder.accept_layers("num_layers + num_single_layers", count)) return;
    if (count == 0) config_.builder.warn("num_layers: missing, so nothing is known about the layers");
    config_.builder.set_layers(std::vector<std::optional<std::size_t>>(static_cast<std::size_t>(count), 0));
  }

  HfConfig config_;
  const Generator& generator_;
};

}  // namespace

bool is_diffusers(const Json& document) {
  const auto* object = document.get<Json::Object>();
  return object != nullptr && find(*object, "_class_name") != nullptr &&
         find(*object, "model_type") == nullptr;
}

bool is_generator(std::string_view class_name) noexcept {
  return std::ranges::count(generators, class_name, &Generator::class_name) != 0;
}

void read_diffusers(const Json& document, ModelBuilder& builder) {
  const Keys top(document.get<Json::Object>(), "", builder);
  const auto name = top.text("_class_name");
  if (!name) return builder.malformed("_class_name: missing");
  builder.set_names(name->value, "");
  const auto found = std::ranges::find(generators, name->value, &Generator::class_name);
  if (found == std::end(generators) || !found->unsupported.empty()) {
    return builder.fail(
        StatusCode::unsupported, name->from, " ", in_quotes(name->value), ": ",
        found == std::end(generators) ? "a model of diffusers that is not known" : found->unsupported);
  }
  DiffusersReader(top, *found, builder).read();
}

}  // namespace rotary::impl
