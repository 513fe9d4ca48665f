// SPDX-License-Identifier: Apache-2.0
// Which class of Transformers looks where, for the rules that need it. Source: Transformers 5.24, configuration_*.py
// and modeling_*.py.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/peer_rules.hpp"

namespace rotary::impl::transformers {

/// Where a config class takes its ropes from.
enum class Reads : std::uint8_t {
  elsewhere,  ///< the model's own code, or no config: nothing is known
  one,        ///< one dictionary, of either name, for all layers
  two,        ///< entries of rope_parameters, and rope_scaling written over the one of full attention
  entries,    ///< entries of rope_parameters alone
};

// clang-format off
/// Their default type turns partial_rotary_factor of the head; that of all others the whole head.
inline constexpr std::string_view reads_part =
    "bamba glm glm4 glm4_moe glm4v_text glm4v glm4v_moe_text glm4v_moe glm_image_text glm_ocr_text glm_ocr gpt_neox "
    "gpt_neox_japanese minimax_m2 minimax_m3_vl_text moonshine moonshine_streaming nemotron persimmon phi phi3 "
    "phi4_multimodal qwen3_5_text qwen3_5_moe_text qwen3_next qwen4_exp_text recurrent_gemma stablelm laguna mellum "
    "mimo_v2_flash diffusion_gemma_text step3p5 deepseek_v4 gptj codegen glmasr_encoder nemotron3_diarization_audio "
    "nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_word_timestamp";
/// They make frequencies for a part of the head, and turn the whole of it with them.
inline constexpr std::string_view fails_on_part = "solar_open glm4_moe_lite mellum";
/// Their own part of the head is for the default type alone; for files without a dictionary alone.
inline constexpr std::string_view part_of_default = "mimo_v2_flash", part_of_silence = "moonshine_streaming laguna "
    "nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_word_timestamp";
/// Their attention takes partial_rotary_factor for a width, whatever the type.
inline constexpr std::string_view narrows = "gpt_neox_japanese persimmon phi stablelm";
/// Without a dictionary they do not look at a base or a part of the head beside it either.
inline constexpr std::string_view all_of_its_own = "muse_spark_text moonshine_streaming cosmos3_edge_text "
    "nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_word_timestamp";
/// A partial_rotary_factor of null keeps their own part of the head out: they turn the whole of it, or fail.
inline constexpr std::string_view null_is_whole = "glm glm4 glm4_moe glm4v_moe_text glm4v_moe glmasr_encoder moonshine "
    "qwen3_5_text qwen3_5_moe_text qwen3_next recurrent_gemma";
inline constexpr std::string_view null_fails = "phi phi3 phi4_multimodal persimmon stablelm nemotron";
/// Their own part of the head goes into whatever dictionary has none.
inline constexpr std::string_view part_of_all = "glm glm4 glm4_moe glm4v_moe_text glm4v_moe glmasr_encoder moonshine "
    "qwen3_5_text qwen3_5_moe_text qwen3_next recurrent_gemma phi persimmon stablelm nemotron gpt_neox bamba";
/// Their head_dim is that of the lanes that turn, which qk_rope_head_dim counts too.
inline constexpr std::string_view turns_head_dim = "deepseek_v3 youtu axk1 glm4_moe_lite longcat_flash";
/// A head_dim of null is hidden_size / num_attention_heads to the default type, and to a scaling nothing.
inline constexpr std::string_view null_is_divided = "deepseek_v3 youtu axk1 mistral4";
/// Their config class takes no head_dim of null.
inline constexpr std::string_view wants_number = "deepseek_v32 glm_moe_dsa axk2 hy_v4 bailing_hybrid mistral_large4_text "
    "glm4_moe_lite longcat_flash jetmoe "
    "cohere2_moe deepseek_v4 dia_decoder diffusion_gemma_text embedding_gemma2_text flint gemma gemma2 gemma3_text gemma3n_text "
    "gemma4_text gemma4_unified_text glm4 gpt_oss helium hrm_text hy_v3 hy_v4_vl_text kolibri1 laguna lara_mini llama4_text mellum "
    "mimo_v2_flash minimax_m2 minimax_m3_vl_text molmo2_text muse_glimmer_assistant muse_glimmer_text muse_spark_text neucodec "
    "openai_privacy_filter qwen2_5_omni_talker qwen3 qwen3_5_moe_text qwen3_5_text qwen3_next qwen3_omni_moe_talker_code_predictor "
    "qwen3_vl_text qwen4_exp_text solar_open step3p5 t5_gemma_module t5gemma2_decoder t5gemma2_text timesfm2_5 vaultgemma "
    "voxtral_realtime_encoder xcodec2";
/// Older words of a scaling's type, which classes know that are as old.
inline constexpr std::string_view older_words = "none mrope openpangu su axial gptj",
    knows_mrope = "qwen2_vl_text qwen2_5_vl_text qwen2_vl qwen2_5_vl", knows_su = "phi3 phi4_multimodal";
/// Their code wants a head_dim in the file, where a scaling computes with it.
inline constexpr std::string_view wants_head_dim = "mixtral ministral minimax hunyuan_v1_dense hunyuan_v1_moe";
/// They pass over a rope_theta of null.
inline constexpr std::string_view skips_null = "gpt_neox gpt_neox_japanese esm gptj codegen deepseek_v4 modernbert modernbert-decoder";
// clang-format on

Reads reads(const PeerReading& r);
/// Its code is a class of Transformers.
bool known(const PeerReading& r);
/// It is known, and one of these.
bool is(const PeerReading& r, std::string_view model_types);
bool is_local(const PeerReading& r);
/// An entry of a layer type, without a base.
bool is_bare_entry(const PeerReading& r);

/// A dictionary that its class does not look at.
bool is_passed_over(const PeerReading& r, RopePlace dictionary);
/// Its base, or its part of the head, is stated beside the dictionaries alone, under no name that its class knows.
bool has_unseen_base(const PeerReading& r);
bool has_unseen_width(const PeerReading& r);

/// What the class takes where a file is silent.
double own_base(const PeerReading& r);
double own_part(const PeerReading& r);
std::int64_t own_width(const PeerReading& r);
void take_own_scaling(PeerReading& r);

bool has_one_axis(const PeerReading& r);
/// The pairs of another width follow the family's own sections, where those fit.
void set_width(PeerReading& r, std::int64_t lanes);

}  // namespace rotary::impl::transformers
