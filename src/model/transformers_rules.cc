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

/// Models whose code comes with their files.
constexpr std::string_view with_own_code =
    "internlm internlm2 internlm3 baichuan xverse minicpm deepseek voxtral_text qwen orion phi3_v plamo "
    "exaone phi-msft "
    "mimo_v2 chatglm kimi_k2 openpangu_vl";
constexpr std::string_view modern_bert = "modernbert modernbert-decoder";
constexpr std::string_view reads_two =
    "gemma3_text gemma3 gemma3n_text gemma3n t5gemma2_text t5gemma2_decoder olmo3 modernbert "
    "modernbert-decoder step3p5";
constexpr std::string_view reads_entries =
    "gemma4_text gemma4 gemma4_unified_text diffusion_gemma_text embedding_gemma2_text mimo_v2_flash laguna "
    "mellum";

/// Their default type turns partial_rotary_factor of the head; that of all others the whole head.
constexpr std::string_view reads_part =
    "bamba glm glm4 glm4_moe glm4v_text glm4v glm4v_moe_text glm4v_moe glm_image_text glm_ocr_text glm_ocr "
    "gpt_neox "
    "gpt_neox_japanese minimax_m2 minimax_m3_vl_text moonshine moonshine_streaming nemotron persimmon phi "
    "phi3 "
    "phi4_multimodal qwen3_5_text qwen3_5_moe_text qwen3_next qwen4_exp_text recurrent_gemma stablelm laguna "
    "mellum "
    "mimo_v2_flash diffusion_gemma_text step3p5 deepseek_v4 gptj codegen";
/// They make frequencies for a part of the head, and turn the whole of it with them.
constexpr std::string_view fails_on_part = "solar_open glm4_moe_lite mellum";
/// Their own part of the head is for the default type alone.
constexpr std::string_view part_of_default = "mimo_v2_flash";
/// Their own part of the head is for files without a dictionary.
constexpr std::string_view part_of_silence = "moonshine_streaming laguna";
/// Their attention takes partial_rotary_factor for a width, whatever the type.
constexpr std::string_view narrows = "gpt_neox_japanese persimmon phi stablelm";

/// Keys beside the dictionaries that a class reads, where they are not rope_theta and partial_rotary_factor.
struct KeysOf {
  std::string_view model_types, base, width;
};
constexpr KeysOf keys_of[] = {
    {"gpt_neox gpt_neox_japanese", "rotary_emb_base", "rotary_pct"},
    {"gptj codegen", "", "rotary_dim"},
    {"minimax_m2", "rope_theta", "partial_rotary_factor rotary_dim"},
    {"gemma3_text gemma3 gemma3n_text gemma3n t5gemma2_text t5gemma2_decoder",
     "rope_theta rope_local_base_freq", "partial_rotary_factor"},
    {"modernbert modernbert-decoder", "global_rope_theta local_rope_theta", "partial_rotary_factor"},
    {"step3p5", "rope_theta", "partial_rotary_factors"},
    {"deepseek_v4", "rope_theta compress_rope_theta", "partial_rotary_factor qk_rope_head_dim"},
};
KeysOf keys(std::string_view model_type) {
  const auto found =
      std::ranges::find_if(keys_of, [&](const KeysOf& k) { return lists(k.model_types, model_type); });
  return found == std::end(keys_of) ? KeysOf{model_type, "rope_theta", "partial_rotary_factor"} : *found;
}

/// Without a dictionary they do not look at a base or a part of the head beside it either.
constexpr std::string_view all_of_its_own = "muse_spark_text moonshine_streaming";

Reads reads(const PeerReading& r) {
  const Family* family = family_of_model_type(r.model_type);
  if (!r.is_config || !r.is_of_text || family == nullptr || lists(with_own_code, r.model_type))
    return Reads::elsewhere;
  if (lists(reads_two, r.model_type)) return Reads::two;
  return lists(reads_entries, r.model_type) ? Reads::entries : Reads::one;
}

bool is_local(const PeerReading& r) { return r.rope_name == "local"; }
bool is_scaled(const PeerReading& r) { return !std::holds_alternative<scaling::None>(r.scaling); }

bool has_one_axis(const PeerReading& r) {
  return std::ranges::all_of(r.axis, [](auto axis) { return axis == 0; });
}

/// The pairs of another width follow the family's own sections, where those fit.
void set_width(PeerReading& r, std::int64_t lanes) {
  if (lanes == r.rotary_dim) return;
  if (!has_one_axis(r)) {
    r.refusal = "mrope_section: its pairs are not those of the lanes that its class turns";
    return;
  }
  const Family& family = *family_of_model_type(r.model_type);
  std::array<std::int64_t, 3> sections = family.sections;
  if (r.rotary_offset > 0) r.rotary_offset = r.head_dim - lanes;
  r.rotary_dim = lanes;
  r.axis.assign(static_cast<std::size_t>(lanes / 2), 0);
  if (sections[0] == 0 || sections[0] + sections[1] + sections[2] != lanes / 2) return;
  if (family.time_section_last) std::ranges::rotate(sections, sections.end() - 1);
  if (const auto axes = axis_map(family.axis_order, sections)) r.axis = *axes;
}

double own_base(const PeerReading& r) {
  const Family& family = *family_of_model_type(r.model_type);
  if (r.rope_name == "compress" && family.compress_base) return *family.compress_base;
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
    r.scaling = scaling::Proportional{.partial_rotary_factor = *family.global_part};
}

/// A key of the config itself, or of a dictionary.
bool is_beside(RopePlace place, const std::string& key, std::string_view read) {
  return place == RopePlace::top && !lists(read, key);
}

template <Peer who = Peer::transformers>
constexpr PeerRule rule(std::string_view sentence, void (*apply)(PeerReading&)) {
  return {of(who), sentence, apply};
}

constexpr PeerRule rules[] = {
    // Which dictionary is read.
    rule("",
         [](PeerReading& r) {
           if (reads(r) == Reads::one && r.rope_name != "main" && r.rope_name != "compress" &&
               r.wording.scaling == RopePlace::layer_type) {
             r.refusal =
                 "rope_parameters by layer type: its class has one rope for all layers, and does not find it "
                 "there";
           }
         }),
    rule("",
         [](PeerReading& r) {
           const bool flat = r.wording.scaling == RopePlace::rope_parameters ||
                             r.wording.scaling == RopePlace::rope_scaling;
           const bool bert =
               lists(modern_bert, r.model_type) && r.wording.scaling == RopePlace::rope_parameters;
           if (bert || (reads(r) == Reads::entries && flat))
             r.refusal =
                 "one dictionary for all layers: its class looks for entries by layer type, and fails";
         }),
    rule("its class reads rope_parameters by layer type, and nothing of one for all layers",
         [](PeerReading& r) {
           if (reads(r) != Reads::two) return;
           if (r.wording.scaling == RopePlace::rope_parameters) take_own_scaling(r);
           if (r.wording.base == RopePlace::rope_parameters) r.base = own_base(r);
           if (r.wording.width == RopePlace::rope_parameters) set_width(r, own_width(r));
         }),
    rule("of one rope_parameters for both ropes its class reads the scaling alone",
         [](PeerReading& r) {
           if (r.model_type != "deepseek_v4" || r.wording.scaling == RopePlace::layer_type) return;
           if (r.wording.base == RopePlace::rope_parameters) r.base = own_base(r);
           if (r.wording.width == RopePlace::rope_parameters) set_width(r, own_width(r));
           if (std::holds_alternative<scaling::Proportional>(r.scaling))
             r.refusal =
                 "proportional in one rope_parameters for both ropes: its class loses its "
                 "partial_rotary_factor";
         }),
    rule("its class writes rope_scaling over an entry that has a rope_type already, so the older word type "
         "is not seen: "
         "no scaling",
         [](PeerReading& r) {
           if (reads(r) == Reads::two && r.wording.scaling == RopePlace::rope_scaling && r.wording.old_word)
             take_own_scaling(r);
         }),
    rule("its class does not read rope_scaling",
         [](PeerReading& r) {
           if (r.model_type == "cohere2_moe" && r.wording.scaling == RopePlace::rope_scaling)
             r.scaling = scaling::None{};
         }),
    rule("its class has no scaling",
         [](PeerReading& r) {
           if (reads(r) == Reads::elsewhere || !lists("esm gptj codegen", r.model_type)) return;
           const bool llama3 = std::holds_alternative<scaling::Llama3>(r.scaling);
           const bool yarn = std::holds_alternative<scaling::Yarn>(r.scaling);
           if (r.model_type == "esm" && ((llama3 && r.wording.scaling == RopePlace::rope_scaling) ||
                                         (yarn && r.wording.original_length != r.wording.scaling))) {
             r.refusal = "its class has no scaling, and its check of the dictionary misses a key";
           }
           r.scaling = scaling::None{};
           if (r.wording.base != RopePlace::top) r.base = own_base(r);
         }),
    rule("without a dictionary its class takes its own base",
         [](PeerReading& r) {
           if (reads(r) == Reads::one && lists(all_of_its_own, r.model_type) &&
               r.wording.scaling == RopePlace::nowhere)
             r.base = own_base(r);
         }),

    // Which types there are.
    rule("",
         [](PeerReading& r) {
           const bool default_alone =
               lists("recurrent_gemma ernie4_5_vl_moe_text ernie4_5_vl_moe", r.model_type);
           if (reads(r) == Reads::one && default_alone && is_scaled(r))
             r.refusal = "its class runs the default type alone";
         }),
    rule("",
         [](PeerReading& r) {
           const auto* s = std::get_if<scaling::LongRope>(&r.scaling);
           if (lists("phi3 phi4_multimodal phimoe", r.model_type) && is_scaled(r) && s == nullptr)
             r.refusal = "its class runs longrope and the default type alone";
           if (r.model_type == "phimoe" && s != nullptr && !(s->short_mscale && s->long_mscale))
             r.refusal = "longrope: its class wants short_mscale and long_mscale";
         }),
    rule("",
         [](PeerReading& r) {
           if (reads(r) == Reads::one && lists(narrows, r.model_type) &&
               std::holds_alternative<scaling::Proportional>(r.scaling))
             r.refusal =
                 "proportional: it turns the whole head, and its class's attention a part of it, which fails";
         }),

    rule("",
         [](PeerReading& r) {
           if (reads(r) == Reads::one && lists("hunyuan_vl hunyuan_vl_text", r.model_type) &&
               !has_one_axis(r))
             r.refusal =
                 "xdrope_section: its class gives the two lanes of a pair to different axes, which is no "
                 "rotation";
         }),

    // The original length.
    rule("original_max_position_embeddings beside the dictionary is not seen: max_position_embeddings stands "
         "for it",
         [](PeerReading& r) {
           const bool nested = reads(r) == Reads::two || r.model_type == "deepseek_v4";
           if (!nested || r.wording.original_length != RopePlace::top || !r.context) return;
           if (r.model_type == "step3p5") return;
           std::visit(
               [&](auto& type) {
                 if constexpr (requires { type.original_max_position_embeddings = 1.0; })
                   type.original_max_position_embeddings = static_cast<double>(*r.context);
               },
               r.scaling);
         }),
    rule("original_max_position_embeddings is 4096 unless it stands beside the dictionary",
         [](PeerReading& r) {
           auto* s = std::get_if<scaling::LongRope>(&r.scaling);
           if (lists("phi3 phi4_multimodal", r.model_type) && s != nullptr &&
               r.wording.original_length != RopePlace::top)
             s->original_max_position_embeddings = 4096;
         }),
    rule("",
         [](PeerReading& r) {
           if (r.model_type == "step3p5" && std::holds_alternative<scaling::Yarn>(r.scaling) &&
               (r.wording.original_length == RopePlace::top ||
                r.wording.original_length == RopePlace::nowhere))
             r.refusal = "original_max_position_embeddings: its class wants it in the dictionary";
         }),

    // The base and the part of the head.
    rule("the base is not read under this name or in this place: it is the class's own",
         [](PeerReading& r) {
           if (reads(r) == Reads::elsewhere) return;
           const bool unseen = is_beside(r.wording.base, r.wording.base_key, keys(r.model_type).base);
           if (unseen || (reads(r) == Reads::entries && r.wording.base == RopePlace::top))
             r.base = own_base(r);
           if (lists("gptj codegen", r.model_type)) r.base = 10000;
         }),
    rule("the part of the head is not read under this name or in this place: it is the class's own",
         [](PeerReading& r) {
           if (reads(r) == Reads::elsewhere || std::holds_alternative<scaling::Proportional>(r.scaling))
             return;
           if (r.is_latent && r.model_type != "deepseek_v4") return;
           const bool unseen = is_beside(r.wording.width, r.wording.width_key, keys(r.model_type).width) ||
                               (lists("gptj codegen", r.model_type) && r.wording.width != RopePlace::top) ||
                               (r.model_type == "moonshine_streaming" && r.wording.width == RopePlace::top);
           const bool entry = reads(r) == Reads::entries && r.wording.width == RopePlace::top &&
                              r.model_type != "diffusion_gemma_text";
           if (unseen || entry) set_width(r, own_width(r));
         }),
    rule("its own part of the head is that of the default type: scalings turn the whole head",
         [](PeerReading& r) {
           if (reads(r) != Reads::elsewhere && lists(part_of_default, r.model_type) && is_scaled(r) &&
               r.wording.width == RopePlace::nowhere)
             set_width(r, r.head_dim);
         }),
    rule("its own part of the head is that of a file without a dictionary: this one's turns the whole head",
         [](PeerReading& r) {
           if (reads(r) != Reads::elsewhere && lists(part_of_silence, r.model_type) &&
               r.wording.scaling != RopePlace::nowhere &&
               (r.wording.width == RopePlace::nowhere || r.wording.width == RopePlace::top))
             set_width(r, r.head_dim);
         }),
    rule("its class turns the whole head: no key of a part of it is read",
         [](PeerReading& r) {
           if (reads(r) == Reads::elsewhere) return;
           const bool part = r.wording.width != RopePlace::nowhere &&
                             r.wording.width_key == "partial_rotary_factor" &&
                             !(reads(r) == Reads::two && r.wording.width == RopePlace::rope_parameters) &&
                             !(reads(r) == Reads::entries && r.wording.width == RopePlace::top);
           const bool proportional = std::holds_alternative<scaling::Proportional>(r.scaling);
           const bool whole = !lists(reads_part, r.model_type);
           if (r.model_type == "flint" && is_scaled(r))
             return;  // its attention takes whatever width there is
           if (part && !proportional && ((whole && is_scaled(r)) || (lists(fails_on_part, r.model_type)))) {
             r.refusal =
                 "partial_rotary_factor: it makes frequencies for a part of the head, and its class turns "
                 "the whole "
                 "head with them, which fails";
           } else if (whole && !r.is_latent && !proportional) {
             set_width(r, r.head_dim);
           }
         }),

    rule("",
         [](PeerReading& r) {
           const Family* family = family_of_model_type(r.model_type);
           if (reads(r) == Reads::elsewhere || family->axis_order != AxisOrder::contiguous ||
               !has_one_axis(r))
             return;
           const auto& sections = family->sections;
           if (sections[0] != 0 && sections[0] + sections[1] + sections[2] != r.rotary_dim / 2)
             r.refusal =
                 "mrope_section: its class cuts the pairs into its own sections, which do not fit them";
         }),

    rule("truncate in an entry of a layer type is not seen: the ends of the ramp are rounded",
         [](PeerReading& r) {
           auto* s = std::get_if<scaling::Yarn>(&r.scaling);
           const bool nested = reads(r) == Reads::two || reads(r) == Reads::entries ||
                               r.model_type == "deepseek_v4" || r.wording.scaling == RopePlace::layer_type;
           if (s != nullptr && nested && !r.is_gguf) s->truncate = true;
         }),
};

}  // namespace

std::span<const PeerRule> transformers_rules() noexcept { return rules; }

}  // namespace rotary::impl
