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

// clang-format off
constexpr Family families[] = {
    // Half-split in Transformers, reordered for GGUF.
    {.model_types = "llama mistral ministral ministral3 internlm2 internlm3 baichuan xverse minicpm olmo arcee deepseek chameleon aria_text voxtral_text diffllama",
     .gguf = "llama llama-embed mistral3 internlm2 baichuan xverse minicpm olmo arcee "
             "deepseek chameleon deci llada starcoder arctic bailingmoe neo-bert maincoder eagle3",
     .pairing = halves, .gguf_pairing = adjacent},
    {.model_types = "granite granitemoe granitemoeshared granitemoehybrid", .gguf = "granite granitemoe granitehybrid",
     .pairing = halves, .gguf_pairing = adjacent, .gguf_switch = true},
    {.model_types = "mixtral cwm", .pairing = halves, .gguf_pairing = adjacent, .base = 1e6},
    {.model_types = "mllama_text_model csm", .pairing = halves, .gguf_pairing = adjacent, .base = 5e5},
    {.model_types = "smollm3", .gguf = "smollm3", .pairing = halves, .gguf_pairing = adjacent, .base = 2e6,
     .pattern = 4, .no_rope = NoRope::every_nth},

    // Half-split in both.
    {.model_types = "qwen qwen2 qwen2_moe qwen3_moe dbrx bert falcon falcon_h1 starcoder2 olmo2 olmoe orion phi3 "
                    "hunyuan_v1_dense hunyuan_v1_moe dots1 esm plamo jais2 bamba zamba2 exaone",
     .gguf = "qwen qwen2 qwen2moe qwen3 qwen3moe dream llada-moe rnd1 dbrx falcon falcon-h1 grok starcoder2 olmo2 olmoe "
             "orion phi3 hunyuan-moe hunyuan-dense dots1 bert jina-bert-v3 nomic-bert nomic-bert-moe eurobert bitnet "
             "plamo plamo2 plamo3 codeshell openelm exaone exaone-moe jais2 smallthinker seed_oss grovemoe bailingmoe2 "
             "hy-v3 cogvlm pangu-embedded laguna mellum dflash minimax-m2 apertus lfm2 lfm2moe step35 mimo2",
     .pairing = halves, .gguf_pairing = halves},
    {.model_types = "qwen3 seed_oss", .pairing = halves, .gguf_pairing = halves, .head_dim = 128},
    {.model_types = "bitnet", .pairing = halves, .gguf_pairing = halves, .base = 5e5},
    {.model_types = "phimoe lfm2 lfm2_moe", .gguf = "phimoe", .pairing = halves, .gguf_pairing = halves, .base = 1e6},
    {.model_types = "olmo3", .pairing = halves, .gguf_pairing = halves, .base = 5e5, .local_base = 5e5, .pattern = 4},
    {.model_types = "apertus", .pairing = halves, .gguf_pairing = halves, .base = 12e6},
    {.model_types = "minimax_m2", .pairing = halves, .gguf_pairing = halves, .base = 5e6, .head_dim = 128},
    {.model_types = "minimax", .pairing = halves, .base = 1e6},
    {.model_types = "gpt_oss", .gguf = "gpt-oss", .pairing = halves, .gguf_pairing = halves, .base = 150000,
     .head_dim = 64, .truncate = false},
    {.model_types = "gpt_neox", .gguf = "gptneox", .pairing = halves, .gguf_pairing = halves, .base = 1e4, .partial = 0.25},
    {.model_types = "phi phi-msft", .gguf = "phi2", .pairing = halves, .gguf_pairing = halves, .partial = 0.5},
    {.model_types = "stablelm", .gguf = "stablelm", .pairing = halves, .gguf_pairing = halves, .partial = 0.25},
    {.model_types = "persimmon", .pairing = halves, .partial = 0.5},
    {.model_types = "nemotron", .gguf = "nemotron", .pairing = halves, .gguf_pairing = halves, .partial = 0.5},
    {.model_types = "glm4_moe", .gguf = "glm4moe", .pairing = halves, .gguf_pairing = halves, .partial = 0.5},
    {.model_types = "qwen3_next", .gguf = "qwen3next", .pairing = halves, .gguf_pairing = halves, .head_dim = 256, .partial = 0.25},
    {.model_types = "nanochat", .pairing = halves, .direction = Direction::inverse},

    // Local and global layers.
    {.model_types = "gemma gemma2", .gguf = "gemma gemma2 gemma-embedding", .pairing = halves, .gguf_pairing = halves, .head_dim = 256},
    {.model_types = "gemma3_text gemma3", .gguf = "gemma3", .pairing = halves, .gguf_pairing = halves, .base = 1e6,
     .local_base = 1e4, .head_dim = 256, .pattern = 6},
    {.model_types = "gemma3n_text gemma3n", .gguf = "gemma3n", .pairing = halves, .gguf_pairing = halves, .base = 1e6,
     .local_base = 1e4, .head_dim = 256, .pattern = 5},
    {.model_types = "gemma4_text gemma4", .gguf = "gemma4", .pairing = halves, .gguf_pairing = halves, .base = 1e6,
     .local_base = 1e4, .global_part = 0.25, .head_dim = 256, .global_head_dim = 512, .pattern = 6},
    {.model_types = "modernbert modernbert-decoder", .gguf = "modern-bert", .pairing = halves, .gguf_pairing = halves,
     .base = 160000, .local_base = 1e4, .local_scaling = true, .pattern = 3, .full_first = true},
    {.model_types = "exaone4", .gguf = "exaone4", .pairing = halves, .gguf_pairing = halves, .pattern = 4, .no_rope = NoRope::full_layers},
    {.model_types = "afmoe", .gguf = "afmoe", .pairing = halves, .gguf_pairing = halves, .head_dim = 128, .pattern = 4,
     .no_rope = NoRope::full_layers},

    // Interleaved in both.
    {.model_types = "gptj codegen", .pairing = adjacent, .base = 1e4, .rotary_dim = 64},
    {.model_types = "cohere", .gguf = "command-r", .pairing = adjacent, .gguf_pairing = adjacent, .base = 5e5},
    {.model_types = "cohere2", .gguf = "cohere2", .pairing = adjacent, .gguf_pairing = adjacent, .pattern = 4,
     .no_rope = NoRope::full_layers},
    {.model_types = "glm glm4", .gguf = "glm4", .pairing = adjacent, .gguf_pairing = adjacent, .head_dim = 128, .partial = 0.5},
    {.model_types = "chatglm", .gguf = "chatglm", .pairing = adjacent, .gguf_pairing = adjacent, .partial = 0.5},
    {.model_types = "ernie4_5 ernie4_5_moe", .gguf = "ernie4_5 ernie4_5-moe", .pairing = adjacent, .gguf_pairing = adjacent, .base = 5e5},
    {.model_types = "helium", .pairing = adjacent, .base = 1e5, .head_dim = 128},
    {.model_types = "moonshine", .pairing = adjacent, .partial = 0.9},
    {.model_types = "roformer", .pairing = adjacent},
    {.model_types = "llama4_text llama4", .gguf = "llama4", .pairing = adjacent, .gguf_pairing = adjacent, .base = 5e5,
     .head_dim = 128, .pattern = 4, .no_rope = NoRope::every_nth, .tunes_no_rope = true},

    // Part of the head without positions, then the part that turns (MLA).
    {.model_types = "deepseek_v2", .gguf = "deepseek2 deepseek2-ocr deepseek32 glm-dsa plm mistral4", .pairing = adjacent,
     .gguf_pairing = adjacent, .window_at_end = true},
    {.model_types = "deepseek_v3 deepseek_v32 kimi_k2 mistral4 glm4_moe_lite glm_moe_dsa youtu axk1", .pairing = regroup,
     .gguf_pairing = adjacent, .window_at_end = true},
    {.model_types = "longcat_flash", .pairing = regroup, .base = 1e7},
    {.model_types = "minicpm3", .gguf = "minicpm3", .pairing = halves, .gguf_pairing = halves, .window_at_end = true},

    // Several axes.
    {.model_types = "qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text", .gguf = "qwen2vl", .pairing = halves,
     .gguf_pairing = halves, .base = 1e6},
    {.model_types = "qwen3_vl qwen3_vl_text qwen3_vl_moe_text", .gguf = "qwen3vl qwen3vlmoe", .pairing = halves,
     .gguf_pairing = halves, .base = 5e5, .head_dim = 128, .axis_order = AxisOrder::interleaved},
    {.model_types = "qwen3_5_text qwen3_5_moe_text", .gguf = "qwen35 qwen35moe", .pairing = halves, .gguf_pairing = halves,
     .head_dim = 256, .partial = 0.25, .axis_order = AxisOrder::interleaved},
    {.model_types = "glm4v_text glm4v", .pairing = adjacent, .partial = 0.5},
    {.model_types = "glm4v_moe_text glm4v_moe", .pairing = halves, .partial = 0.5},
    {.model_types = "ernie4_5_vl_moe_text ernie4_5_vl_moe ernie4_5_moe_vl", .pairing = adjacent, .base = 5e5,
     .axis_order = AxisOrder::space_then_time, .time_section_last = true},
    {.model_types = "hunyuan_vl_text hunyuan_vl", .gguf = "hunyuan_vl hunyuan-vl", .pairing = halves, .gguf_pairing = halves},
    {.model_types = "paddleocr_vl_text paddleocr_vl", .gguf = "paddleocr", .pairing = halves, .gguf_pairing = halves,
     .base = 5e5},
    {.model_types = "openpangu_vl", .pairing = halves},

    // Known, and not described by what there is.
    {.model_types = "deepseek_v4", .gguf = "deepseek4", .unsupported = "it rotates the attention output back"},
    {.model_types = "gpt2 mpt bloom t5 mamba mamba2 rwkv", .gguf = "gpt2 mpt refact bloom mamba mamba2 jamba jina-bert-v2 t5 jais rwkv6 rwkv7 nemotron_h",
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
