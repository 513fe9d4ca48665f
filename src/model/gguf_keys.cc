// SPDX-License-Identifier: Apache-2.0
// {arch}.rope.* and their companions. What a GGUF cannot state comes from the family, and says so.
#include <algorithm>
#include <cmath>

#include "base/in_quotes.hpp"
#include "model/family.hpp"
#include "model/gguf_values.hpp"
#include "model/keys.hpp"
#include "model/readers.hpp"

namespace rotary::impl {
namespace {

constexpr double most_lanes = 1 << 16;

class GgufReader : GgufValues {
 public:
  GgufReader(GgufParts parts, std::string architecture, const Family& family, ModelBuilder& builder)
      : GgufValues(parts, std::move(architecture), builder), family_(family), builder_(builder) {}

  void read() {
    RopeDescription rope;
    refuse_alibi();
    warn_about_unread();
    read_window(rope);
    rope.base = first({number("rope.freq_base")}, {10000, "default: the file states no base", true});
    if (const auto context = integer("context_length", HUGE_VAL)) rope.context = context;
    read_scaling(*this, family_, rope, builder_);
    read_axes(rope);
    read_pairing(rope);
    const std::size_t layers = layer_count();
    if (builder_.failed()) return;
    const bool two = family_.local_base || has("rope.freq_base_swa") || has("rope.dimension_count_swa");
    if (family_.compress_base) {
      add_main_and_compress(rope, layers);
    } else {
      two ? add_local_and_global(rope, layers) : add_one(rope, layers);
    }
    read_temperature(*this, family_.tunes_no_rope, builder_);
  }

 private:
  /// One number, though the file may give one a layer: then all must agree.
  std::optional<Sourced<double>> head_count() {
    const std::string path = key("attention.head_count");
    const auto list = numbers("attention.head_count");
    if (!list || list->empty()) return number("attention.head_count");
    if (std::ranges::any_of(*list, [&](double n) { return n != list->front(); })) {
      builder_.malformed(path, ": differs between layers, and attention.key_length is not stated");
    }
    return Sourced<double>{list->front(), path};
  }

  /// Keys of rope that no code reads, or that are spelled wrong.
  void warn_about_unread() {
    constexpr std::string_view known[] = {"dimension_count",
                                          "dimension_count_swa",
                                          "dimension_sections",
                                          "freq_base",
                                          "freq_base_swa",
                                          "scale_linear",
                                          "scaling.type",
                                          "scaling.factor",
                                          "scaling.alpha",
                                          "scaling.attn_factor",
                                          "scaling.original_context_length",
                                          "scaling.finetuned",
                                          "scaling.yarn_log_multiplier",
                                          "scaling.yarn_beta_fast",
                                          "scaling.yarn_beta_slow",
                                          "scaling.yarn_ext_factor",
                                          "scaling.yarn_attn_factor"};
    const std::string start = key("rope.");
    for (const auto& [path, value] : file().keys()) {
      if (!path.starts_with(start)) continue;
      const std::string_view word = std::string_view(path).substr(start.size());
      if (std::ranges::count(known, word) != 0) continue;
      const std::string_view close = similar(word, known);
      builder_.warn(is_word(path) ? path : in_quotes(path), ": not a key that is read",
                    close.empty() ? "" : message("; did you mean ", start, close, "?"));
    }
  }

  void refuse_alibi() {
    const auto width = integer("embedding_length", HUGE_VAL);
    if (family_.alibi_but_width == 0 || !width || width->value == family_.alibi_but_width) return;
    builder_.fail(StatusCode::unsupported, width->from, " ", width->value, ": of ", architecture(),
                  ", only the models of width ", family_.alibi_but_width,
                  " have a rotary embedding; the others have ALiBi");
  }

  void read_window(RopeDescription& rope) {
    auto head_dim = integer("attention.key_length_mla", most_lanes);
    if (!head_dim) head_dim = integer("attention.key_length", most_lanes);
    if (!head_dim) {
      const auto hidden = number("embedding_length"), heads = head_count();
      if (!hidden || !heads || !(heads->value >= 1) || std::fmod(hidden->value, heads->value) != 0 ||
          !(hidden->value / heads->value <= most_lanes)) {
        return builder_.malformed(
            key("attention.key_length"),
            ": missing, and embedding_length / attention.head_count does not replace it");
      }
      head_dim = {static_cast<std::int64_t>(hidden->value / heads->value),
                  message("derived: ", hidden->from, " / ", heads->from)};
    }
    rope.head_dim = *head_dim;
    rope.rotary_dim = integer("rope.dimension_count", most_lanes)
                          .value_or(Sourced<std::int64_t>{head_dim->value, head_dim->from});
    rope.rotary_offset = {0, "default"};
    if (family_.window_at_end)
      rope.rotary_offset = {head_dim->value - rope.rotary_dim.value, family_default()};
  }

  void read_axes(RopeDescription& rope) {
    const std::string path = key("rope.dimension_sections");
    const auto sections = numbers("rope.dimension_sections");
    if (!sections && has("rope.dimension_sections")) return wrong(path, "a list of numbers");
    // ggml has ropes of several axes that are always so, and such that are where two sections are stated.
    const bool always = family_.sections[0] != 0, known = !family_.gguf.empty();
    const auto states = [&](std::size_t axis) {
      return sections && sections->size() > axis && (*sections)[axis] != 0;
    };
    if (always && !states(0) && !states(1) && !states(2)) {
      return builder_.malformed(path, ": expected the pairs of each axis, got ",
                                sections ? "none" : "no such key", ", and ", architecture(), " needs them");
    }
    if (known && !always && !lists("glm4 glm4moe hunyuan_vl hunyuan-vl", architecture())) {
      if (sections) builder_.warn(path, ": not read: in llama.cpp ", architecture(), " has one axis");
      return;
    }
    if (!always && (!states(0) || !states(1))) return;
    rope.axis_sections.from = path;
    for (double pairs : *sections) {
      check_whole({pairs, path}, 0, most_lanes);
      if (builder_.failed()) return;
      rope.axis_sections.value.push_back(static_cast<std::int64_t>(pairs));
    }
    while (!rope.axis_sections.value.empty() && rope.axis_sections.value.back() == 0)
      rope.axis_sections.value.pop_back();
    rope.axis_order = {family_.axis_order, family_default()};
  }

  void read_pairing(RopeDescription& rope) {
    rope.direction = {Direction::forward, "default"};
    if (const auto& option = builder_.options().pairing) {
      rope.pairing = {*option, "option pairing"};
    } else if (!rope.axis_sections.value.empty()) {
      rope.pairing = {Pairing::half_split, "rule of ggml for several axes"};
    } else if (family_.gguf_pairing) {
      rope.pairing = {*family_.gguf_pairing, message("row order of ", architecture(), " in GGUF")};
    } else {
      rope.pairing = {Pairing::half_split, "default: the file states no pairing", true};
      builder_.warn("general.architecture ", architecture(),
                    ": not known, so the pairing half_split is assumed");
    }
  }

  std::size_t layer_count() {
    const auto layers = integer("block_count", most_layers);
    if (!layers && !builder_.failed())
      builder_.warn(key("block_count"), ": missing, so nothing is known about the layers");
    return layers ? static_cast<std::size_t>(layers->value) : 0;
  }

  /// For each layer whether it is one of full attention, or without rope: the family's pattern.
  std::vector<bool> exceptions(std::size_t layers) {
    const std::string path = key("attention.sliding_window_pattern");
    if (const auto list = numbers("attention.sliding_window_pattern")) {
      if (layers != 0 && list->size() != layers) {
        builder_.malformed(path, ": ", list->size(), " entries, must be one a layer, ", layers);
        return std::vector<bool>(layers, false);
      }
      if (layers == 0) return {};
      builder_.add_value({0, "layer_pattern", std::vector<double>(list->begin(), list->end()), path});
      std::vector<bool> result;
      for (double sliding : *list) result.push_back(sliding == 0);
      return result;
    }
    auto stated = number("attention.sliding_window_pattern");
    if (!stated) stated = number("full_attention_interval");
    const Sourced<double> pattern = first({stated}, {static_cast<double>(family_.pattern), family_default()});
    check_whole(pattern, 1, most_layers);
    std::vector<bool> result(layers, false);
    if (builder_.failed()) return result;
    const auto step = static_cast<std::size_t>(pattern.value);
    builder_.add_value({0, "layer_pattern", static_cast<std::int64_t>(step), pattern.from});
    for (std::size_t i = family_.full_first ? 0 : step - 1; i < layers; i += step) result[i] = true;
    return result;
  }

  void add_one(const RopeDescription& rope, std::size_t layers) {
    builder_.add_rope(rope);
    std::vector<std::optional<std::size_t>> assigned(layers, 0);
    const auto finetuned = boolean("rope.scaling.finetuned");
    if (finetuned && !finetuned->value && family_.gguf_switch) {
      builder_.add_value({0, "layers_with_rope", std::int64_t{0}, finetuned->from});
      assigned.assign(layers, std::nullopt);
    } else if (family_.no_rope != NoRope::none) {
      const auto exception = exceptions(layers);
      for (std::size_t i = 0; i < layers; ++i) {
        if (exception[i] != (family_.no_rope == NoRope::others)) assigned[i].reset();
      }
    }
    builder_.set_layers(std::move(assigned));
  }

  void remove_scaling(RopeDescription& rope) const {
    rope.scaling = {scaling::None{}, family_default()};
    rope.scaling_values.clear();
    rope.original_context.reset();
    rope.divisors = {};
  }

  /// DeepSeek-V4: the scaling belongs to the layers that compress, and has no magnitude.
  void add_main_and_compress(const RopeDescription& rope, std::size_t layers) {
    RopeDescription plain = rope, compress = rope;
    plain.name = "main";
    remove_scaling(plain);
    compress.name = "compress";
    compress.base =
        first({number("attention.compress_rope_freq_base")}, {*family_.compress_base, family_default()});
    compress.settle_magnitude(family_default());
    builder_.add_rope(plain);
    builder_.add_rope(compress);
    builder_.add_value({0, "attention_output", std::string("turned back by the inverse of the layer's rope"),
                        family_default()});
    const auto ratios = numbers("attention.compress_ratios");
    if (!ratios || ratios->size() < layers) {
      return builder_.malformed(key("attention.compress_ratios"), ": expected a list of one number a layer, ",
                                layers);
    }
    std::vector<std::optional<std::size_t>> assigned;
    for (const double ratio : ratios->first(layers)) assigned.push_back(ratio == 0 ? 0U : 1U);
    builder_.set_layers(std::move(assigned));
  }

  /// The keys describe the global layers; the file seldom states the local base.
  void add_local_and_global(RopeDescription rope, std::size_t layers) {
    RopeDescription local = rope;
    local.name = "local";
    local.base =
        first({number("rope.freq_base_swa")},
              family_.local_base ? Sourced<double>{*family_.local_base, family_default()} : rope.base);
    if (const auto head_dim = integer("attention.key_length_swa", most_lanes)) {
      local.head_dim = local.rotary_dim = *head_dim;
    }
    if (const auto width = integer("rope.dimension_count_swa", most_lanes)) local.rotary_dim = *width;
    // ggml gives both kinds of layers one scaling, unless the architecture says otherwise.
    if (family_.local_base && !family_.local_scaling) {
      remove_scaling(local);
    }
    rope.name = "global";
    const auto full = exceptions(layers);
    const std::size_t global_index = layers > 0 && full.front() ? 0 : 1;
    builder_.add_rope(global_index == 0 ? rope : local);
    builder_.add_rope(global_index == 0 ? local : rope);
    std::vector<std::optional<std::size_t>> assigned;
    for (const bool is_full : full) assigned.push_back(is_full ? global_index : 1 - global_index);
    builder_.set_layers(std::move(assigned));
  }

  const Family& family_;
  ModelBuilder& builder_;
};

}  // namespace

void read_gguf(GgufParts parts, ModelBuilder& builder) {
  const auto& file = parts.front();
  const auto architecture = file.text("general.architecture");
  if (!architecture) return builder.malformed("general.architecture: missing");
  if (!is_word(*architecture)) {
    return builder.malformed("general.architecture ", in_quotes(*architecture), ": not a name");
  }
  builder.set_names("", std::string(*architecture));
  static constexpr Family unknown{.model_types = ""};
  const Family* family = family_of_gguf(*architecture);
  if (family != nullptr && !family->unsupported.empty()) {
    return builder.fail(StatusCode::unsupported, "general.architecture ", *architecture,
                        ": not supported: ", family->unsupported);
  }
  if (const auto count = file.number("split.count"); count && *count > static_cast<double>(parts.size())) {
    builder.warn("split.count ", *count,
                 ": tensors of parts that are not read, such as rope_freqs.weight, are not seen");
  }
  GgufReader(parts, std::string(*architecture), family == nullptr ? unknown : *family, builder).read();
}

}  // namespace rotary::impl
