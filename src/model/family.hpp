// SPDX-License-Identifier: Apache-2.0
// What a family of models takes for granted and its files do not say. A new family is a row of the table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <rotary/rope.hpp>
#include <string_view>

namespace rotary::impl {

/// Which layers have no rope.
enum class NoRope : std::uint8_t {
  none,
  full_layers,  ///< those of full attention
  every_nth,    ///< every pattern-th, or as no_rope_layers says
  others,       ///< all but every pattern-th: linear attention or recurrence between
};

/// What a sliding_window of null means where layers of full attention have no rope.
enum class NoWindow : std::uint8_t {
  same,  ///< nothing
  all,   ///< every layer has a rope
  none,  ///< no layer has one
};

struct Family {
  std::string_view model_types = {};  ///< model_type of config.json; several, with spaces between
  std::string_view gguf = {};         ///< general.architecture of GGUF; several, with spaces between

  std::optional<Pairing> pairing = {};       ///< as Hugging Face's code rotates; empty: not known
  std::optional<Pairing> gguf_pairing = {};  ///< as the rows of the q and k weights lie in GGUF
  Direction direction = Direction::forward;

  std::optional<double> base = {};        ///< where the file is silent
  std::optional<double> local_base = {};  ///< of the sliding-window layers, if they have a rope of their own
  bool common_base = false;  ///< a stated base is the local one too, but no entry's of a layer type
  std::optional<double> global_part = {};  ///< proportional scaling of the full-attention layers
  bool local_scaling = false;              ///< an old rope_scaling applies to the local rope too
  std::int64_t head_dim = 0;               ///< 0: hidden_size / num_attention_heads
  std::int64_t silent_head_dim = 0;        ///< where neither head_dim nor width and heads are stated
  std::int64_t widths = 1;                 ///< of hidden_size, which the heads share
  std::string_view head_dim_key = {};      ///< where another key means another width; empty: any of them
  std::int64_t global_head_dim = 0;        ///< of the full-attention layers; 0: the same
  std::int64_t rotary_dim = 0;             ///< 0: head_dim * partial
  double partial = 1;
  std::optional<double> local_partial = {};  ///< of the sliding-window layers; empty: the same
  std::optional<double> compress_base = {};  ///< DeepSeek-V4: ropes "main" and, of this base, "compress"

  std::int64_t pattern = 0;           ///< every pattern-th layer is one of full attention, or without rope
  bool full_first = false;            ///< layer 0 is one of them; else layer pattern - 1 is the first
  bool full_too = false;              ///< layer 0 is one of them too
  bool full_last = false;             ///< the last layer is one of them too
  bool one_at_least = false;          ///< the last layer is one of them where no other is
  std::string_view layer_words = {};  ///< instead: the types of the layers, which come again and again
  NoRope no_rope = NoRope::none;
  NoWindow no_window = NoWindow::same;
  bool dense_prefix = false;  ///< the first layers, which are dense, have a pattern and a rope of their own
  std::string_view layer_list = {};  ///< the key that says which layers have a rope: a warning where missing
  bool none_unlisted = false;        ///< and then none has one; else all have
  std::array<std::int64_t, 3> sections =
      {};  ///< of M-RoPE, as a file states them; 0: none where it is silent
  AxisOrder axis_order = AxisOrder::contiguous;  ///< of the sections
  bool time_section_last = false;                ///< the sections are stated as h, w, t
  std::int64_t latent_lanes = 0;                 ///< qk_rope_head_dim of MLA where a file states none
  std::int64_t latent_still = 0;                 ///< qk_nope_head_dim, likewise
  bool window_at_end = false;                    ///< the lanes that turn are the last of the head
  bool stated_positions = false;                 ///< position_embedding_type says whether there is a rope
  std::string_view silent_positions = {};        ///< what a missing position_embedding_type means: no rope
  bool gguf_switch = false;                      ///< GGUF: rope.scaling.finetuned false means no rope at all
  bool truncate = true;           ///< GGUF: YaRN's key of that name, which the file cannot state
  std::string_view scaling = {};  ///< rope_parameters as JSON, where a file has neither them nor rope_scaling
  std::int64_t original_length = 0;   ///< of a scaling whose file states none; 0: max_position_embeddings
  std::string_view rope_switch = {};  ///< the key without which, or where it is false, there is no rope
  bool switched_by_base = false;      ///< a rope_theta of null means no rope
  std::int64_t alibi_but_width = 0;   ///< models of another hidden_size have ALiBi instead
  bool tunes_no_rope = false;         ///< queries of the layers without rope grow (Llama 4)
  std::string_view doubt = {};        ///< what a description of this family never says
  std::string_view unsupported = {};  ///< why not, if this family cannot be described
};

/// True if `word` is one of `words`, which spaces separate.
bool lists(std::string_view words, std::string_view word) noexcept;

/// The row, or null.
const Family* family_of_model_type(std::string_view model_type) noexcept;
const Family* family_of_gguf(std::string_view architecture) noexcept;

}  // namespace rotary::impl
