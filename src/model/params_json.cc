// SPDX-License-Identifier: Apache-2.0
// params.json as Mistral and Meta write it, and the .json of gpt-oss's and DeepSeek's own code: one flat object each,
// whose constants stand in that code. Sources: mistral-inference's transformer.py and rope.py, vLLM's
// transformers_utils/configs/mistral.py; llama-models' model.py, Transformers' convert_llama4_weights_to_hf.py;
// gpt-oss's torch/model.py; inference/model.py of DeepSeek-V3 and of V4.
#include <algorithm>
#include <array>

#include "model/hf_plans.hpp"
#include "model/readers.hpp"
#include "model/vision.hpp"

namespace rotary::impl {
namespace {

enum class Dialect { mistral, meta, gpt_oss, deepseek_v3, deepseek_v4 };

struct Facts {
  std::string_view code;  ///< whose constants they are
  std::string_view model_type;
  Pairing pairing;
  std::array<std::string_view, 6> rope_keys;
};
constexpr Facts facts[] = {
    {"mistral-inference", "mistral", Pairing::interleaved, {"rope_theta"}},
    {"Meta's code",
     "llama",
     Pairing::interleaved,
     {"rope_theta", "rope_scaling_factor", "rope_high_freq_factor"}},
    {"gpt-oss's code",
     "gpt_oss",
     Pairing::half_split,
     {"rope_theta", "rope_scaling_factor", "rope_ntk_alpha", "rope_ntk_beta"}},
    {"DeepSeek's code", "deepseek_v3", Pairing::interleaved, {"rope_theta", "rope_factor"}},
    {"DeepSeek's code", "deepseek_v4", Pairing::interleaved, {"rope_theta", "rope_factor", "rope_head_dim"}},
};

bool has_any(const Json::Object& object, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys, [&](auto key) { return find(object, key) != nullptr; });
}

std::optional<Dialect> dialect_of(const Json& document) {
  const auto* object = document.get<Json::Object>();
  if (object == nullptr || has_any(*object, {"architectures"})) return std::nullopt;
  const Json* type = find(*object, "model_type");
  const auto* word = type == nullptr ? nullptr : type->get<std::string>();
  if (type != nullptr && (word == nullptr || *word != "transformer")) return std::nullopt;
  if (has_any(*object, {"initial_context_length", "rope_ntk_alpha", "rope_ntk_beta"}))
    return Dialect::gpt_oss;
  if (!has_any(*object, {"dim"}) || !has_any(*object, {"n_layers"}) || !has_any(*object, {"n_heads"})) {
    return std::nullopt;
  }
  if (has_any(*object, {"rope_head_dim", "compress_ratios", "compress_rope_theta"}))
    return Dialect::deepseek_v4;
  if (has_any(*object, {"qk_rope_head_dim"}) &&
      has_any(*object, {"inter_dim", "moe_inter_dim", "rope_factor", "original_seq_len"})) {
    return Dialect::deepseek_v3;
  }
  const bool meta = has_any(*object, {"use_scaled_rope", "multiple_of", "ffn_dim_multiplier", "ffn_exp"});
  return meta ? Dialect::meta : Dialect::mistral;
}

class ParamsReader {
 public:
  ParamsReader(const HfConfig& config, const Facts& known)
      : config_(config), facts_(known), top_(config.top), builder_(config.builder) {}

  void read(Dialect dialect) {
    builder_.add_value({0, "model_type", std::string(facts_.model_type), "derived: the keys of the file"});
    warn_about_similar_keys(top_, facts_.rope_keys, builder_);
    const LayerPlan layers = read_layers(config_);
    if (dialect == Dialect::deepseek_v4) check_ratios();
    RopeDescription rope;
    dialect == Dialect::deepseek_v4 ? read_window_at_end(rope)
                                    : read_window(config_, {"default", "", nothing_, nothing_}, rope);
    if (dialect == Dialect::deepseek_v3) read_still_lanes(rope);
    rope.scaling = {scaling::None{}, "default: no scaling stated"};
    rope.direction = {Direction::forward, "default"};
    rope.pairing = {facts_.pairing, message("how ", facts_.code, " rotates")};
    if (const auto& option = builder_.options().pairing) rope.pairing = {*option, "option pairing"};
    Agreed<std::int64_t> context(builder_);
    for (const auto key : {"max_position_embeddings", "max_seq_len"}) context.add(top_.integer(key));
    rope.context = context.value();
    switch (dialect) {
      case Dialect::mistral:
        read_mistral(rope);
        break;
      case Dialect::meta:
        read_meta(rope);
        break;
      case Dialect::gpt_oss:
        read_gpt_oss(rope);
        break;
      case Dialect::deepseek_v3:
        read_deepseek_v3(rope);
        break;
      case Dialect::deepseek_v4:
        return read_deepseek_v4(rope, layers);
    }
    builder_.add_rope(rope);
    std::vector<std::optional<std::size_t>> assigned;
    for (const bool without : layers.without_rope)
      assigned.push_back(without ? std::nullopt : std::optional(0U));
    builder_.set_layers(std::move(assigned));
    if (dialect == Dialect::mistral) read_mistral_vision();
  }

 private:
  std::string constant() const { return message("default of ", facts_.code); }
  void read_base(RopeDescription& rope, Sourced<double> otherwise) {
    rope.base = top_.number("rope_theta").value_or(std::move(otherwise));
  }
  template <class T, class Field>
  void take(RopeDescription& rope, std::string_view name, Field& field, Sourced<T> value) {
    field = value.value;
    rope.scaling_values.push_back({0, std::string(name), value.value, value.from, value.assumed});
  }
  void set_original(RopeDescription& rope, const Sourced<double>& length) {
    if (length.value >= 1 && length.value < 9e15) {
      rope.original_context =
          Sourced<std::int64_t>{static_cast<std::int64_t>(length.value), length.from, length.assumed};
    }
  }

  /// A file that has YaRN states all of it but the switch of its magnitude.
  void read_mistral(RopeDescription& rope) {
    const bool window = top_.find("sliding_window") != nullptr;
    read_base(rope,
              {window ? 1e4 : 1e6,
               window ? "default: base 10000 with a sliding_window" : "default of mistral-inference", true});
    if (const Keys yarn = top_.child("yarn"); yarn.present()) read_mistral_yarn(yarn, rope);
    const Keys temperature = top_.child("llama_4_scaling");
    const auto scale = temperature.number("beta");
    const auto length = temperature.number("original_max_position_embeddings");
    if (temperature.present() && !scale) builder_.malformed(temperature.path_of("beta"), ": missing");
    if (temperature.present() && !length) {
      builder_.malformed(temperature.path_of("original_max_position_embeddings"), ": missing");
    }
    if (scale && length) builder_.set_temperature(*scale, *length, false);
  }

  void read_mistral_yarn(const Keys& yarn, RopeDescription& rope) {
    constexpr std::string_view known[] = {"factor", "original_max_position_embeddings", "beta", "alpha",
                                          "apply_scale"};
    for (const auto& [key, value] : yarn.object()) {
      if (std::ranges::find(known, key) == std::end(known))
        builder_.warn(yarn.path_of(key), ": Mistral's YaRN has no such key, so it is not read");
    }
    const auto required = [&](std::string_view key) {
      const auto value = yarn.number(key);
      if (!value) builder_.malformed(yarn.path_of(key), ": missing, and the scaling needs it");
      return value.value_or(Sourced<double>{});
    };
    const auto factor = required("factor"), length = required("original_max_position_embeddings");
    const auto fast = yarn.number("beta").value_or(Sourced<double>{32, "default of yarn"});
    const auto slow = yarn.number("alpha").value_or(Sourced<double>{1, "default of yarn"});
    const auto scale = yarn.boolean("apply_scale").value_or(Sourced<bool>{true, constant()});
    if (builder_.failed()) return;
    const auto read = [&](auto type) {
      take(rope, "factor", type.factor, factor);
      take(rope, "original_max_position_embeddings", type.original_max_position_embeddings, length);
      take(rope, "beta_fast", type.beta_fast, fast);
      take(rope, "beta_slow", type.beta_slow, slow);
      return type;
    };
    set_original(rope, length);
    if (rope.rotary_offset.value != 0) {  // latent attention: the magnitude goes to the softmax
      auto type = read(scaling::DeepseekYarn{.mscale_all_dim = 1, .apply_yarn_scaling = scale.value});
      rope.scaling_values.push_back({0, "mscale_all_dim", 1.0, constant()});
      rope.scaling_values.push_back({0, "apply_yarn_scaling", scale.value, scale.from});
      rope.scaling = {type, "yarn"};
      return;
    }
    auto type = read(scaling::Yarn{});
    if (!scale.value) take(rope, "attention_factor", type.attention_factor, Sourced<double>{1, scale.from});
    rope.scaling = {type, "yarn"};
  }

  void read_mistral_vision() {
    const Keys nested = top_.child("multimodal").child("vision_encoder_args");
    const Keys vision = nested.present() ? nested : top_.child("vision_encoder");
    if (vision.present()) add_vision(vision, "pixtral", Pairing::interleaved, builder_);
  }

  /// use_scaled_rope says that the frequencies are scaled; by what is in the code.
  void read_meta(RopeDescription& rope) {
    read_base(rope, {1e4, "default of Meta's code for Llama 2", true});
    const auto scaled = top_.boolean("use_scaled_rope");
    if (!scaled || !scaled->value) return;
    scaling::Llama3 llama3;
    const auto factor = top_.number("rope_scaling_factor");
    if (!factor) {
      builder_.warn(scaled->from,
                    ": the file does not state the factor; 8 is taken, as Meta's code of Llama 3.1 has "
                    "it, where Hugging Face's configs of Llama 3.2 say 32");
    }
    take(rope, "factor", llama3.factor, factor.value_or(Sourced<double>{8, constant(), true}));
    take(rope, "low_freq_factor", llama3.low_freq_factor, Sourced<double>{1, constant()});
    take(rope, "high_freq_factor", llama3.high_freq_factor,
         top_.number("rope_high_freq_factor").value_or(Sourced<double>{4, constant()}));
    const Sourced<double> length{8192, constant()};
    take(rope, "original_max_position_embeddings", llama3.original_max_position_embeddings, length);
    set_original(rope, length);
    rope.scaling = {llama3, scaled->from};
  }

  void read_gpt_oss(RopeDescription& rope) {
    const auto number = [&](std::string_view key, double otherwise) {
      return top_.number(key).value_or(Sourced<double>{otherwise, constant()});
    };
    rope.base = number("rope_theta", 150000);
    const auto factor = number("rope_scaling_factor", 32), length = number("initial_context_length", 4096);
    if (!(factor.value >= 1))
      return builder_.malformed(factor.from, " ", factor.value, ": must be at least 1");
    if (!(length.value >= 1))
      return builder_.malformed(length.from, " ", length.value, ": must be at least 1 token");
    if (factor.value == 1 || builder_.failed()) return;
    scaling::Yarn yarn;
    take(rope, "factor", yarn.factor, factor);
    take(rope, "original_max_position_embeddings", yarn.original_max_position_embeddings, length);
    take(rope, "beta_fast", yarn.beta_fast, number("rope_ntk_beta", 32));
    take(rope, "beta_slow", yarn.beta_slow, number("rope_ntk_alpha", 1));
    take(rope, "truncate", yarn.truncate, Sourced<bool>{false, constant()});
    rope.scaling = {yarn, factor.from};
    set_original(rope, length);
    if (const double context = factor.value * length.value; !rope.context && context >= 1 && context < 9e15) {
      rope.context = Sourced<std::int64_t>{static_cast<std::int64_t>(context),
                                           message("derived: ", length.from, " * ", factor.from)};
    }
  }

  Sourced<double> or_constant(std::string_view key, double otherwise) const {
    return top_.number(key).value_or(Sourced<double>{otherwise, constant()});
  }

  template <class Yarn>
  Yarn read_deepseek_yarn(RopeDescription& rope, const Sourced<double>& length) {
    Yarn yarn;
    take(rope, "factor", yarn.factor, or_constant("rope_factor", 40));
    take(rope, "original_max_position_embeddings", yarn.original_max_position_embeddings, length);
    take(rope, "beta_fast", yarn.beta_fast, or_constant("beta_fast", 32));
    take(rope, "beta_slow", yarn.beta_slow, or_constant("beta_slow", 1));
    set_original(rope, length);
    return yarn;
  }

  /// YaRN where the longest sequence is over the original length; its magnitude goes to the softmax alone.
  void read_deepseek_v3(RopeDescription& rope) {
    read_base(rope, {1e4, constant()});
    const auto length = or_constant("original_seq_len", 4096);
    if (!rope.context) rope.context = Sourced<std::int64_t>{16384, message("max_seq_len: ", constant())};
    if (static_cast<double>(rope.context->value) <= length.value) {
      rope.scaling.from = lengths_words(rope, " is not over ", length);
      return;
    }
    auto yarn = read_deepseek_yarn<scaling::DeepseekYarn>(rope, length);
    const auto scale = or_constant("mscale", 1);
    take(rope, "mscale", yarn.mscale, scale);
    take(rope, "mscale_all_dim", yarn.mscale_all_dim, scale);
    rope.scaling = {yarn, lengths_words(rope, " is over ", length)};
  }
  std::string lengths_words(const RopeDescription& rope, std::string_view relation,
                            const Sourced<double>& length) const {
    const auto whose = [&](std::string_view key) {
      return top_.find(key) == nullptr ? message(" (", constant(), ")") : std::string();
    };
    const bool positions = top_.find("max_position_embeddings") != nullptr;
    return message("derived: ", positions ? "max_position_embeddings" : "max_seq_len", " ",
                   rope.context->value, positions ? "" : whose("max_seq_len"), relation, "original_seq_len ",
                   length.value, whose("original_seq_len"));
  }

  /// Latent attention always: some lanes turn, behind others that do not.
  void read_still_lanes(RopeDescription& rope) {
    constexpr std::int64_t still = 128;
    if (const auto turning = top_.integer("qk_rope_head_dim"); turning && turning->value < 2)
      return builder_.malformed(turning->from, " ", turning->value, ": must be at least 2");
    if (top_.find("qk_nope_head_dim") != nullptr) return;
    rope.rotary_offset = {still, constant()};
    rope.head_dim.value += still;
  }

  /// Without a ratio nobody knows which of the two ropes a layer has.
  void check_ratios() {
    const auto ratios = top_.numbers("compress_ratios");
    const std::string path = top_.path_of("compress_ratios");
    if (!ratios || ratios->value.empty()) {
      return builder_.malformed(path, ": expected one number a layer, got ",
                                ratios ? "an empty list" : "none");
    }
    for (const double ratio : ratios->value) {
      if (ratio < 0) return builder_.malformed(path, ": ", ratio, ": must be 0 (no compression) or more");
    }
    for (const auto key : {"mscale", "qk_rope_head_dim", "qk_nope_head_dim"}) {
      if (top_.find(key) != nullptr)
        builder_.warn(top_.path_of(key), ": not read by ", facts_.code, " of V4");
    }
  }

  void read_window_at_end(RopeDescription& rope) {
    const auto lanes = [&](std::string_view key, std::int64_t otherwise) {
      auto value = top_.integer(key).value_or(Sourced<std::int64_t>{otherwise, constant()});
      if (value.value < 0 || value.value > Spectrum::max_rotary_dim) {
        builder_.malformed(value.from, " ", value.value, ": must be from 0 to ", Spectrum::max_rotary_dim);
      }
      return value;
    };
    rope.head_dim = lanes("head_dim", 512);
    rope.rotary_dim = lanes("rope_head_dim", 64);
    rope.rotary_offset = {rope.head_dim.value - rope.rotary_dim.value,
                          message("how ", facts_.code, " rotates")};
  }

  /// Layers that compress have a base of their own and, where an original length is stated, YaRN without magnitude.
  void read_deepseek_v4(RopeDescription& rope, const LayerPlan& layers) {
    read_base(rope, {1e4, constant()});
    rope.name = "main";
    builder_.add_rope(rope);
    rope.name = "compress";
    rope.base = or_constant("compress_rope_theta", 40000);
    const auto length = or_constant("original_seq_len", 0);
    if (length.value < 0) {
      return builder_.malformed(length.from, " ", length.value, ": must be 0 (no scaling) or more tokens");
    }
    if (length.value > 0) {
      rope.scaling = {read_deepseek_yarn<scaling::Yarn>(rope, length), length.from};
      rope.settle_magnitude(constant());
    } else {
      rope.scaling.from = message("derived: ", length.from, " 0");
    }
    builder_.add_rope(rope);
    builder_.add_value(
        {0, "attention_output", std::string("turned back by the inverse of the layer's rope"), constant()});
    std::vector<std::optional<std::size_t>> assigned;
    for (const auto& type : layers.types) assigned.push_back(type == sliding_attention ? 0U : 1U);
    builder_.set_layers(std::move(assigned));
  }

  const HfConfig& config_;
  const Facts& facts_;
  const Keys& top_;
  ModelBuilder& builder_;
  const Keys nothing_{nullptr, "", builder_};
};

}  // namespace

bool is_params(const Json& document) { return dialect_of(document).has_value(); }

void read_params(const Json& document, ModelBuilder& builder) {
  const Dialect dialect = dialect_of(document).value();
  const Facts& known = facts[static_cast<std::size_t>(dialect)];
  builder.set_names("", std::string(known.model_type));
  const Keys top(document.get<Json::Object>(), "", builder);
  Family family{.model_types = known.model_type, .pairing = known.pairing};
  if (top.find("nope_layer_interval") != nullptr) family.no_rope = NoRope::every_nth;
  ParamsReader({top, std::string(known.model_type), family, true, builder}, known).read(dialect);
}

}  // namespace rotary::impl
