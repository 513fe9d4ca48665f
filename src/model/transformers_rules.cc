// SPDX-License-Identifier: Apache-2.0
// What Transformers' classes do not look at. Source: Transformers 5.24, configuration_*.py, modeling_*.py and
// modeling_rope_utils.py; tests/data/transformers_matrix.json holds what each of them gives.
#include <algorithm>
#include <array>

#include "model/family.hpp"
#include "model/peer_rules.hpp"

namespace rotary::impl {
namespace {

/// Where a config class takes its ropes from.
enum class Reads : std::uint8_t {
  elsewhere,  ///< the model's own code, or no config: nothing is known
  one,        ///< one dictionary, of either name, for all layers
  two,        ///< entries of rope_parameters, and rope_scaling written over the one of full attention
  entries,    ///< entries of rope_parameters alone
};

// clang-format off
/// Models whose code comes with their files.
constexpr std::string_view with_own_code =
    "internlm internlm2 internlm3 baichuan xverse minicpm deepseek voxtral_text qwen orion phi3_v plamo exaone phi-msft "
    "mimo_v2 chatglm kimi_k2 openpangu_vl";
constexpr std::string_view reads_two =
    "gemma3_text gemma3 gemma3n_text gemma3n t5gemma2_text t5gemma2_decoder olmo3 modernbert modernbert-decoder step3p5";
constexpr std::string_view reads_entries =
    "gemma4_text gemma4 gemma4_unified_text diffusion_gemma_text embedding_gemma2_text mimo_v2_flash laguna mellum";

/// Their default type turns partial_rotary_factor of the head; that of all others the whole head.
constexpr std::string_view reads_part =
    "bamba glm glm4 glm4_moe glm4v_text glm4v glm4v_moe_text glm4v_moe glm_image_text glm_ocr_text glm_ocr gpt_neox "
    "gpt_neox_japanese minimax_m2 minimax_m3_vl_text moonshine moonshine_streaming nemotron persimmon phi phi3 "
    "phi4_multimodal qwen3_5_text qwen3_5_moe_text qwen3_next qwen4_exp_text recurrent_gemma stablelm laguna mellum "
    "mimo_v2_flash diffusion_gemma_text step3p5 deepseek_v4 gptj codegen glmasr_encoder nemotron3_diarization_audio "
    "nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_word_timestamp";
/// They make frequencies for a part of the head, and turn the whole of it with them.
constexpr std::string_view fails_on_part = "solar_open glm4_moe_lite mellum";
/// Their own part of the head is for the default type alone; for files without a dictionary alone.
constexpr std::string_view part_of_default = "mimo_v2_flash", part_of_silence = "moonshine_streaming laguna "
    "nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_word_timestamp";
/// Their attention takes partial_rotary_factor for a width, whatever the type.
constexpr std::string_view narrows = "gpt_neox_japanese persimmon phi stablelm";
/// Without a dictionary they do not look at a base or a part of the head beside it either.
constexpr std::string_view all_of_its_own = "muse_spark_text moonshine_streaming cosmos3_edge_text "
    "nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_word_timestamp";
/// Nor, with one, at a part of the head beside it.
constexpr std::string_view part_of_dictionary = "moonshine_streaming laguna";
/// Their code wants a head_dim in the file, where a scaling computes with it.
constexpr std::string_view wants_head_dim = "mixtral ministral minimax hunyuan_v1_dense hunyuan_v1_moe";
/// They pass over a rope_theta of null.
constexpr std::string_view skips_null = "gpt_neox gpt_neox_japanese esm gptj codegen deepseek_v4 modernbert modernbert-decoder";

/// Keys beside the dictionaries that a class reads, where they are not rope_theta and partial_rotary_factor.
struct KeysOf {
  std::string_view model_types, base, width;
};
constexpr KeysOf keys_of[] = {
    {"gpt_neox gpt_neox_japanese", "rotary_emb_base", "rotary_pct"},
    {"gptj codegen", "", "rotary_dim"},
    {"minimax_m2", "rope_theta", "partial_rotary_factor rotary_dim"},
    {"gemma3_text gemma3 gemma3n_text gemma3n t5gemma2_text t5gemma2_decoder", "rope_theta rope_local_base_freq",
     "partial_rotary_factor"},
    {"modernbert modernbert-decoder", "global_rope_theta local_rope_theta", "partial_rotary_factor"},
    {"step3p5", "rope_theta", "partial_rotary_factors"},
    {"deepseek_v4", "rope_theta compress_rope_theta", "partial_rotary_factor qk_rope_head_dim"},
};
// clang-format on

KeysOf keys(std::string_view model_type) {
  const auto found =
      std::ranges::find_if(keys_of, [&](const KeysOf& k) { return lists(k.model_types, model_type); });
  return found == std::end(keys_of) ? KeysOf{model_type, "rope_theta", "partial_rotary_factor"} : *found;
}

Reads reads(const PeerReading& r) {
  const Family* family = family_of_model_type(r.model_type);
  if (!r.is_config || !r.is_of_text || family == nullptr || lists(with_own_code, r.model_type))
    return Reads::elsewhere;
  if (lists(reads_two, r.model_type)) return Reads::two;
  return lists(reads_entries, r.model_type) ? Reads::entries : Reads::one;
}

bool is_local(const PeerReading& r) { return r.rope_name == "local"; }
/// An entry of a layer type, without a base.
bool is_bare_entry(const PeerReading& r) {
  return reads(r) == Reads::entries && r.wording.scaling == RopePlace::layer_type &&
         r.wording.base != RopePlace::layer_type;
}
/// Its code is a class of Transformers.
bool known(const PeerReading& r) { return reads(r) != Reads::elsewhere; }
bool is(const PeerReading& r, std::string_view model_types) {
  return known(r) && lists(model_types, r.model_type);
}
bool is_scaled(const PeerReading& r) { return !std::holds_alternative<scaling::None>(r.scaling); }

template <class Type>
bool is_of(const PeerReading& r) {
  return std::holds_alternative<Type>(r.scaling);
}
using scaling::DynamicNtk, scaling::Llama3, scaling::LongRope, scaling::NtkAlpha, scaling::Proportional,
    scaling::Yarn;
bool computes_with_head_dim(const PeerReading& r) {
  return is_of<Yarn>(r) || is_of<DynamicNtk>(r) || is_of<NtkAlpha>(r) || is_of<LongRope>(r);
}

bool has_one_axis(const PeerReading& r) {
  return std::ranges::all_of(r.axis, [](auto axis) { return axis == 0; });
}

/// The pairs of another width follow the family's own sections, where those fit.
void set_width(PeerReading& r, std::int64_t lanes) {
  if (lanes == r.rotary_dim) return;
  if (!has_one_axis(r)) {
    r.is_refused = true;  // stated sections cover the lanes of the file, and no others
    return;
  }
  const Family& family = *family_of_model_type(r.model_type);
  std::array<std::int64_t, 3> sections = family.sections;
  if (r.rotary_offset > 0) r.rotary_offset = r.head_dim - lanes;
  r.rotary_dim = lanes;
  r.axis.assign(static_cast<std::size_t>(lanes / 2), 0);
  if (sections[0] == 0 || sections[0] + sections[1] + sections[2] != lanes / 2) return;
  if (family.time_section_last) std::rotate(sections.begin(), sections.end() - 1, sections.end());
  if (const auto axes = axis_map(family.axis_order, sections)) r.axis = *axes;
}

double own_base(const PeerReading& r) {
  const Family& family = *family_of_model_type(r.model_type);
  return is_local(r) && family.local_base ? *family.local_base : family.base.value_or(10000);
}

std::int64_t own_width(const PeerReading& r) {
  const Family& family = *family_of_model_type(r.model_type);
  if (family.rotary_dim != 0) return family.rotary_dim;
  const double part = is_local(r) && family.local_partial ? *family.local_partial : family.partial;
  return static_cast<std::int64_t>(static_cast<double>(r.head_dim) * part);
}

void take_own_scaling(PeerReading& r) {
  const Family& family = *family_of_model_type(r.model_type);
  r.scaling = scaling::None{};
  if (family.global_part && !is_local(r))
    r.scaling = Proportional{.partial_rotary_factor = *family.global_part};
}

/// Stated beside the dictionaries, under no name of those.
bool is_unseen(RopePlace place, std::string_view keys, std::string_view read) {
  if (place != RopePlace::top) return false;
  for (std::size_t end = 0; !keys.empty(); keys.remove_prefix(std::min(end + 1, keys.size()))) {
    end = std::min(keys.find(' '), keys.size());
    if (lists(read, keys.substr(0, end))) return false;
  }
  return true;
}

constexpr PeerRule rule(std::string_view sentence, void (*apply)(PeerReading&)) {
  return {of(Peer::transformers), sentence, apply};
}
/// The rule's sentence is the message.
constexpr PeerRule refusal(std::string_view sentence, bool (*is_met)(const PeerReading&)) {
  return {of(Peer::transformers), sentence, nullptr, is_met};
}

constexpr PeerRule rules[] = {
    // Which dictionary is read.
    refusal(
        "rope_parameters by layer type: its class has one rope for all layers, and does not find it there",
        [](const PeerReading& r) {
          return reads(r) == Reads::one && r.model_type != "deepseek_v4" &&
                 r.wording.scaling == RopePlace::layer_type;
        }),
    refusal("one dictionary for all layers: its class looks for entries by layer type, and fails",
            [](const PeerReading& r) {
              const bool now = r.wording.scaling == RopePlace::rope_parameters;
              const bool flat = now || r.wording.scaling == RopePlace::rope_scaling;
              return (is(r, "modernbert modernbert-decoder") && now) || (reads(r) == Reads::entries && flat);
            }),
    rule("its class reads rope_parameters by layer type, and nothing of one for all layers",
         [](PeerReading& r) {
           if (reads(r) != Reads::two) return;
           if (r.wording.scaling == RopePlace::rope_parameters) take_own_scaling(r);
           if (r.wording.base == RopePlace::rope_parameters) r.base = own_base(r);
           if (r.wording.width == RopePlace::rope_parameters) set_width(r, own_width(r));
         }),
    rule(
        "its class writes rope_scaling over an entry that has a rope_type already, so the older word type is "
        "not seen: no scaling",
        [](PeerReading& r) {
          if (reads(r) == Reads::two && r.wording.scaling == RopePlace::rope_scaling && r.wording.old_word)
            take_own_scaling(r);
        }),
    rule("its class does not read rope_scaling",
         [](PeerReading& r) {
           if (!is(r, "cohere2_moe") || r.wording.scaling != RopePlace::rope_scaling) return;
           if (!r.has_both) r.scaling = scaling::None{};
           if (r.wording.base == RopePlace::rope_scaling) r.base = own_base(r);
         }),
    rule("rope_scaling stands beside rope_parameters, of which its class then reads nothing",
         [](PeerReading& r) {
           if (reads(r) != Reads::one || !r.has_both || is(r, "cohere2_moe")) return;
           if (r.wording.base == RopePlace::rope_parameters) r.base = own_base(r);
           if (r.wording.width == RopePlace::rope_parameters && !r.is_latent)
             set_width(r, is(r, part_of_silence) ? r.head_dim : own_width(r));
         }),
    rule("in a dictionary without a base its class takes 10000",
         [](PeerReading& r) {
           const bool silent = r.wording.base == RopePlace::nowhere ||
                               (r.has_both && r.wording.base == RopePlace::rope_parameters);
           if (is(r, "muse_spark_text") && r.wording.scaling != RopePlace::nowhere && silent) r.base = 10000;
         }),
    refusal("qk_rope_head_dim: its class makes frequencies for 64 lanes, whatever the file says",
            [](const PeerReading& r) { return is(r, "longcat_flash") && r.rotary_dim != 64; }),
    refusal("head_dim: its class takes hidden_size / num_attention_heads, whatever the file says",
            [](const PeerReading& r) {
              return is(r, "deepseek_ocr2_text unlimited_ocr_text") && !r.wording.head_dim_divides;
            }),
    refusal("its class has no scaling, and its check of the dictionary misses a key",
            [](const PeerReading& r) {
              if (!is(r, "esm")) return false;
              return (is_of<Llama3>(r) && r.wording.scaling == RopePlace::rope_scaling) ||
                     (is_of<Yarn>(r) && r.wording.original_length != r.wording.scaling);
            }),
    rule("its class has no scaling, and reads nothing of its dictionary",
         [](PeerReading& r) {
           if (!is(r, "esm gptj codegen")) return;
           r.scaling = scaling::None{};
           if (r.wording.base != RopePlace::top || !is(r, "esm")) r.base = own_base(r);
         }),
    rule("without a dictionary its class takes its own base",
         [](PeerReading& r) {
           if (is(r, all_of_its_own) && r.wording.scaling == RopePlace::nowhere) r.base = own_base(r);
         }),

    refusal("rope_theta of null: its class computes with it as it stands, and fails",
            [](const PeerReading& r) {
              const bool unread = is(r, all_of_its_own) && r.wording.scaling == RopePlace::nowhere;
              const bool passed_over =
                  reads(r) == Reads::two && r.wording.scaling == RopePlace::rope_parameters;
              return known(r) && reads(r) != Reads::entries && r.wording.null_base && !is(r, skips_null) &&
                     !unread && !passed_over;
            }),
    refusal("an entry of a layer type without rope_theta: its class does not find one, and fails",
            [](const PeerReading& r) {
              if (!is_bare_entry(r)) return false;
              return !r.wording.outer_base || r.wording.null_base || !(is_scaled(r) || r.follows_scaled);
            }),
    rule("an entry without rope_theta takes the one beside the dictionaries, once a scaling has been made",
         [](PeerReading& r) {
           if (is_bare_entry(r)) r.base = r.wording.outer_base;
         }),
    refusal("mrope_section: its class wants it in the dictionary",
            [](const PeerReading& r) {
              return is(r, "cosmos3_edge_text") && r.wording.scaling != RopePlace::nowhere &&
                     !r.states_sections;
            }),

    // Which types there are.
    refusal("its class runs the default type alone",
            [](const PeerReading& r) {
              return is(r, "recurrent_gemma ernie4_5_vl_moe_text ernie4_5_vl_moe cosmos3_edge_text") &&
                     is_scaled(r);
            }),
    refusal("no head_dim: its class leaves it empty, and this scaling computes with it",
            [](const PeerReading& r) {
              return is(r, wants_head_dim) && r.wording.derived_head_dim && computes_with_head_dim(r);
            }),
    refusal("its class runs longrope and the default type alone",
            [](const PeerReading& r) {
              return is(r, "phi3 phi4_multimodal phimoe") && is_scaled(r) && !is_of<LongRope>(r);
            }),
    refusal("longrope: its class wants short_mscale and long_mscale",
            [](const PeerReading& r) {
              const auto* s = std::get_if<LongRope>(&r.scaling);
              return is(r, "phimoe") && s != nullptr && !(s->short_mscale && s->long_mscale);
            }),
    refusal("proportional: it turns the whole head, and its class's attention a part of it, which fails",
            [](const PeerReading& r) { return is(r, narrows) && is_of<Proportional>(r); }),
    refusal("xdrope_section: its class gives the two lanes of a pair to different axes, which is no rotation",
            [](const PeerReading& r) { return is(r, "hunyuan_vl hunyuan_vl_text") && !has_one_axis(r); }),

    // The original length.
    refusal("original_max_position_embeddings: its class wants it in the dictionary",
            [](const PeerReading& r) {
              return is(r, "step3p5") && is_of<Yarn>(r) &&
                     (r.wording.original_length == RopePlace::top ||
                      r.wording.original_length == RopePlace::nowhere);
            }),
    rule("original_max_position_embeddings beside the dictionary is not seen: max_position_embeddings stands "
         "for it",
         [](PeerReading& r) {
           const bool by_layer_type = reads(r) == Reads::two || is(r, "deepseek_v4");
           if (!by_layer_type || r.wording.original_length != RopePlace::top || !r.context) return;
           std::visit(
               [&](auto& type) {
                 if constexpr (requires { type.original_max_position_embeddings = 1.0; })
                   type.original_max_position_embeddings = static_cast<double>(*r.context);
               },
               r.scaling);
         }),
    rule("original_max_position_embeddings is 4096 unless it stands beside the dictionary",
         [](PeerReading& r) {
           auto* s = std::get_if<LongRope>(&r.scaling);
           if (is(r, "phi3 phi4_multimodal") && s != nullptr && r.wording.original_length != RopePlace::top)
             s->original_max_position_embeddings = 4096;
         }),

    // The base and the part of the head.
    rule("the base is not read under this name or in this place: it is the class's own",
         [](PeerReading& r) {
           if (!known(r) || is_bare_entry(r)) return;
           const bool unseen = is_unseen(r.wording.base, r.wording.base_key, keys(r.model_type).base) &&
                               !(reads(r) == Reads::one && r.wording.dictionary_base);
           if (unseen || (reads(r) == Reads::entries && r.wording.base == RopePlace::top))
             r.base = own_base(r);
         }),
    rule("the part of the head is not read under this name or in this place: it is the class's own",
         [](PeerReading& r) {
           if (!known(r) || is_of<Proportional>(r) || (r.is_latent && !is(r, "deepseek_v4"))) return;
           const bool beside = r.wording.width == RopePlace::top;
           if (is_unseen(r.wording.width, r.wording.width_key, keys(r.model_type).width) ||
               (is(r, "gptj codegen") && !beside) || (is(r, "moonshine_streaming") && beside) ||
               (is(r, all_of_its_own) && beside && r.wording.scaling == RopePlace::nowhere) ||
               (reads(r) == Reads::entries && beside && !is(r, "diffusion_gemma_text")))
             set_width(r, own_width(r));
         }),
    rule("its own part of the head is that of the default type: scalings turn the whole head",
         [](PeerReading& r) {
           if (is(r, part_of_default) && is_scaled(r) && r.wording.width == RopePlace::nowhere)
             set_width(r, r.head_dim);
         }),
    rule("its own part of the head is that of a file without a dictionary: this one's turns the whole head",
         [](PeerReading& r) {
           if (is(r, part_of_silence) && r.wording.scaling != RopePlace::nowhere &&
               (r.wording.width == RopePlace::nowhere ||
                (r.wording.width == RopePlace::top && is(r, part_of_dictionary))))
             set_width(r, r.head_dim);
         }),
    refusal(
        "partial_rotary_factor: it makes frequencies for a part of the head, and its class turns the whole "
        "head with them, which fails",
        [](const PeerReading& r) {
          if (!known(r) || r.wording.width_key != "partial_rotary_factor" || is_of<Proportional>(r) ||
              r.rotary_dim == r.head_dim)
            return false;
          if (reads(r) == Reads::two && r.wording.width == RopePlace::rope_parameters) return false;
          if (reads(r) == Reads::entries && r.wording.width == RopePlace::top) return false;
          return is(r, fails_on_part) || (!is(r, reads_part) && is_scaled(r) && !is(r, "flint"));
        }),
    rule("its class turns half of the head, whatever the file says",
         [](PeerReading& r) {
           if (is(r, "bamba") && !is_of<Proportional>(r)) set_width(r, own_width(r));
         }),
    rule("its class turns the whole head: no key of a part of it is read",
         [](PeerReading& r) {
           if (!known(r) || is(r, reads_part) || r.is_latent || is_of<Proportional>(r)) return;
           if (r.wording.width == RopePlace::nowhere) return;
           if (!is(r, "flint") || !is_scaled(r)) set_width(r, r.head_dim);
         }),
    refusal("mrope_section: its class cuts the pairs into its own sections, which do not fit them",
            [](const PeerReading& r) {
              if (!known(r) || !has_one_axis(r)) return false;
              const Family& family = *family_of_model_type(r.model_type);
              const auto& sections = family.sections;
              return family.axis_order == AxisOrder::contiguous && sections[0] != 0 &&
                     sections[0] + sections[1] + sections[2] != r.rotary_dim / 2;
            }),
    rule("truncate in an entry of a layer type is not seen: the ends of the ramp are rounded",
         [](PeerReading& r) {
           auto* s = std::get_if<Yarn>(&r.scaling);
           if (s == nullptr) return;
           if (reads(r) == Reads::two || reads(r) == Reads::entries || is(r, "deepseek_v4") ||
               r.wording.scaling == RopePlace::layer_type)
             s->truncate = true;
         }),
};

}  // namespace

std::span<const PeerRule> transformers_rules() noexcept { return rules; }

}  // namespace rotary::impl
