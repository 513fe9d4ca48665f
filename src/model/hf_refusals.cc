// SPDX-License-Identifier: Apache-2.0
// What a config.json says of positions that a rope alone does not express, or that nothing here reads.
#include <algorithm>
#include <array>

#include "base/in_quotes.hpp"
#include "model/hf_config.hpp"

namespace rotary::impl {
namespace {

constexpr std::string_view rope_keys[] = {"rope_theta",
                                          "rope_scaling",
                                          "rope_parameters",
                                          "partial_rotary_factor",
                                          "rotary_emb_base",
                                          "rotary_embedding_base",
                                          "rotary_base",
                                          "rotary_pct",
                                          "rope_pct",
                                          "rope_percent",
                                          "rotary_dim",
                                          "rope_dim",
                                          "rotary_emb_dim",
                                          "rotary_emb_fraction",
                                          "rope_local_base_freq",
                                          "rope_local_theta",
                                          "rope_global_theta",
                                          "rope_ratio",
                                          "rope_interleave",
                                          "rope_interleaved",
                                          "rotary_emb_interleaved",
                                          "original_rope",
                                          "partial_rotary_factors"};
/// Of every kind of file: windows, layers, bases of several ropes, switches.
constexpr std::string_view other_keys[] = {
    "qk_rope_head_dim",      "no_rope_layers", "no_rope_layer_interval", "global_rope_theta",
    "local_rope_theta",      "swa_rope_theta", "compress_rope_theta",    "use_mem_rope",
    "rotary_emb_scale_base", "rotary_value",   "use_scaled_rope",        "compress_rates"};
/// Keys without the word in them that change a rope or its layers, long enough to be told from their misspellings.
constexpr std::string_view plain_keys[] = {"head_dim",
                                           "kv_channels",
                                           "attention_head_dim",
                                           "hidden_size",
                                           "seq_length",
                                           "layer_types",
                                           "layers_block_type",
                                           "attn_layer_indices",
                                           "full_attn_idxs",
                                           "attn_type_list",
                                           "compress_ratios",
                                           "max_sequence_length",
                                           "n_positions",
                                           "text_config",
                                           "global_head_dim",
                                           "num_attention_heads",
                                           "sliding_window",
                                           "vision_config",
                                           "full_attention_interval",
                                           "max_position_embeddings",
                                           "attn_scale",
                                           "floor_scale",
                                           "nope_layer_interval",
                                           "global_attn_every_n_layers",
                                           "use_dynamic_ntk",
                                           "qk_nope_head_dim",
                                           "original_max_position_embeddings",
                                           "num_hidden_layers",
                                           "yarn_only_types",
                                           "position_embedding_type",
                                           "position_embeddings_type",
                                           "dual_chunk_attention_config",
                                           "sliding_window_pattern",
                                           "attn_temperature_tuning"};
/// Truth values that say whether there is a rope.
constexpr std::string_view switch_keys[] = {"rotary", "use_rope", "use_rotary", "use_rotary_emb"};
/// Words of position_embedding_type that mean a rope, in small letters.
constexpr std::string_view rope_words[] = {"rope", "rotary"};

bool is_known(std::string_view key, std::span<const std::string_view> known) {
  return std::ranges::find(known, key) != known.end() || std::ranges::count(other_keys, key) != 0 ||
         std::ranges::count(switch_keys, key) != 0;
}

std::string small(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return 'A' <= c && c <= 'Z' ? char(c + 32) : c; });
  return text;
}

/// Keys of rope beside the part of the file that describes the text model, unless that part says the same.
void warn_about_keys_outside(const Keys& document, const Keys& top, ModelBuilder& builder) {
  if (&document.object() == &top.object() || has_time_rope(document)) return;
  for (const auto& [key, value] : document.object()) {
    if (value.is_null() || !is_known(key, rope_keys)) continue;
    const Json* inside = top.find(key);
    if (inside != nullptr && *inside == value) continue;
    builder.warn(document.path_of(key), ": not read, since ", top.path(), " describes the text model",
                 inside == nullptr ? " and has no such key" : " and says otherwise");
  }
}

/// Parts that are no text model and no image encoder, and have a rope of their own: audio, for instance.
void warn_about_other_parts(const Keys& document, const Keys& top, ModelBuilder& builder) {
  for (const auto& [key, value] : document.object()) {
    const auto* part = value.get<Json::Object>();
    const bool read = key == "vision_config" || part == &top.object();
    if (part == nullptr || read || !key.ends_with("_config")) continue;
    for (const auto word : {"rope_parameters", "rope_theta"}) {
      if (const Json* rope = find(*part, word); rope != nullptr && !rope->is_null()) {
        builder.warn(document.path_of(key), ".", word,
                     ": not read, since this part is none that is described");
      }
    }
  }
}

/// The ropes are those of the file; the positions are five for each token.
void read_dual_chunk(const HfConfig& config) {
  const Keys dual = config.top.child("dual_chunk_attention_config");
  if (!dual.present()) return;
  const auto chunk = dual.integer("chunk_size"), local = dual.integer("local_size");
  if (!chunk || !local)
    return config.builder.malformed(dual.path_of(chunk ? "local_size" : "chunk_size"), ": missing");
  if (local->value < 0 || chunk->value <= local->value) {
    return config.builder.malformed(chunk->from, " ", chunk->value, " and ", local->from, " ", local->value,
                                    ": must be 0 <= local_size < chunk_size");
  }
  config.builder.add_value({0, "chunk_size", chunk->value, chunk->from});
  config.builder.add_value({0, "local_size", local->value, local->from});
  config.builder.warn(dual.path(), ": beyond ", chunk->value - local->value,
                      " tokens the model takes the positions of dual_chunk() (chunk_size ", chunk->value,
                      ", local_size ", local->value, "); the ropes are those shown");
}

}  // namespace

void warn_about_similar_keys(const Keys& top, std::span<const std::string_view> known,
                             ModelBuilder& builder) {
  for (const auto& [key, value] : top.object()) {
    const std::string word = small(key);
    const bool looks_like_one = word.find("rope") != word.npos || word.find("rotary") != word.npos;
    if (!looks_like_one || value.is_null() || is_known(key, known)) continue;
    const std::string_view close = key.find("scal") != key.npos && !std::ranges::count(known, "rope_scaling")
                                       ? std::string_view()
                                   : key.find("scal") != key.npos ? "rope_scaling"
                                                                  : similar(key, known);
    builder.warn(top.path_of(key), ": not a key that is read",
                 close.empty() ? "" : message("; did you mean ", close, "?"));
  }
}

void warn_about_misspellings(const Keys& top, ModelBuilder& builder) {
  constexpr std::size_t most_edits = 2;  // two letters in each other's place
  for (const auto& [key, value] : top.object()) {
    const auto meant =
        std::ranges::find_if(plain_keys, [&, key = std::string_view(key)](std::string_view known) {
          const std::size_t gap =
              known.size() > key.size() ? known.size() - key.size() : key.size() - known.size();
          return gap <= most_edits && known.front() == key.front() && known != key &&
                 top.find(known) == nullptr && edits(key, known) <= most_edits;
        });
    const bool is_read = std::ranges::count(plain_keys, key) != 0 || is_known(key, rope_keys);
    if (meant == std::end(plain_keys) || is_read || value.is_null()) continue;
    builder.warn(top.path_of(key), ": not a key that is read; did you mean ", *meant, "?");
  }
}

void warn_about_unread(const HfConfig& config, const Keys& document) {
  const Keys& top = config.top;
  warn_about_similar_keys(top, rope_keys, config.builder);
  warn_about_misspellings(top, config.builder);
  if (&document.object() != &top.object()) warn_about_misspellings(document, config.builder);
  warn_about_keys_outside(document, top, config.builder);
  warn_about_other_parts(document, top, config.builder);
  if (const auto original = top.boolean("original_rope"); original && !original->value) {
    config.builder.warn(original->from, " false: only ChatGLM's original rope is described");
  }
  if (const auto values = top.boolean("rotary_value"); values && values->value) {
    config.builder.warn(values->from, " true: the value vectors are turned too, by the same rope");
  }
  if (top.find("yarn_only_types") != nullptr && top.find("rope_scaling") == nullptr) {
    config.builder.warn(top.path_of("yarn_only_types"), ": not read, since there is no rope_scaling");
  }
  if (!config.family.doubt.empty())
    config.builder.warn("model_type ", config.model_type, ": ", config.family.doubt);
  for (const auto key : {"theta", "base", "freq_base"}) {
    if (top.number(key))
      config.builder.warn(top.path_of(key), ": not a key that is read; did you mean rope_theta?");
  }
  for (const auto key : {"attn_layer_period", "attn_layer_offset", "hybrid_override_pattern"}) {
    if (top.find(key) != nullptr)
      config.builder.warn(top.path_of(key),
                          ": not read, so layers without attention are not told from others");
  }
  read_dual_chunk(config);
}

void refuse_other_positions(const HfConfig& config) {
  const auto refuse = [&](const auto&... pieces) { config.builder.fail(StatusCode::unsupported, pieces...); };
  const Keys& top = config.top;
  for (const auto key : {"alibi", "use_alibi"}) {
    if (const auto alibi = top.boolean(key); alibi && alibi->value)
      refuse(alibi->from, " true: it has no rotary embedding");
  }
  for (const auto key : switch_keys) {
    if (const auto on = top.boolean(key); on && !on->value)
      refuse(on->from, " false: it has no rotary embedding");
  }
  bool silent = true;
  for (const auto key : {"position_embedding_type", "position_embeddings_type"}) {
    const auto type = top.text(key);
    silent = silent && !type;
    if (!type || config.family.stated_positions || std::ranges::count(rope_words, small(type->value)))
      continue;
    refuse(type->from, " ", in_quotes(type->value), ": it has no rotary embedding (rope, rotary)");
  }
  if (const auto meant = config.family.silent_positions; silent && !meant.empty()) {
    refuse(top.path_of("position_embedding_type"), ": missing, which means ", meant, ": model_type ",
           config.model_type, " has no rotary embedding then");
  }
  if (const auto key = config.family.rope_switch; !key.empty()) {
    const auto on = top.boolean(key);
    if (!on || !on->value) {
      refuse(top.path_of(key), on ? " false" : ": missing, which means false", ": model_type ",
             config.model_type, " has no rotary embedding then");
    }
  }
  if (config.family.switched_by_base) {
    const Keys now = top.child("rope_parameters");
    const Keys dict = now.object().empty() ? top.child("rope_scaling") : now;
    const Json* inner = find(dict.object(), "rope_theta");
    const Json* base = inner != nullptr ? inner : find(top.object(), "rope_theta");
    if (base != nullptr && base->is_null()) {
      refuse((inner != nullptr ? dict : top).path_of("rope_theta"), " null: model_type ", config.model_type,
             " has no rotary embedding then");
    }
  }
  if (const auto width = config.family.alibi_but_width; width != 0) {
    if (const auto hidden = top.integer("hidden_size"); hidden && hidden->value != width) {
      refuse(hidden->from, " ", hidden->value, ": of ", config.model_type, ", only the models of width ",
             width, " have a rotary embedding; the others have ALiBi");
    }
  }
  const bool knows_where = config.family.latent_lanes != 0 || config.family.window_at_end;
  if (const auto turning = top.integer("qk_rope_head_dim");
      turning && turning->value != 0 && !knows_where && top.find("qk_nope_head_dim") == nullptr) {
    config.builder.malformed(top.path_of("qk_nope_head_dim"), ": missing beside ", turning->from, " ",
                             turning->value, ", so where the lanes that turn begin is not known");
  }
  if (const auto xpos = top.number("rotary_emb_scale_base"); xpos && xpos->value != 0) {
    refuse(xpos->from, " ", xpos->value,
           ": xPos stretches queries and keys by position, which a rope alone does not; see Xpos");
  }
}

}  // namespace rotary::impl
