// SPDX-License-Identifier: Apache-2.0
// Sources: Transformers' configuration and modeling files; llama.cpp's table of rope types by architecture.
// The q and k rows of the Llama family are reordered on the way to GGUF, so its two pairings differ.
#include "model/family.hpp"

#include <algorithm>
#include <span>

namespace rotary::impl {
namespace {

constexpr auto halves = Pairing::half_split;
constexpr auto adjacent = Pairing::interleaved;
constexpr auto regroup = Pairing::interleaved_to_half;

/// What Transformers' classes put in place of rope_parameters that are missing.
constexpr std::string_view gpt_oss_scaling =
    R"({"rope_type": "yarn", "factor": 32, "beta_fast": 32, "beta_slow": 1, "truncate": false,
        "original_max_position_embeddings": 4096})";
constexpr std::string_view ministral3_scaling =
    R"({"rope_type": "yarn", "rope_theta": 1000000, "factor": 16, "original_max_position_embeddings": 16384,
        "beta_fast": 32, "beta_slow": 1, "mscale": 1, "mscale_all_dim": 1, "llama_4_scaling_beta": 0.1})";
constexpr std::string_view mistral4_scaling =
    R"({"rope_type": "yarn", "rope_theta": 10000, "factor": 128, "original_max_position_embeddings": 8192,
        "beta_fast": 32, "beta_slow": 1, "mscale": 1, "mscale_all_dim": 1, "llama_4_scaling_beta": 0.1})";
constexpr std::string_view mistral_large4_scaling =
    R"({"rope_type": "yarn", "rope_theta": 10000, "factor": 2048, "original_max_position_embeddings": 512,
        "beta_fast": 32, "beta_slow": 1, "attention_factor": 1})";
constexpr std::string_view cwm_scaling =
    R"({"rope_type": "llama3", "rope_theta": 1000000, "factor": 16, "low_freq_factor": 1, "high_freq_factor": 4,
        "original_max_position_embeddings": 8192})";
constexpr std::string_view apertus_scaling =
    R"({"rope_type": "llama3", "rope_theta": 12000000, "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
        "original_max_position_embeddings": 8192})";
constexpr std::string_view higgs_scaling =
    R"({"rope_type": "llama3", "rope_theta": 500000, "factor": 32, "low_freq_factor": 0.125,
        "high_freq_factor": 0.5, "original_max_position_embeddings": 1024})";

// clang-format off
constexpr Family families[] = {
    // Half-split in Transformers, reordered for GGUF.
    {.model_types = "llama mistral ministral internlm2 internlm3 xverse minicpm olmo "
                    "arcee deepseek chameleon aria_text voxtral_text diffllama granite_docling_text internlm idefics",
     .gguf = "llama llama-embed mistral3 internlm2 xverse minicpm olmo arcee "
             "deepseek chameleon deci llada starcoder arctic bailingmoe neo-bert maincoder eagle3",
     .pairing = halves, .gguf_pairing = adjacent, .silent_head_dim = 128},
    {.model_types = "granite granitemoe granitemoeshared granite_swa granitemoe_swa", .gguf = "granite granitemoe",
     .pairing = halves, .gguf_pairing = adjacent, .gguf_switch = true},
    {.model_types = "granitemoehybrid", .gguf = "granitehybrid", .pairing = halves, .gguf_pairing = adjacent,
     .layer_list = "layer_types", .none_unlisted = true, .stated_positions = true, .silent_positions = "None",
     .gguf_switch = true},
    {.model_types = "baichuan", .gguf = "baichuan", .pairing = halves, .gguf_pairing = adjacent,
     .silent_head_dim = 128, .alibi_but_width = 4096},
    {.model_types = "ministral3", .pairing = halves, .gguf_pairing = adjacent, .base = 1e4, .head_dim = 128,
     .scaling = ministral3_scaling},
    {.model_types = "mixtral", .pairing = halves, .gguf_pairing = adjacent, .base = 1e6},
    {.model_types = "solar_open", .pairing = halves, .gguf_pairing = adjacent, .base = 1e6, .head_dim = 128},
    {.model_types = "cwm", .pairing = halves, .gguf_pairing = adjacent, .base = 1e6, .head_dim = 128,
     .scaling = cwm_scaling},
    {.model_types = "higgs_audio_v2", .pairing = halves, .base = 1e4, .head_dim = 128, .scaling = higgs_scaling},
    {.model_types = "mllama_text_model csm csm_depth_decoder_model evolla", .pairing = halves, .gguf_pairing = adjacent, .base = 5e5},
    {.model_types = "smollm3", .gguf = "smollm3", .pairing = halves, .gguf_pairing = adjacent, .base = 2e6,
     .pattern = 4, .no_rope = NoRope::every_nth},

    // Half-split in both.
    {.model_types = "qwen qwen2 qwen2_moe qwen3_moe dbrx falcon falcon_h1 starcoder2 olmo2 olmoe orion "
                    "hunyuan_v1_dense hunyuan_v1_moe dots1 esmc plamo jais2 exaone "
                    "exaone_moe eurobert dia_encoder doge gpt_neox_japanese hyperclovax "
                    "kyutai_speech_to_text mimi mimi_encoder mimi_decoder moshi "
                    "qwen3_omni_moe_talker_text unlimited_ocr_text voxtral_realtime_text "
                    "deepseek_ocr2_text gradium_phonon_tts pocket_tts",
     .gguf = "qwen qwen2 qwen2moe qwen3 qwen3moe dream llada-moe rnd1 dbrx falcon falcon-h1 grok starcoder2 olmo2 olmoe "
             "orion hunyuan-moe hunyuan-dense talkie dots1 bert jina-bert-v3 nomic-bert nomic-bert-moe eurobert bitnet "
             "plamo plamo2 plamo3 codeshell openelm exaone exaone-moe jais2 smallthinker seed_oss grovemoe bailingmoe2 "
             "hy-v3 cogvlm pangu-embedded laguna mellum dflash minimax-m2 apertus lfm2 lfm2moe step35 mimo2",
     .pairing = halves, .gguf_pairing = halves},
    {.model_types = "phi3 phi3_v phi4_multimodal", .gguf = "phi3", .pairing = halves, .gguf_pairing = halves,
     .original_length = 4096},
    {.model_types = "esm", .pairing = halves, .silent_positions = "absolute"},
    {.model_types = "zamba2", .pairing = halves, .widths = 2, .head_dim_key = "attention_head_dim",
     .layer_list = "layers_block_type", .rope_switch = "use_mem_rope"},
    {.model_types = "dia_decoder flint hrm_text jetmoe kolibri1 molmo2_text muse_glimmer_text "
                    "qwen3_omni_moe_talker_code_predictor",
     .pairing = halves, .gguf_pairing = halves, .head_dim = 128},
    {.model_types = "lara_mini", .pairing = halves, .gguf_pairing = halves, .head_dim = 128,
     .layer_words = "linear_attention sliding_attention linear_attention full_attention sliding_attention",
     .no_rope = NoRope::full_layers},
    {.model_types = "olmo_hybrid", .pairing = halves, .gguf_pairing = halves, .pattern = 4, .one_at_least = true,
     .no_rope = NoRope::others, .switched_by_base = true},
    {.model_types = "neucodec xcodec2", .pairing = halves, .head_dim = 64},
    {.model_types = "muse_glimmer_assistant", .pairing = halves, .base = 5e5, .head_dim = 128},
    {.model_types = "flex_olmo", .pairing = halves, .base = 5e5},
    {.model_types = "muse_spark_text", .pairing = halves, .base = 5e5, .head_dim = 64},
    {.model_types = "nomic_bert", .pairing = halves, .gguf_pairing = halves, .base = 1000},
    {.model_types = "jina_embeddings_v3", .pairing = halves, .gguf_pairing = halves, .base = 2e4},
    {.model_types = "gte", .pairing = halves, .base = 160000},
    {.model_types = "hy_v3", .pairing = halves, .gguf_pairing = halves, .base = 11158840, .head_dim = 128},
    {.model_types = "minimax_m3_vl_text", .pairing = halves, .base = 5e6, .head_dim = 128},
    {.model_types = "emu3_text_model qwen2_5_omni_talker", .pairing = halves, .base = 1e6},
    {.model_types = "bamba", .pairing = halves, .partial = 0.5, .layer_list = "attn_layer_indices",
     .none_unlisted = true},
    // Of speech, of documents, of time series.
    {.model_types = "lasr_encoder nemotron3_diarization_audio deepseek_ocr2_encoder", .pairing = halves, .base = 1e4},
    {.model_types = "voxtral_realtime_encoder", .pairing = halves, .base = 1e4, .head_dim = 64},
    {.model_types = "pe_audio_encoder pe_audio_video_encoder pe_video_encoder", .pairing = adjacent, .base = 2e4, .head_dim = 128},
    {.model_types = "wav2vec2-conformer", .pairing = halves, .base = 1e4, .silent_positions = "relative"},
    {.model_types = "wav2vec2-bert", .pairing = halves, .base = 1e4, .silent_positions = "relative_key"},
    {.model_types = "timesfm2_5", .pairing = halves, .base = 1e4, .head_dim = 80},
    {.model_types = "glmasr_encoder nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_word_timestamp",
     .pairing = halves, .base = 1e4, .partial = 0.5},
    {.model_types = "recurrent_gemma", .pairing = halves, .silent_head_dim = 256, .partial = 0.5, .pattern = 3,
     .no_rope = NoRope::others},
    {.model_types = "vaultgemma t5_gemma_module", .pairing = halves, .head_dim = 256},
    {.model_types = "qwen4_exp_text", .pairing = halves, .head_dim = 256, .pattern = 4, .no_rope = NoRope::others},
    {.model_types = "qwen3 seed_oss", .pairing = halves, .gguf_pairing = halves, .head_dim = 128},
    {.model_types = "bitnet", .pairing = halves, .gguf_pairing = halves, .base = 5e5},
    {.model_types = "phimoe lfm2 lfm2_moe", .gguf = "phimoe", .pairing = halves, .gguf_pairing = halves, .base = 1e6},
    {.model_types = "olmo3", .pairing = halves, .gguf_pairing = halves, .base = 5e5, .local_base = 5e5, .pattern = 4},
    {.model_types = "apertus apertus1p5_text", .pairing = halves, .gguf_pairing = halves, .base = 12e6,
     .scaling = apertus_scaling},
    {.model_types = "minimax_m2", .pairing = halves, .gguf_pairing = halves, .base = 5e6, .head_dim = 128},
    {.model_types = "minimax", .pairing = halves, .base = 1e6, .pattern = 2, .full_first = true, .no_rope = NoRope::others},
    {.model_types = "gpt_oss", .gguf = "gpt-oss", .pairing = halves, .gguf_pairing = halves, .base = 150000,
     .head_dim = 64, .truncate = false, .scaling = gpt_oss_scaling},
    {.model_types = "gpt_neox", .gguf = "gptneox", .pairing = halves, .gguf_pairing = halves, .base = 1e4, .partial = 0.25},
    {.model_types = "phi phi-msft", .gguf = "phi2", .pairing = halves, .gguf_pairing = halves, .base = 1e4, .partial = 0.5},
    {.model_types = "stablelm", .gguf = "stablelm", .pairing = halves, .gguf_pairing = halves, .partial = 0.25},
    {.model_types = "persimmon", .pairing = halves, .partial = 0.5},
    {.model_types = "nemotron", .gguf = "nemotron", .pairing = halves, .gguf_pairing = halves, .partial = 0.5},
    {.model_types = "glm4_moe", .gguf = "glm4moe", .pairing = halves, .gguf_pairing = halves, .partial = 0.5},
    {.model_types = "qwen3_next", .gguf = "qwen3next", .pairing = halves, .gguf_pairing = halves, .head_dim = 256, .partial = 0.25,
     .pattern = 4, .no_rope = NoRope::others},
    {.model_types = "nanochat", .pairing = halves, .direction = Direction::inverse},

    // Local and global layers.
    {.model_types = "gemma gemma2", .gguf = "gemma gemma2 gemma-embedding", .pairing = halves, .gguf_pairing = halves, .head_dim = 256},
    {.model_types = "gemma3_text gemma3", .gguf = "gemma3", .pairing = halves, .gguf_pairing = halves, .base = 1e6,
     .local_base = 1e4, .head_dim = 256, .pattern = 6},
    {.model_types = "gemma3n_text gemma3n", .gguf = "gemma3n", .pairing = halves, .gguf_pairing = halves, .base = 1e6,
     .local_base = 1e4, .head_dim = 256, .pattern = 5},
    {.model_types = "gemma4_text gemma4 gemma4_unified_text diffusion_gemma_text", .gguf = "gemma4", .pairing = halves,
     .gguf_pairing = halves, .base = 1e6, .local_base = 1e4, .global_part = 0.25, .head_dim = 256, .global_head_dim = 512,
     .pattern = 6, .full_last = true},
    {.model_types = "t5gemma2_text t5gemma2_decoder", .pairing = halves, .base = 1e6, .local_base = 1e4, .head_dim = 256,
     .pattern = 6},
    {.model_types = "embedding_gemma2_text", .pairing = halves, .base = 1e6, .local_base = 1e4, .head_dim = 256,
     .global_head_dim = 512, .pattern = 6, .full_last = true},
    {.model_types = "laguna", .pairing = halves, .gguf_pairing = halves, .base = 5e5, .local_base = 1e4, .head_dim = 128,
     .partial = 0.5, .local_partial = 1, .pattern = 1},
    {.model_types = "mellum", .pairing = halves, .gguf_pairing = halves, .base = 5e5, .local_base = 1e4, .head_dim = 128,
     .pattern = 1},
    {.model_types = "mimo_v2_flash mimo_v2", .pairing = halves, .gguf_pairing = halves, .base = 5e6, .local_base = 1e4,
     .head_dim = 192, .partial = 0.334, .pattern = 6, .full_too = true},
    {.model_types = "step3p5", .pairing = halves, .gguf_pairing = halves, .base = 1e4, .local_base = 1e4, .common_base = true, .head_dim = 128,
     .pattern = 1},
    {.model_types = "modernbert modernbert-decoder", .gguf = "modern-bert", .pairing = halves, .gguf_pairing = halves,
     .base = 160000, .local_base = 1e4, .local_scaling = true, .pattern = 3, .full_first = true},
    {.model_types = "exaone4", .gguf = "exaone4", .pairing = halves, .gguf_pairing = halves, .pattern = 4, .no_rope = NoRope::full_layers,
     .no_window = NoWindow::all},
    {.model_types = "afmoe", .gguf = "afmoe", .pairing = halves, .gguf_pairing = halves, .head_dim = 128, .pattern = 4,
     .no_rope = NoRope::full_layers},

    // Interleaved in both.
    {.model_types = "gptj codegen", .pairing = adjacent, .base = 1e4, .rotary_dim = 64},
    {.model_types = "cohere", .gguf = "command-r", .pairing = adjacent, .gguf_pairing = adjacent, .base = 5e5},
    {.model_types = "cohere2_moe", .pairing = adjacent, .gguf_pairing = adjacent, .head_dim = 128, .pattern = 4,
     .no_rope = NoRope::full_layers, .no_window = NoWindow::none, .dense_prefix = true},
    {.model_types = "cohere2", .gguf = "cohere2 cohere2moe", .pairing = adjacent, .gguf_pairing = adjacent, .pattern = 4,
     .no_rope = NoRope::full_layers, .no_window = NoWindow::none},
    {.model_types = "glm glm4", .gguf = "glm4", .pairing = adjacent, .gguf_pairing = adjacent, .head_dim = 128, .partial = 0.5},
    {.model_types = "chatglm", .gguf = "chatglm", .pairing = adjacent, .gguf_pairing = adjacent, .partial = 0.5},
    {.model_types = "ernie4_5", .pairing = adjacent, .gguf_pairing = adjacent, .base = 5e5, .head_dim = 128},
    {.model_types = "ernie4_5_moe", .gguf = "ernie4_5 ernie4_5-moe", .pairing = adjacent, .gguf_pairing = adjacent, .base = 5e5},
    {.model_types = "helium", .pairing = adjacent, .base = 1e5, .head_dim = 128},
    {.model_types = "moonshine", .pairing = adjacent, .partial = 0.9},
    {.model_types = "moonshine_streaming", .pairing = adjacent, .partial = 0.8},
    {.model_types = "blt blt_local_encoder blt_local_decoder blt_global_transformer", .pairing = adjacent, .base = 5e5},
    {.model_types = "blt_patcher", .pairing = adjacent},
    {.model_types = "openai_privacy_filter", .pairing = adjacent, .base = 150000, .head_dim = 64,
     .scaling = gpt_oss_scaling},
    {.model_types = "roformer", .pairing = adjacent},
    {.model_types = "llama4_text llama4", .gguf = "llama4", .pairing = adjacent, .gguf_pairing = adjacent, .base = 5e5,
     .head_dim = 128, .pattern = 4, .no_rope = NoRope::every_nth, .tunes_no_rope = true},

    // Part of the head without positions, then the part that turns (MLA).
    {.model_types = "deepseek_v2", .gguf = "deepseek2 deepseek2-ocr deepseek32 glm-dsa plm mistral4", .pairing = adjacent,
     .gguf_pairing = adjacent, .latent_lanes = 64, .latent_still = 128, .window_at_end = true},
    {.model_types = "deepseek_v3 deepseek_v32 kimi_k2 youtu axk1", .pairing = regroup, .gguf_pairing = adjacent,
     .latent_lanes = 64, .latent_still = 128, .window_at_end = true},
    {.model_types = "glm4_moe_lite glm_moe_dsa", .pairing = regroup, .gguf_pairing = adjacent, .latent_lanes = 64,
     .latent_still = 192, .window_at_end = true},
    {.model_types = "axk2", .pairing = regroup, .gguf_pairing = adjacent, .latent_lanes = 32, .latent_still = 64, .window_at_end = true},
    {.model_types = "hy_v4", .pairing = halves, .latent_lanes = 64, .latent_still = 192, .window_at_end = true},
    {.model_types = "mistral4", .pairing = regroup, .gguf_pairing = adjacent, .latent_lanes = 64, .latent_still = 64,
     .window_at_end = true,
     .scaling = mistral4_scaling},
    {.model_types = "mistral_large4_text", .pairing = regroup, .pattern = 4, .no_rope = NoRope::every_nth, .latent_lanes = 64,
     .latent_still = 64, .window_at_end = true, .scaling = mistral_large4_scaling,
     .doubt = "each frequency is multiplied by exp(rotary_emb.alpha), which only the weights hold"},
    {.model_types = "longcat_flash", .pairing = regroup, .base = 1e7, .latent_lanes = 64, .latent_still = 128},
    {.model_types = "bailing_hybrid", .pairing = regroup, .base = 6e6, .pattern = 6, .no_rope = NoRope::others, .latent_lanes = 64, .latent_still = 128},
    {.model_types = "deepseek_v4", .gguf = "deepseek4", .pairing = adjacent, .gguf_pairing = adjacent, .base = 1e4,
     .head_dim = 512, .partial = 0.125, .compress_base = 160000, .window_at_end = true},
    {.model_types = "minicpm3", .gguf = "minicpm3", .pairing = halves, .gguf_pairing = halves, .latent_lanes = 32,
     .latent_still = 64, .window_at_end = true},

    // Several axes.
    {.model_types = "qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text", .gguf = "qwen2vl", .pairing = halves,
     .gguf_pairing = halves, .base = 1e6, .sections = {16, 24, 24}},
    {.model_types = "qwen3_vl_moe_text", .pairing = halves, .gguf_pairing = halves, .base = 5e5, .sections = {24, 20, 20},
     .axis_order = AxisOrder::interleaved},
    {.model_types = "qwen3_vl qwen3_vl_text", .gguf = "qwen3vl qwen3vlmoe", .pairing = halves,
     .gguf_pairing = halves, .base = 5e5, .head_dim = 128, .sections = {24, 20, 20}, .axis_order = AxisOrder::interleaved},
    {.model_types = "cosmos3_edge_text", .pairing = halves, .base = 1e8, .head_dim = 128, .sections = {24, 20, 20},
     .axis_order = AxisOrder::interleaved},
    {.model_types = "qwen3_omni_moe_text", .pairing = halves, .base = 1e6, .sections = {24, 20, 20}, .axis_order = AxisOrder::interleaved},
    {.model_types = "qwen3_5_text qwen3_5_moe_text", .gguf = "qwen35 qwen35moe", .pairing = halves, .gguf_pairing = halves,
     .head_dim = 256, .partial = 0.25, .pattern = 4, .no_rope = NoRope::others,
     .sections = {11, 11, 10}, .axis_order = AxisOrder::interleaved},
    {.model_types = "glm4v_text glm4v glm_ocr_text glm_ocr", .pairing = adjacent, .sections = {8, 12, 12}},
    {.model_types = "glm_image_text", .pairing = halves, .sections = {8, 12, 12}},
    {.model_types = "glm4v_moe_text glm4v_moe", .pairing = halves, .partial = 0.5, .sections = {8, 12, 12}},
    {.model_types = "ernie4_5_vl_moe_text ernie4_5_vl_moe ernie4_5_moe_vl", .pairing = adjacent, .base = 5e5,
     .sections = {22, 22, 20}, .axis_order = AxisOrder::space_then_time, .time_section_last = true},
    {.model_types = "hunyuan_vl_text hunyuan_vl", .gguf = "hunyuan_vl hunyuan-vl", .pairing = halves, .gguf_pairing = halves},
    {.model_types = "paddleocr_vl_text paddleocr_vl", .gguf = "paddleocr", .pairing = halves, .gguf_pairing = halves,
     .base = 5e5, .sections = {16, 24, 24}},
    {.model_types = "hy_v4_vl_text", .pairing = adjacent, .sections = {12, 10, 10}, .axis_order = AxisOrder::interleaved,
     .latent_lanes = 64, .latent_still = 192, .window_at_end = true},
    {.model_types = "openpangu_vl", .pairing = halves},

    // Known, and not described by what there is.
    {.model_types = "clvp_encoder", .unsupported = "it turns its values too, on lanes that projection_dim counts"},
    {.gguf = "gptj", .unsupported = "llama.cpp runs it without a rotary embedding"},
    {.model_types = "gpt2 gpt_bigcode gpt_neo mpt bloom opt bert t5 jamba mamba mamba2 rwkv rwkv5 clip clip_text_model "
                    "clip_vision_model siglip siglip_text_model siglip_vision_model siglip2 siglip2_text_model "
                    "siglip2_vision_model whisper vit bart distilbert audioflamingo3_encoder data2vec-audio hubert musicgen_decoder "
                    "nemotron_asr_streaming_encoder parakeet_encoder phi4_multimodal_audio qwen2_audio_encoder sew unispeech "
                    "voxtral_encoder wav2vec2 wavlm sam sam_hq sam2 sam2_vision_model sam2_hiera_det_model edgetam edgetam_vision_model",
     .gguf = "gpt2 mpt refact bloom mamba mamba2 jamba jina-bert-v2 t5 t5encoder jais rwkv6 rwkv6qwen2 rwkv7 arwkv7 nemotron_h "
             "nemotron_h_moe kimi-linear inkling clip wavtokenizer-dec",
     .unsupported = "it has no rotary embedding"},
};
// clang-format on

const Family* row(std::string_view Family::*names, std::string_view word) noexcept {
  const auto found = std::ranges::find_if(families, [&](const Family& f) { return lists(f.*names, word); });
  return found == std::end(families) ? nullptr : &*found;
}

}  // namespace

bool lists(std::string_view words, std::string_view word) noexcept {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

const Family* family_of_model_type(std::string_view model_type) noexcept {
  return row(&Family::model_types, model_type);
}
const Family* family_of_gguf(std::string_view architecture) noexcept {
  return row(&Family::gguf, architecture);
}

}  // namespace rotary::impl
