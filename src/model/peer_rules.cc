// SPDX-License-Identifier: Apache-2.0
// Sources: Transformers 5.24 modeling_rope_utils.py; vLLM 0.32's and SGLang's rotary_embedding/, mlx-lm 0.32
// rope_utils.py; llama.cpp's llama-context.cpp, the loaders of its models and its converters.
#include "model/peer_rules.hpp"

#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "model/family.hpp"

namespace rotary::impl {
namespace {

constexpr auto transformers = Peer::transformers;
constexpr auto llama_cpp = Peer::llama_cpp;
constexpr auto vllm = Peer::vllm;
constexpr auto sglang = Peer::sglang;
constexpr auto mlx = Peer::mlx;

using scaling::DeepseekYarn, scaling::DynamicNtk, scaling::LongRope, scaling::Telechat3Yarn, scaling::Yarn;

template <class Type>
Type* get(PeerReading& r) {
  return std::get_if<Type>(&r.scaling);
}

/// YaRN, if its magnitude is for the keys of the file to say.
Yarn* keyed_yarn(PeerReading& r) { return r.wording.settled_magnitude ? nullptr : get<Yarn>(r); }

/// llama.cpp's loaders of these read every YaRN key; the others know two lengths and a factor.
bool loads_all_yarn_keys(const PeerReading& r) {
  return r.model_type == "mistral3" || r.model_type == "ministral3" || r.model_type == "grok";
}

/// Three axes that begin time, height, width: ggml's IMROPE.
bool takes_turns(const std::vector<std::uint8_t>& axis) {
  return axis.size() > 2 && axis[0] == 0 && axis[1] == 1 && axis[2] == 2;
}

bool is_encoder(const PeerReading& r) { return !r.is_of_text; }

DeepseekYarn deepseek(const Yarn& s) {
  return {.factor = s.factor,
          .original_max_position_embeddings = s.original_max_position_embeddings,
          .beta_fast = s.beta_fast,
          .beta_slow = s.beta_slow,
          .attn_factor = s.attn_factor,
          .mscale = s.mscale.value_or(1),
          .mscale_all_dim = s.mscale_all_dim.value_or(0)};
}

/// g of YaRN.
double magnitude(double factor, double m) { return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1; }

/// A by the two lengths alone, where the file has both.
void by_lengths(PeerReading& r) {
  auto* s = get<LongRope>(r);
  const auto context = s->max_position_embeddings ? s->max_position_embeddings
                       : r.context                ? std::optional(static_cast<double>(*r.context))
                                                  : std::nullopt;
  if (!context) return;
  s->max_position_embeddings = context;
  s->factor.reset();
  s->attention_factor.reset();
}

bool is_long(const LongRope& s, const PeerReading& r) {
  return static_cast<double>(r.length.value_or(0)) > s.original_max_position_embeddings;
}

constexpr PeerRule rules[] = {
    {of(mlx), "it has no encoders of images or sound", nullptr, is_encoder},
    {of(llama_cpp, vllm, sglang), "not known: nothing is described here of its encoders of images or sound",
     nullptr, is_encoder, false},
    {of(transformers, llama_cpp, vllm, sglang, mlx), "a generator of images or video, which diffusers runs",
     nullptr, [](const PeerReading& r) { return r.is_generator; }},
    // YaRN. First what the description is taken for, then its keys.
    {of(transformers, vllm), "attn_factor is no key of its own: A is the formula alone",
     [](PeerReading& r) {
       if (auto* s = keyed_yarn(r)) s->attn_factor = 1;
     }},
    {of(vllm, sglang),
     "latent attention is taken for deepseek_yarn: A = attn_factor g(mscale) / g(mscale_all_dim), where "
     "mscale is 1 and mscale_all_dim 0 unless stated; attention_factor and truncate are not read",
     [](PeerReading& r) {
       if (auto* s = keyed_yarn(r); s != nullptr && r.is_latent) r.scaling = deepseek(*s);
     }},
    {of(mlx),
     "telechat3-yarn is taken for plain YaRN: 0.1 in A where the type has 0.07, and the factor of the file",
     [](PeerReading& r) {
       if (auto* s = get<Telechat3Yarn>(r)) {
         r.original_length_assumed = !s->original_max_position_embeddings;
         r.scaling =
             Yarn{.factor = s->factor,
                  .original_max_position_embeddings = s->original_max_position_embeddings.value_or(4096),
                  .beta_fast = s->beta_fast,
                  .beta_slow = s->beta_slow,
                  .attn_factor = s->attn_factor};
       }
     }},
    {of(mlx), "without original_max_position_embeddings it takes 4096, whatever max_position_embeddings is",
     [](PeerReading& r) {
       if (auto* s = get<Yarn>(r); s != nullptr && r.original_length_assumed)
         s->original_max_position_embeddings = 4096;
     }},
    {of(sglang), "attention_factor is not handed on to YaRN, so A is its formula",
     [](PeerReading& r) {
       if (auto* s = keyed_yarn(r)) s->attention_factor.reset();
     }},
    {of(sglang), "plain YaRN has no softmax factor",
     [](PeerReading& r) {
       if (auto* s = keyed_yarn(r)) s->softmax_factor = 1;
     }},
    {of(llama_cpp), "attention_factor does not reach the file's loader: A is recomputed from the factor",
     [](PeerReading& r) {
       if (auto* s = keyed_yarn(r)) s->attention_factor.reset();
     }},
    {of(llama_cpp),
     "attn_factor of a config.json does not reach the loader; the key that multiplies A is "
     "rope.scaling.attn_factor of the GGUF",
     [](PeerReading& r) {
       if (auto* s = keyed_yarn(r); s != nullptr && !r.is_gguf) s->attn_factor = 1;
     }},
    {of(llama_cpp),
     "mscale is not stored, mscale_all_dim is (yarn_log_multiplier): A = g(log) / g(log), which is 1; "
     "0.1 ln(factor) + 1 without it",
     [](PeerReading& r) {
       auto* s = keyed_yarn(r);
       if (s == nullptr || !r.is_latent) return;
       s->mscale = s->mscale_all_dim.value_or(0) != 0 ? s->mscale_all_dim : std::nullopt;
     }},
    {of(llama_cpp), "the softmax factor of latent attention has A in it: (A g(mscale_all_dim))^2",
     [](PeerReading& r) {
       auto* s = keyed_yarn(r);
       if (s == nullptr || !r.is_latent) return;
       const double ratio = s->mscale ? 1 : magnitude(s->factor, 1);
       const double all_dim = magnitude(s->factor, s->mscale_all_dim.value_or(0));
       s->softmax_factor = std::pow(s->attn_factor * ratio * all_dim, 2);
     }},
    {of(llama_cpp), "mscale is taken to be 1 beside the stored mscale_all_dim (yarn_log_multiplier)",
     [](PeerReading& r) {
       auto* s = keyed_yarn(r);
       if (s == nullptr || r.is_latent || !loads_all_yarn_keys(r)) return;
       if (s->mscale_all_dim.value_or(0) != 0) s->mscale = 1;
     }},
    {of(llama_cpp),
     "mscale and mscale_all_dim are stored for DeepSeek's and Mistral 3's architectures alone: "
     "A = 0.1 ln(factor) + 1",
     [](PeerReading& r) {
       auto* s = keyed_yarn(r);
       if (s == nullptr || r.is_latent || r.is_gguf || loads_all_yarn_keys(r)) return;
       s->mscale.reset(), s->mscale_all_dim.reset(), s->softmax_factor = 1;
     }},
    {of(llama_cpp), "beta_fast is 32 and beta_slow 1 for this architecture, whatever the file says",
     [](PeerReading& r) {
       if (auto* s = get<Yarn>(r); s != nullptr && !loads_all_yarn_keys(r))
         s->beta_fast = 32, s->beta_slow = 1;
     }},
    {of(llama_cpp, mlx), "truncate cannot be switched off: the ends of the ramp are rounded outwards",
     [](PeerReading& r) {
       if (auto* s = get<Yarn>(r)) s->truncate = true;
     }},
    {of(mlx),
     "attention_factor and attn_factor are not read: A = g(mscale) / g(mscale_all_dim), where mscale is 1 "
     "and "
     "mscale_all_dim 0 unless stated",
     [](PeerReading& r) {
       if (auto* s = keyed_yarn(r)) {
         DeepseekYarn theirs = deepseek(*s);
         theirs.apply_yarn_scaling = r.is_latent;
         r.scaling = theirs;
       }
       if (auto* s = get<DeepseekYarn>(r)) s->attn_factor = 1;
     }},

    // Dynamic NTK.
    {of(vllm),
     "the length is not looked at: the maximum stands for the trained length, and the formula comes to no "
     "scaling at all",
     [](PeerReading& r) {
       if (get<DynamicNtk>(r) != nullptr) r.length.reset();
     }},
    {of(sglang), "the base is fixed once, as for factor times max_position_embeddings tokens",
     [](PeerReading& r) {
       if (auto* s = get<DynamicNtk>(r)) {
         const double most = std::round(s->factor * s->max_position_embeddings);
         if (most >= 1 && most < 9e15) r.length = static_cast<std::int64_t>(most);
       }
     }},

    // LongRoPE: A, then the list.
    {of(vllm, sglang, llama_cpp),
     "A is sqrt(1 + ln f / ln L) with f the ratio of the two lengths: factor and "
     "attention_factor are not read",
     [](PeerReading& r) {
       if (get<LongRope>(r) != nullptr && !r.is_gguf) by_lengths(r);
     }},
    {of(mlx), "A is sqrt(1 + ln f / ln L) with f the ratio of the two lengths: no key changes it",
     [](PeerReading& r) {
       if (auto* s = get<LongRope>(r)) s->short_mscale.reset(), s->long_mscale.reset(), by_lengths(r);
     }},
    {of(llama_cpp), "short_mscale and long_mscale are not stored",
     [](PeerReading& r) {
       if (auto* s = get<LongRope>(r)) s->short_mscale.reset(), s->long_mscale.reset();
     }},
    {of(transformers), "short_mscale and long_mscale are read for PhiMoE alone",
     [](PeerReading& r) {
       auto* s = get<LongRope>(r);
       if (s == nullptr || r.model_type == "phimoe") return;
       s->short_mscale.reset(), s->long_mscale.reset();
     }},
    {of(transformers), "PhiMoE's frequencies are those of the short list at every length; only A is switched",
     [](PeerReading& r) {
       auto* s = get<LongRope>(r);
       if (s == nullptr || r.model_type != "phimoe" || !is_long(*s, r)) return;
       s->short_mscale = s->long_mscale;
       r.length.reset();
     }},
    {of(vllm, llama_cpp),
     "the list is chosen once, by the configured maximum; without one given, by "
     "max_position_embeddings",
     [](PeerReading& r) {
       if (get<LongRope>(r) != nullptr && !r.length) r.length = r.context;
     }},
    {of(sglang), "the long list begins one token later, where a position is over the original length",
     [](PeerReading& r) {
       if (get<LongRope>(r) != nullptr && r.length && *r.length > 1) r.length = *r.length - 1;
     }},
    {of(mlx), "the long list is taken at every length",
     [](PeerReading& r) {
       auto* s = get<LongRope>(r);
       if (s == nullptr || is_long(*s, r)) return;
       const double longer = std::floor(s->original_max_position_embeddings) + 1;
       if (longer < 9e15) r.length = static_cast<std::int64_t>(longer);
     }},

    {of(vllm, sglang), "factor of proportional scaling is not read: the pairs that turn do so unscaled",
     [](PeerReading& r) {
       if (auto* s = get<scaling::Proportional>(r)) s->factor = 1;
     }},

    // Axes.
    {of(mlx), "M-RoPE runs as a plain rope: every pair follows the first axis",
     [](PeerReading& r) {
       if (r.is_of_text) std::ranges::fill(r.axis, std::uint8_t{0});
     }},
    {of(llama_cpp),
     "of M-RoPE in turns, the pairs that height and width leave over follow a fourth stream of positions, "
     "which is always 0: they stand still",
     [](PeerReading& r) {
       if (!r.is_of_text || !takes_turns(r.axis)) return;
       for (std::size_t i = 0; i < r.axis.size(); ++i) {
         if (r.axis[i] == 0 && i % 3 != 0) r.axis[i] = 3;
       }
     }},
};

/// The scaling types a peer's code has, by the names of this library.
struct PeerTypes {
  Peer peer;
  std::string_view names;
};
constexpr PeerTypes types[] = {
    {transformers, "default linear dynamic yarn longrope llama3 proportional ntk_alpha dinov3"},
    {llama_cpp, "default linear yarn longrope llama3 proportional ntk_alpha divided"},
    {vllm, "default linear dynamic yarn deepseek_yarn longrope llama3 proportional ntk ntk_alpha"},
    {sglang, "default linear dynamic yarn deepseek_yarn longrope llama3 proportional ntk_alpha"},
    {mlx,
     "default linear dynamic yarn deepseek_yarn telechat3-yarn longrope llama3 proportional ntk_alpha "
     "divided"},
};

constexpr PeerLengthRule length_rules[] = {
    {transformers, "dynamic", LengthRule::by_batch,
     "by the batch: recomputed when a longer sequence comes than ever before, for every row; cached keys "
     "keep the base "
     "they were turned with"},
    {vllm, "dynamic", std::nullopt, "not at all"},
    {sglang, "dynamic", LengthRule::by_maximum, "by factor times max_position_embeddings, once"},
    {mlx, "dynamic", LengthRule::by_sequence,
     "by the tokens so far, at every call; cached keys keep the base they were turned with"},
    {transformers, "longrope", LengthRule::by_batch,
     "by the batch, at every call: the long list for every row once one of them is over the original length"},
    {llama_cpp, "longrope", LengthRule::by_maximum, "by the context size given to a sequence, once"},
    {vllm, "longrope", LengthRule::by_maximum, "by the configured maximum length, once"},
    {sglang, "longrope", LengthRule::by_batch,
     "by the batch, at every call: the long list for every row once a position is over the original length"},
    {mlx, "longrope", std::nullopt, "not at all: the long list at every length"},
};

}  // namespace

std::span<const PeerRule> peer_rules() noexcept { return rules; }

Status check_peer_type(Peer peer, std::string_view scaling_type) {
  const auto known = std::ranges::find(types, peer, &PeerTypes::peer);
  if (known == std::end(types)) return invalid("peer: not one of the known ones");
  if (lists(known->names, scaling_type)) return {};
  return failure(StatusCode::unsupported, "scaling type ", scaling_type, ": ", name(peer),
                 " has none; it has ", known->names);
}

const PeerLengthRule* peer_length_rule(Peer peer, std::string_view scaling_type) noexcept {
  const auto found = std::ranges::find_if(length_rules, [&](const PeerLengthRule& r) {
    return r.peer == peer && r.scaling_type == scaling_type;
  });
  return found == std::end(length_rules) ? nullptr : &*found;
}

}  // namespace rotary::impl
