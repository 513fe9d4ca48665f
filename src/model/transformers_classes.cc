// SPDX-License-Identifier: Apache-2.0
#include "model/transformers_classes.hpp"

#include <algorithm>
#include <array>

#include "model/family.hpp"

namespace rotary::impl::transformers {
namespace {

// clang-format off
/// Models whose code comes with their files.
constexpr std::string_view with_own_code =
    "internlm internlm2 internlm3 baichuan xverse minicpm deepseek voxtral_text qwen orion phi3_v plamo exaone phi-msft "
    "mimo_v2 chatglm kimi_k2 openpangu_vl";
constexpr std::string_view reads_two =
    "gemma3_text gemma3 gemma3n_text gemma3n t5gemma2_text t5gemma2_decoder olmo3 modernbert modernbert-decoder step3p5";
constexpr std::string_view reads_entries =
    "gemma4_text gemma4 gemma4_unified_text diffusion_gemma_text embedding_gemma2_text mimo_v2_flash laguna mellum";

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

const Family& family_of(const PeerReading& r) { return *family_of_model_type(r.model_type); }

}  // namespace

Reads reads(const PeerReading& r) {
  if (!r.is_config || !r.is_of_text || family_of_model_type(r.model_type) == nullptr ||
      lists(with_own_code, r.model_type))
    return Reads::elsewhere;
  if (lists(reads_two, r.model_type)) return Reads::two;
  return lists(reads_entries, r.model_type) ? Reads::entries : Reads::one;
}

bool known(const PeerReading& r) { return reads(r) != Reads::elsewhere; }
bool is(const PeerReading& r, std::string_view model_types) {
  return known(r) && lists(model_types, r.model_type);
}
bool is_local(const PeerReading& r) { return r.rope_name == "local"; }
bool is_bare_entry(const PeerReading& r) {
  return reads(r) == Reads::entries && r.wording.scaling == RopePlace::layer_type &&
         r.wording.base() != RopePlace::layer_type;
}

bool is_passed_over(const PeerReading& r, RopePlace dictionary) {
  if (is(r, "esm gptj codegen") || (is(r, "cohere2_moe") && dictionary == RopePlace::rope_scaling))
    return true;
  if (dictionary != RopePlace::rope_parameters || is(r, "cohere2_moe")) return false;
  return r.wording.has_both || reads(r) == Reads::two;
}

bool has_unseen_base(const PeerReading& r) {
  if (r.wording.base() != RopePlace::top) return false;
  return reads(r) == Reads::entries || std::ranges::none_of(r.wording.bases, [&](const RopeKey& k) {
           return k.place == RopePlace::top ? lists(keys(r.model_type).base, k.key)
                                            : !is_passed_over(r, k.place);
         });
}

bool has_unseen_width(const PeerReading& r) {
  return r.wording.width == RopePlace::top && !lists(keys(r.model_type).width, r.wording.width_key);
}

double own_base(const PeerReading& r) {
  const Family& family = family_of(r);
  return is_local(r) && family.local_base ? *family.local_base : family.base.value_or(10000);
}

double own_part(const PeerReading& r) {
  const Family& family = family_of(r);
  return is_local(r) && family.local_partial ? *family.local_partial : family.partial;
}

std::int64_t own_width(const PeerReading& r) {
  if (family_of(r).rotary_dim != 0) return family_of(r).rotary_dim;
  return static_cast<std::int64_t>(static_cast<double>(r.head_dim) * own_part(r));
}

void take_own_scaling(PeerReading& r) {
  const auto part = family_of(r).global_part;
  r.scaling = scaling::None{};
  if (part && !is_local(r)) r.scaling = scaling::Proportional{.partial_rotary_factor = *part};
}

bool has_one_axis(const PeerReading& r) {
  return std::ranges::all_of(r.axis, [](auto axis) { return axis == 0; });
}

void set_width(PeerReading& r, std::int64_t lanes) {
  if (lanes == r.rotary_dim) return;
  const Family& family = family_of(r);
  const bool in_turns = family.axis_order == AxisOrder::interleaved && lanes > r.rotary_dim;
  if (!has_one_axis(r) && !in_turns) {
    r.is_refused = true;  // stated sections cover the lanes of the file, and no others
    return;
  }
  if (r.rotary_offset > 0) r.rotary_offset = r.head_dim - lanes;
  r.rotary_dim = lanes;
  // Sections in turns cover the first pairs, however many there are.
  if (!has_one_axis(r)) return r.axis.resize(static_cast<std::size_t>(lanes / 2), 0);
  r.axis.assign(static_cast<std::size_t>(lanes / 2), 0);
  std::array<std::int64_t, 3> sections = family.sections;
  if (sections[0] == 0 || sections[0] + sections[1] + sections[2] != lanes / 2) return;
  if (family.time_section_last) std::rotate(sections.begin(), sections.end() - 1, sections.end());
  if (const auto axes = axis_map(family.axis_order, sections)) r.axis = *axes;
}

}  // namespace rotary::impl::transformers
