// SPDX-License-Identifier: Apache-2.0
// {arch}.rope.* and their companions. What a GGUF cannot state comes from the family, and says so.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/in_quotes.hpp"
#include "model/family.hpp"
#include "model/keys.hpp"
#include "model/readers.hpp"

namespace rotary::impl {
namespace {

constexpr double most_layers = 10000;
constexpr double most_lanes = 1 << 16;

std::string_view kind(const formats::GgufValue& value) noexcept {
  constexpr std::string_view kinds[] = {"a number",      "a number", "a number",
                                        "a truth value", "text",     "a list"};
  return kinds[value.index()];
}

class GgufReader {
 public:
  GgufReader(const formats::Gguf& file, std::string architecture, const Family& family, ModelBuilder& builder)
      : file_(file), architecture_(std::move(architecture)), family_(family), builder_(builder) {}

  void read() {
    RopeDescription rope;
    read_window(rope);
    rope.base = first({number("rope.freq_base")}, {10000, "default: the file states no base", true});
    if (const auto context = integer("context_length", HUGE_VAL)) rope.context = context;
    read_scaling(rope);
    read_divisors(rope);
    read_axes(rope);
    read_pairing(rope);
    const std::size_t layers = layer_count();
    if (builder_.failed()) return;
    family_.local_base ? add_local_and_global(rope, layers) : add_one(rope, layers);
  }

 private:
  std::string key(std::string_view name) const { return message(architecture_, ".", name); }
  std::string family_default() const { return message("default of ", architecture_); }

  /// A value of the wrong type is no missing one: the default would be silently another rope.
  void wrong(const std::string& path, std::string_view expected) const {
    builder_.malformed(path, ": expected ", expected, ", got ", kind(*file_.find(path)));
  }
  std::optional<Sourced<double>> number(std::string_view name) const {
    const std::string path = key(name);
    const auto* value = file_.find(path);
    if (value == nullptr) return std::nullopt;
    const auto number = file_.number(path);
    if (number && !std::holds_alternative<bool>(*value)) return Sourced<double>{*number, path};
    wrong(path, "a number");
    return std::nullopt;
  }
  static Sourced<double> first(std::initializer_list<std::optional<Sourced<double>>> stated,
                               Sourced<double> otherwise) {
    for (const auto& value : stated) {
      if (value) return *value;
    }
    return otherwise;
  }
  void check(const Sourced<double>& value, double least, double most) {
    if (std::isfinite(value.value) && value.value >= least && value.value <= most) return;
    builder_.malformed(value.from, " ", value.value, ": must be finite and from ", least, " to ", most);
  }
  void check_whole(const Sourced<double>& value, double least, double most) {
    check(value, least, most);
    if (std::trunc(value.value) != value.value)
      builder_.malformed(value.from, " ", value.value, ": must be a whole number");
  }
  std::optional<Sourced<std::int64_t>> integer(std::string_view name, double most) {
    const auto value = number(name);
    if (!value) return std::nullopt;
    check_whole(*value, 0, std::min(most, 9e15));
    if (builder_.failed()) return std::nullopt;
    return Sourced<std::int64_t>{static_cast<std::int64_t>(value->value), value->from};
  }
  /// One number, though the file may give one a layer: then all must agree.
  std::optional<Sourced<double>> head_count() {
    const std::string path = key("attention.head_count");
    const auto numbers = file_.numbers(path);
    if (!numbers || numbers->empty()) return number("attention.head_count");
    if (std::ranges::any_of(*numbers, [&](double n) { return n != numbers->front(); })) {
      builder_.malformed(path, ": differs between layers, and attention.key_length is not stated");
    }
    return Sourced<double>{numbers->front(), path};
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

  void read_scaling(RopeDescription& rope) {
    const std::string path = key("rope.scaling.type");
    const auto type = file_.text(path);
    if (!type && file_.find(path) != nullptr) return wrong(path, "text");
    auto factor =
        first({number("rope.scaling.factor"), number("rope.scale_linear")}, {1, "default: no factor stated"});
    if (factor.value == 0) factor.value = 1;
    rope.scaling = {scaling::None{}, type ? path : "default: no scaling stated"};
    if (type.value_or("") == "longrope" || file_.find_tensor("rope_factors_long.weight") ||
        file_.find_tensor("rope_factors_short.weight")) {
      read_longrope(rope);
    } else if (type.value_or("linear") == "linear") {
      if (factor.value == 1) return;
      rope.scaling = {scaling::Linear{factor.value}, type ? path : factor.from};
      rope.scaling_values.push_back({0, "factor", factor.value, factor.from});
    } else if (*type == "yarn") {
      read_yarn(rope, factor);
    } else if (*type != "none") {
      builder_.malformed(path, " ", in_quotes(*type),
                         ": unknown scaling type; known are none, linear, yarn, longrope");
    }
  }

  Sourced<double> original_length(RopeDescription& rope) {
    auto length = number("rope.scaling.original_context_length");
    if (!length && (length = number("context_length"))) {
      length->from += ", since no original length is stated";
      length->assumed = true;
    }
    if (!length) {
      builder_.malformed(key("rope.scaling.original_context_length"), ": missing");
      return {};
    }
    check(*length, 1, 9e15);
    if (!builder_.failed())
      rope.original_context =
          Sourced<std::int64_t>{std::llround(length->value), length->from, length->assumed};
    return *length;
  }

  /// The two lists are tensors, and A is stored: converters compute it.
  void read_longrope(RopeDescription& rope) {
    scaling::LongRope longrope;
    const auto length = original_length(rope);
    for (auto& [name, list] :
         {std::pair<std::string_view, std::vector<double>&>{"short", longrope.short_factor},
          {"long", longrope.long_factor}}) {
      const std::string tensor = message("rope_factors_", name, ".weight");
      const auto numbers = divisors_in(tensor, rope);
      if (!numbers) return builder_.malformed(tensor, ": missing, and longrope needs it");
      list = *numbers;
      rope.scaling_values.push_back({0, message(name, "_factor"), list, tensor});
    }
    longrope.original_max_position_embeddings = length.value;
    rope.scaling_values.push_back(
        {0, "original_max_position_embeddings", length.value, length.from, length.assumed});
    const auto attention =
        first({number("rope.scaling.attn_factor")}, {1, "default: the file states no attn_factor", true});
    longrope.attention_factor = attention.value;
    rope.scaling_values.push_back(
        {0, "attention_factor", attention.value, attention.from, attention.assumed});
    rope.scaling = {longrope, "rope_factors_long.weight"};
  }

  void read_yarn(RopeDescription& rope, const Sourced<double>& factor) {
    scaling::Yarn yarn;
    const auto take = [&](std::string_view name, auto& field, const Sourced<double>& from) {
      field = from.value;
      rope.scaling_values.push_back({0, std::string(name), from.value, from.from, from.assumed});
    };
    take("factor", yarn.factor, factor);
    const auto length = original_length(rope);
    if (builder_.failed()) return;
    take("original_max_position_embeddings", yarn.original_max_position_embeddings, length);
    take("beta_fast", yarn.beta_fast,
         first({number("rope.scaling.yarn_beta_fast")}, {32, "default of yarn"}));
    take("beta_slow", yarn.beta_slow, first({number("rope.scaling.yarn_beta_slow")}, {1, "default of yarn"}));
    if (const auto part = number("rope.scaling.attn_factor")) take("attn_factor", yarn.attn_factor, *part);
    yarn.truncate = family_.truncate;
    rope.scaling_values.push_back(
        {0, "truncate", yarn.truncate, family_.truncate ? "default of yarn" : family_default()});
    // Latent attention stores 0.1 * mscale_all_dim and means both; Mistral 3 stores mscale_all_dim itself.
    if (auto multiplier = number("rope.scaling.yarn_log_multiplier"); multiplier && multiplier->value != 0) {
      if (family_.window_at_end)
        multiplier = {multiplier->value / 0.1, message("derived: 10 * ", multiplier->from)};
      take("mscale", yarn.mscale, family_.window_at_end ? *multiplier : Sourced<double>{1, family_default()});
      take("mscale_all_dim", yarn.mscale_all_dim, *multiplier);
      if (!family_.window_at_end) take("softmax_factor", yarn.softmax_factor, {1, family_default()});
    }
    rope.scaling = {yarn, key("rope.scaling.type")};
  }

  /// One divisor a pair, or nothing where there is no such tensor.
  std::optional<std::vector<double>> divisors_in(const std::string& name, const RopeDescription& rope) {
    const auto* tensor = file_.find_tensor(name);
    if (tensor == nullptr) return std::nullopt;
    std::vector<double> divisors;
    const auto pairs = static_cast<std::size_t>(rope.rotary_dim.value / 2);
    if (tensor->type != 0 || tensor->bytes.size() != pairs * sizeof(float)) {
      builder_.malformed(name, ": expected ", pairs, " numbers of type f32, one a pair");
      return divisors;
    }
    for (std::size_t i = 0; i < pairs; ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, tensor->bytes.data() + i * sizeof bits, sizeof bits);
      const auto divisor = std::bit_cast<float>(file_.big_endian() ? __builtin_bswap32(bits) : bits);
      if (!std::isfinite(divisor) || divisor <= 0) {
        builder_.malformed(name, "[", i, "] ", divisor, ": must be positive and finite");
        return divisors;
      }
      divisors.push_back(static_cast<double>(divisor));
    }
    return divisors;
  }

  /// rope_freqs.weight: what each frequency is divided by (llama3 and proportional scaling arrive this way).
  void read_divisors(RopeDescription& rope) {
    const std::string name = "rope_freqs.weight";
    auto divisors = divisors_in(name, rope);
    if (!divisors || divisors->empty()) return;
    if (!std::holds_alternative<scaling::None>(rope.scaling.value)) {
      rope.divisors = {*std::move(divisors), name};
      return;
    }
    rope.scaling_values.push_back({0, "divisors", *divisors, name});
    rope.scaling = {scaling::Divided{*std::move(divisors)}, name};
  }

  void read_axes(RopeDescription& rope) {
    const std::string path = key("rope.dimension_sections");
    const auto sections = file_.numbers(path);
    if (!sections && file_.find(path) != nullptr) return wrong(path, "a list of numbers");
    if (!sections) return;
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
      rope.pairing = {*family_.gguf_pairing, message("row order of ", architecture_, " in GGUF")};
    } else {
      rope.pairing = {Pairing::half_split, "default: the file states no pairing", true};
      builder_.warn("general.architecture ", architecture_,
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
    if (const auto list = file_.numbers(path)) {
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
    const auto stated = number("attention.sliding_window_pattern");
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
    if (family_.no_rope != NoRope::none) {
      const auto without = exceptions(layers);
      for (std::size_t i = 0; i < layers; ++i) {
        if (without[i]) assigned[i].reset();
      }
    }
    builder_.set_layers(std::move(assigned));
  }

  /// The keys describe the global layers; the file seldom states the local base.
  void add_local_and_global(RopeDescription rope, std::size_t layers) {
    RopeDescription local = rope;
    local.name = "local";
    local.base = first({number("rope.freq_base_swa")}, {*family_.local_base, family_default()});
    if (const auto head_dim = integer("attention.key_length_swa", most_lanes)) {
      local.head_dim = local.rotary_dim = *head_dim;
    }
    if (const auto width = integer("rope.dimension_count_swa", most_lanes)) local.rotary_dim = *width;
    if (!family_.local_scaling) {
      local.scaling = {scaling::None{}, family_default()};
      local.scaling_values.clear();
      local.original_context.reset();
      local.divisors = {};
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

  const formats::Gguf& file_;
  std::string architecture_;
  const Family& family_;
  ModelBuilder& builder_;
};

}  // namespace

void read_gguf(const formats::Gguf& file, ModelBuilder& builder) {
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
  GgufReader(file, std::string(*architecture), family == nullptr ? unknown : *family, builder).read();
}

}  // namespace rotary::impl
