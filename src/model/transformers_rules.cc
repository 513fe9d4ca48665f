// SPDX-License-Identifier: Apache-2.0
// What Transformers' classes do not look at. Source: Transformers 5.24, configuration_*.py, modeling_*.py and
// modeling_rope_utils.py; tests/data/transformers_matrix.json holds what each of them gives.
#include <algorithm>

#include "model/family.hpp"
#include "model/transformers_classes.hpp"

namespace rotary::impl {
namespace {

using namespace transformers;
using scaling::DynamicNtk, scaling::Llama3, scaling::LongRope, scaling::NtkAlpha, scaling::Proportional,
    scaling::Yarn;

bool is_scaled(const PeerReading& r) { return !std::holds_alternative<scaling::None>(r.scaling); }
template <class Type>
bool is_of(const PeerReading& r) {
  return std::holds_alternative<Type>(r.scaling);
}
bool computes_with_head_dim(const PeerReading& r) {
  return is_of<Yarn>(r) || is_of<DynamicNtk>(r) || is_of<NtkAlpha>(r) || is_of<LongRope>(r);
}
/// Its part of the head is null in the dictionary that its class computes with.
bool computes_with_null(const PeerReading& r) {
  const RopePlace place = r.wording.null_part;
  if (!known(r) || place == RopePlace::nowhere || place == RopePlace::top || is_passed_over(r, place))
    return false;
  if (is(r, "deepseek_v4") && place != RopePlace::layer_type) return false;
  return is_scaled(r) || is(r, reads_part) || is(r, fails_on_part);
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
           if (r.wording.base() == RopePlace::rope_parameters) r.base = own_base(r);
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
           if (!r.wording.has_both) r.scaling = scaling::None{};
           if (r.wording.base() == RopePlace::rope_scaling) r.base = own_base(r);
         }),
    rule("rope_scaling stands beside rope_parameters, of which its class then reads nothing",
         [](PeerReading& r) {
           if (reads(r) != Reads::one || !r.wording.has_both || is(r, "cohere2_moe")) return;
           if (r.wording.base() == RopePlace::rope_parameters) r.base = own_base(r);
           if (r.wording.width == RopePlace::rope_parameters && !r.is_latent)
             set_width(r, is(r, part_of_silence) ? r.head_dim : own_width(r));
         }),
    rule("in a dictionary without a base its class takes 10000",
         [](PeerReading& r) {
           const bool silent = r.wording.base() == RopePlace::nowhere ||
                               (r.wording.has_both && r.wording.base() == RopePlace::rope_parameters);
           if (is(r, "muse_spark_text") && r.wording.scaling != RopePlace::nowhere && silent) r.base = 10000;
         }),
    refusal("qk_rope_head_dim: its class makes frequencies for 64 lanes unless head_dim says otherwise",
            [](const PeerReading& r) {
              return is(r, "longcat_flash") && !r.wording.outer_head_dim && r.rotary_dim != 64;
            }),
    refusal("head_dim of null: its class wants a number",
            [](const PeerReading& r) {
              return r.wording.null_head_dim &&
                     (is(r, wants_number) || (is(r, null_is_divided) && computes_with_head_dim(r)));
            }),
    refusal("head_dim: its class lets nobody set it, and fails",
            [](const PeerReading& r) {
              return is(r, "falcon") && (r.wording.null_head_dim || r.wording.outer_head_dim);
            }),
    refusal("head_dim: its class takes it for qk_nope_head_dim + qk_rope_head_dim, which say otherwise",
            [](const PeerReading& r) {
              const double lanes = static_cast<double>(r.head_dim);
              return is(r, "mistral4") && r.wording.outer_head_dim.value_or(lanes) != lanes;
            }),
    refusal("head_dim: its class takes it for the lanes that turn, of which qk_rope_head_dim says otherwise",
            [](const PeerReading& r) {
              const double lanes = static_cast<double>(r.rotary_dim);
              return is(r, turns_head_dim) && r.wording.outer_head_dim.value_or(lanes) != lanes;
            }),
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
           if (r.wording.base() != RopePlace::top || !is(r, "esm")) r.base = own_base(r);
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
                     !r.wording.states_sections;
            }),

    refusal("rope_scaling of null: its class looks into it, and fails",
            [](const PeerReading& r) { return reads(r) == Reads::entries && r.wording.null_scaling; }),
    refusal("rope_parameters without rope_theta: its class does not find one, and fails",
            [](const PeerReading& r) {
              return is(r, "cohere2_moe") && r.wording.scaling == RopePlace::rope_parameters &&
                     std::ranges::count(r.wording.bases, RopePlace::rope_parameters, &RopeKey::place) == 0;
            }),

    // Which types there are.
    refusal("its class does not know the word of this type",
            [](const PeerReading& r) {
              const RopePlace place = r.wording.scaling;
              const std::string& word = r.wording.type;
              if (!known(r) || !lists(older_words, word) || is_passed_over(r, place)) return false;
              if (reads(r) == Reads::two && r.wording.old_word) return false;
              return !(word == "mrope" && is(r, knows_mrope)) && !(word == "su" && is(r, knows_su));
            }),
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
    refusal("partial_rotary_factor of null: its class computes with it as it stands, and fails",
            [](const PeerReading& r) {
              return computes_with_null(r) || (r.wording.null_part == RopePlace::top &&
                                               r.wording.width == RopePlace::nowhere && is(r, null_fails));
            }),
    rule("proportional without a part of the head has its class's own",
         [](PeerReading& r) {
           auto* s = std::get_if<Proportional>(&r.scaling);
           if (s != nullptr && is(r, part_of_all) && r.wording.width == RopePlace::nowhere &&
               r.wording.null_part == RopePlace::nowhere)
             s->partial_rotary_factor = own_part(r);
         }),
    {of(Peer::transformers), "proportional: not known what DeepSeek-V4 turns with it", nullptr,
     [](const PeerReading& r) { return is(r, "deepseek_v4") && is_of<Proportional>(r); }, false},
    refusal("proportional: it turns the whole head, and its class's attention a part of it, which fails",
            [](const PeerReading& r) {
              const auto* s = std::get_if<Proportional>(&r.scaling);
              return is(r, narrows) && s != nullptr && s->partial_rotary_factor != 1;
            }),
    refusal("xdrope_section: its class gives the two lanes of a pair to different axes, which is no rotation",
            [](const PeerReading& r) { return is(r, "hunyuan_vl hunyuan_vl_text") && !has_one_axis(r); }),

    // The original length.
    refusal("original_max_position_embeddings of null: its class computes with it as it stands, and fails",
            [](const PeerReading& r) {
              const RopePlace place = r.wording.null_original_length;
              const bool uses_it = is_of<Yarn>(r) || is_of<Llama3>(r) || is_of<LongRope>(r);
              if (!known(r) || place == RopePlace::nowhere || !uses_it || is_passed_over(r, place))
                return false;
              if (place == RopePlace::top) return reads(r) == Reads::one && !is(r, "deepseek_v4");
              return !is(r, "phi3 phi4_multimodal");
            }),
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
           if (known(r) && !is_bare_entry(r) && has_unseen_base(r)) r.base = own_base(r);
         }),
    rule("the part of the head is not read under this name or in this place: it is the class's own",
         [](PeerReading& r) {
           if (!known(r) || is_of<Proportional>(r) || (r.is_latent && !is(r, "deepseek_v4"))) return;
           const bool beside = r.wording.width == RopePlace::top;
           const bool flat =
               r.wording.width == RopePlace::rope_scaling || r.wording.width == RopePlace::rope_parameters;
           if (has_unseen_width(r) || (is(r, "gptj codegen") && !beside) || (is(r, "deepseek_v4") && flat) ||
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
               (r.wording.width == RopePlace::nowhere || has_unseen_width(r) ||
                (r.wording.width == RopePlace::top && is(r, "laguna"))))
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
    rule("a partial_rotary_factor of null keeps the class's own part out: it turns the whole head",
         [](PeerReading& r) {
           if (r.wording.null_part == RopePlace::top && r.wording.width == RopePlace::nowhere &&
               is(r, null_is_whole) && !is_of<Proportional>(r))
             set_width(r, r.head_dim);
         }),
    rule("its class turns half of the head, whatever stands beside its dictionary",
         [](PeerReading& r) {
           if (is(r, "bamba") && !is_of<Proportional>(r) &&
               (r.wording.width == RopePlace::nowhere || r.wording.width == RopePlace::top))
             set_width(r, own_width(r));
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
    rule("A is YaRN's own where attention_factor is null, and in an entry of a layer type that has none",
         [](PeerReading& r) {
           auto* s = std::get_if<Yarn>(&r.scaling);
           if (s != nullptr && is(r, "deepseek_v4") && r.wording.settled_magnitude &&
               (r.wording.null_magnitude || r.wording.scaling == RopePlace::layer_type))
             s->attention_factor.reset();
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
