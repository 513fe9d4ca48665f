// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a model says about its rotary embedding, and where each number came from.
///
///     auto model = rotary::Model::from_path("config.json").value();
///     auto rope  = model.rope_for_layer(0).value();
///     for (const auto& value : model.values()) ...   // {rope 0, "base", 500000, from "rope_theta"}
#pragma once

#include <cstdint>
#include <optional>
#include <rotary/export.hpp>
#include <rotary/peer.hpp>
#include <rotary/rope.hpp>
#include <rotary/status.hpp>
#include <rotary/temperature.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rotary {

namespace formats {
class Gguf;
}

/// Where a file says something about a rope. Systems look in different places, and some do not look in all.
enum class RopePlace : std::uint8_t {
  nowhere,          ///< the architecture's own number, or a default
  top,              ///< a key of the config itself
  rope_scaling,     ///< the older dictionary
  rope_parameters,  ///< the newer one, for all layers
  layer_type,       ///< the newer one's entry for one layer type
};

/// A key of a file, and where it stands.
struct RopeKey {
  RopePlace place;
  std::string key;  ///< "rope_theta", ...
};

/// How a file words a rope.
struct RopeWording {
  RopePlace scaling = RopePlace::nowhere;  ///< the dictionary of its scaling
  bool has_both = false;                   ///< rope_scaling and rope_parameters describe it, and agree
  std::vector<RopeKey> bases = {};         ///< who states the base; first where most systems look
  std::optional<double> outer_base = {};   ///< rope_theta as a key of the config itself, whoever reads it
  bool null_base = false;  ///< a rope_theta of null, in the config or in the rope's dictionary
  RopePlace width = RopePlace::nowhere;
  std::string width_key;                           ///< "partial_rotary_factor", "rotary_pct", ...
  RopePlace null_part = RopePlace::nowhere;        ///< of a partial_rotary_factor of null
  RopePlace original_length = RopePlace::nowhere;  ///< original_max_position_embeddings
  RopePlace null_original_length =
      RopePlace::nowhere;          ///< of one of null, in the config before the dictionary
  std::string type;                ///< the word of the scaling's type: "yarn", "mrope", ...; empty: none
  bool null_scaling = false;       ///< a rope_scaling of null
  bool old_word = false;           ///< the scaling's type stands under "type" alone, not under "rope_type"
  bool null_magnitude = false;     ///< an attention_factor of null
  bool settled_magnitude = false;  ///< A is the architecture's, whatever the keys say
  bool states_sections = false;    ///< mrope_section
  bool derived_head_dim = false;   ///< the file has no head_dim, nor has its class one of its own
  bool null_head_dim = false;      ///< a head_dim of null
  std::optional<double> outer_head_dim = {};  ///< head_dim as a key of the config itself, whoever reads it
  bool head_dim_divides = true;  ///< head_dim is hidden_size / num_attention_heads, where a file states those

  RopePlace base() const noexcept { return bases.empty() ? RopePlace::nowhere : bases.front().place; }
};

/// One rope of a model: gemma3 has "local" and "global", most have "default".
struct ModelRope {
  std::string name;
  Rope rope;
  std::optional<std::int64_t> original_context;  ///< L, tokens
  std::optional<std::int64_t> context;           ///< max_position_embeddings, tokens
  bool of_layers = true;  ///< false: of an image encoder ("vision"), which layers() does not count
  RopeWording wording = {};
};

/// How a model's queries grow with their position, and on which layers.
struct ModelTemperature {
  QueryTemperature query;
  bool without_rope = false;  ///< on the layers without a rope alone (Llama 4); else on all of them
};

using ModelNumberOrText = std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;

/// One value of a Model and its source.
struct ModelValue {
  std::size_t rope = 0;  ///< index into ropes()
  std::string key;       ///< the library's word: "base", "rotary_dim", "pairing", "factor", ...
  ModelNumberOrText value;
  /// A key of the file ("rope_parameters.rope_theta"), "default of gemma3", "derived: ..."
  std::string from;
  bool assumed = false;  ///< nobody stated it: neither the file nor the architecture
};

struct ModelOptions {
  std::optional<std::int64_t> length = {};  ///< tokens, for length-dependent types
  std::optional<Pairing> pairing = {};      ///< overrides the table by architecture
  AnglePolicy policy = AnglePolicy::exact;
  bool strict = false;  ///< warnings are errors
};

class ROTARY_API Model {
 public:
  enum class Source { hf_config, params, gguf, preset, flags };

  /// A directory with a config.json or else a params.json, either file, a .gguf (of a split one the first), or a
  /// .safetensors (the .json beside it). What a .json is, Hugging Face's, Mistral's, Meta's or gpt-oss's own, is told
  /// by its keys. Of a folder and of a .safetensors, inverse frequencies that the checkpoint holds are compared with
  /// those of the description: values "stored_inv_freq", and a warning where they are rounded or differ.
  static Result<Model> from_path(const std::string& path, const ModelOptions& options = {});
  /// The text of a config.json or params.json; `origin` names it in messages.
  static Result<Model> from_config(std::string_view json, const std::string& origin = "config",
                                   const ModelOptions& options = {});
  /// A GGUF that is open already.
  static Result<Model> from_gguf(const formats::Gguf& file, const std::string& origin = "gguf",
                                 const ModelOptions& options = {});
  /// A model the library knows by name: presets().
  static Result<Model> from_preset(std::string_view name, const ModelOptions& options = {});
  /// One rope for every layer, from the caller's own options; `origin` names them in messages and reports.
  static Result<Model> from_rope(const RopeOptions& rope, const ModelOptions& options = {},
                                 const std::string& origin = "flags");

  Source source() const noexcept { return source_; }
  /// The file, the preset, or what its maker called it.
  const std::string& origin() const noexcept { return origin_; }
  /// "LlamaForCausalLM"; empty if the file does not say.
  const std::string& architecture() const noexcept { return architecture_; }
  /// "llama"; GGUF: general.architecture.
  const std::string& model_type() const noexcept { return model_type_; }

  std::span<const ModelRope> ropes() const noexcept { return ropes_; }
  const ModelRope* find_rope(std::string_view name) const noexcept;
  /// For each layer the index into ropes(), or empty where the layer has no rope. Empty altogether if nobody
  /// says how many layers there are (flags).
  std::span<const std::optional<std::size_t>> layers() const noexcept { return layers_; }
  /// The rope of layer n; where the number of layers is not known, the only rope. Errors: no such layer; the
  /// layer has no rope.
  Result<Rope> rope_for_layer(std::int64_t layer) const;

  /// ModelOptions::length, as the model was read with.
  std::optional<std::int64_t> length() const noexcept { return length_; }

  /// The model with the numbers that a peer computes from the same description; what changed says so in
  /// values(). Of a model as it was read, not of one that is a peer's already. Errors: unsupported, where the peer cannot run one of the ropes.
  Result<Model> as(Peer peer) const;
  /// One rope as a peer computes it, for sequences of `length` tokens; without one, for length(). `rope` is an
  /// index into ropes().
  PeerRope rope_as(Peer peer, std::size_t rope, std::optional<std::int64_t> length = {}) const;
  /// One rope by this library's own rules, for another length.
  Result<Rope> rope_at(std::size_t rope, std::int64_t length) const;

  /// Empty where queries do not grow with their position.
  const std::optional<ModelTemperature>& temperature() const noexcept { return temperature_; }
  /// What the queries of layer n are multiplied by beside their rotation; empty: nothing. Errors: no such layer.
  Result<std::optional<QueryTemperature>> temperature_for_layer(std::int64_t layer) const;

  std::span<const ModelValue> values() const noexcept { return values_; }
  /// What is doubtful, in sentences.
  std::span<const std::string> warnings() const noexcept { return warnings_; }

 private:
  friend class ModelBuilder;
  Source source_ = Source::flags;
  std::optional<std::int64_t> length_;
  std::string origin_, architecture_, model_type_;
  std::vector<ModelRope> ropes_;
  std::optional<ModelTemperature> temperature_;
  std::vector<std::optional<std::size_t>> layers_;
  std::vector<ModelValue> values_;
  std::vector<std::string> warnings_;
};

/// A model that the library knows by name.
struct Preset {
  std::string_view name;         ///< "llama-3.1-8b"
  std::string_view description;  ///< a line for people
  std::string_view source;       ///< where the numbers come from
  std::string_view config;       ///< its rope description, as a config.json
};
/// Sorted by name.
ROTARY_API std::span<const Preset> presets() noexcept;

}  // namespace rotary
