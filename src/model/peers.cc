// SPDX-License-Identifier: Apache-2.0
#include <rotary/model.hpp>

#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "base/names.hpp"
#include "model/peer_rules.hpp"
#include "model/readers.hpp"

namespace rotary {
namespace {

constexpr std::string_view peer_names[] = {"transformers", "llama.cpp", "vllm", "sglang", "mlx"};

bool same(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::max(std::fabs(a), std::fabs(b)); }

bool is_value(const ModelValue& value, std::size_t rope, std::string_view key) {
  return value.rope == rope && value.key == key;
}

bool is_of_encoder(const ModelRope& rope) { return rope.name.starts_with("vision") || rope.name == "time"; }

impl::PeerReading reading_of(const Model& model, std::size_t rope, std::optional<std::int64_t> length) {
  const ModelRope& entry = model.ropes()[rope];
  impl::PeerReading reading{.scaling = entry.rope.spectrum().scaling(), .length = length};
  reading.context = entry.context;
  reading.base = entry.rope.spectrum().base();
  reading.head_dim = entry.rope.head_dim();
  reading.rotary_dim = entry.rope.rotary_dim();
  reading.rotary_offset = entry.rope.rotary_offset();
  reading.model_type = model.model_type();
  reading.rope_name = entry.name;
  reading.wording = entry.wording;
  reading.is_gguf = model.source() == Model::Source::gguf;
  reading.is_config = model.source() == Model::Source::hf_config || model.source() == Model::Source::preset;
  reading.is_of_text = !is_of_encoder(entry);
  reading.is_generator = impl::is_generator(model.architecture());
  if (entry.name == "local") {
    const ModelRope* global = model.find_rope("global");
    reading.follows_scaled =
        global != nullptr && !std::holds_alternative<scaling::None>(global->rope.spectrum().scaling());
  }
  reading.is_latent = entry.rope.rotary_offset() > 0;
  reading.axis.assign(entry.rope.spectrum().axis().begin(), entry.rope.spectrum().axis().end());
  for (const ModelValue& value : model.values()) {
    if (is_value(value, rope, "original_max_position_embeddings"))
      reading.original_length_assumed = value.assumed;
  }
  return reading;
}

/// DeepSeek's own .json is for its own code: who has no such type runs the model by the config.json beside the weights,
/// which has the same numbers under YaRN's keys.
std::optional<Scaling> in_other_words(const Model& model, const Scaling& stated, Peer peer) {
  const auto* own = std::get_if<scaling::DeepseekYarn>(&stated);
  if (own == nullptr || model.source() != Model::Source::params || model.model_type() != "deepseek_v3" ||
      impl::check_peer_type(peer, own->name).ok()) {
    return std::nullopt;
  }
  return scaling::Yarn{.factor = own->factor,
                       .original_max_position_embeddings = own->original_max_position_embeddings,
                       .beta_fast = own->beta_fast,
                       .beta_slow = own->beta_slow,
                       .attn_factor = own->attn_factor,
                       .mscale = own->mscale,
                       .mscale_all_dim = own->mscale_all_dim};
}

/// Frequencies of the file's own have no formula to read otherwise, nor have schedules that were joined.
Result<Spectrum> spectrum_of(const Spectrum& stated, const impl::PeerReading& reading) {
  if (!reading.base || !stated.parts().empty()) return stated.with_axis(reading.axis);
  const auto made = Spectrum::make({.rotary_dim = reading.rotary_dim,
                                    .base = *reading.base,
                                    .scaling = reading.scaling,
                                    .length = reading.length});
  if (!made) return made;
  const auto divided = stated.divisors().empty() ? made : made->divided_by(stated.divisors());
  return divided ? divided->with_axis(reading.axis) : divided;
}

Result<Rope> rope_of(const Rope& rope, const impl::PeerReading& reading) {
  const auto spectrum = spectrum_of(rope.spectrum(), reading);
  if (!spectrum) return spectrum.status();
  return Rope::make({.spectrum = *spectrum,
                     .pairing = rope.pairing(),
                     .head_dim = rope.head_dim(),
                     .rotary_offset = reading.rotary_offset,
                     .direction = rope.direction(),
                     .policy = rope.policy()});
}

bool reads_the_same(const impl::PeerReading& a, const impl::PeerReading& b) {
  return a.scaling == b.scaling && a.base == b.base && a.rotary_dim == b.rotary_dim &&
         a.rotary_offset == b.rotary_offset && a.length == b.length && a.axis == b.axis;
}

bool changed(const Result<Rope>& before, const Result<Rope>& after) {
  return !before || !after || !difference(*before, *after, 0).none();
}

using Fields = std::vector<std::pair<std::string_view, ModelNumberOrText>>;

/// The fields of a scaling that hold a value.
Fields fields_of(const Scaling& scaling) {
  Fields held;
  const auto hold = [&](std::string_view key, const auto& field) {
    if constexpr (requires { *field; }) {
      if (field) held.emplace_back(key, *field);
    } else {
      held.emplace_back(key, field);
    }
  };
  std::visit([&](const auto& type) { type.fields(type, hold); }, scaling);
  return held;
}

/// The values of one rope in the peer's words: what it changed is from it.
void restate(std::vector<ModelValue>& values, std::size_t rope, const Scaling& before,
             const PeerRope& after) {
  const Spectrum& theirs = after.rope->spectrum();
  const std::string from = impl::message("as ", name(after.peer));
  Fields now = fields_of(theirs.scaling());
  now.insert(now.begin(), {"scaling", std::string(name(theirs.scaling()))});
  now.insert(now.begin(), {"rotary_dim", after.rope->rotary_dim()});
  if (after.rope->rotary_offset() != 0)
    now.insert(now.begin(), {"rotary_offset", after.rope->rotary_offset()});
  if (theirs.base()) now.insert(now.begin(), {"base", *theirs.base()});
  now.emplace_back("attention_factor", theirs.attention_factor());
  const auto is_kept = [&](std::string_view key) {
    return std::ranges::find(now, key, &Fields::value_type::first) != now.end();
  };
  for (const Fields::value_type& field : fields_of(before)) {
    std::erase_if(values,
                  [&](const auto& v) { return is_value(v, rope, field.first) && !is_kept(field.first); });
  }
  for (const Fields::value_type& field : now) {
    const ModelValue theirs_now{rope, std::string(field.first), field.second, from};
    const auto stated =
        std::ranges::find_if(values, [&](const auto& v) { return is_value(v, rope, field.first); });
    if (stated == values.end()) {
      values.push_back(theirs_now);
    } else if (stated->value != field.second) {
      *stated = theirs_now;
    }
  }
  for (const std::string& reason : after.reasons) {
    values.push_back({rope, std::string(name(after.peer)), reason, from});
  }
}

}  // namespace

std::string_view name(Peer peer) noexcept { return impl::name_at(peer_names, peer); }
std::optional<Peer> peer_from_name(std::string_view word) noexcept {
  return impl::find_name<Peer>(peer_names, word);
}

PeerDifference difference(const Rope& ours, const Rope& theirs, double position) noexcept {
  const Spectrum &a = ours.spectrum(), &b = theirs.spectrum();
  PeerDifference d;
  const auto ratio = [](double over, double under) { return same(over, under) ? 1.0 : over / under; };
  d.attention_factor = ratio(b.attention_factor(), a.attention_factor());
  d.softmax_factor = ratio(b.softmax_factor(), a.softmax_factor());
  if (a.pairs() != b.pairs()) {
    d.pairs = std::max(a.pairs(), b.pairs());
    return d;
  }
  for (std::size_t i = 0; i < a.inv_freq().size(); ++i) {
    const bool as_fast = same(a.inv_freq()[i], b.inv_freq()[i]);
    if (as_fast && a.axis()[i] == b.axis()[i]) continue;
    const double angle = as_fast ? 0 : position * (b.inv_freq()[i] - a.inv_freq()[i]);
    if (d.pairs++ == 0 || std::fabs(angle) > std::fabs(d.angle)) {
      d.worst_pair = static_cast<std::int64_t>(i);
      d.angle = angle;
    }
  }
  return d;
}

Result<Rope> Model::rope_at(std::size_t rope, std::int64_t length) const {
  if (rope >= ropes_.size()) {
    return impl::failure(StatusCode::out_of_range, origin_, ": rope ", rope, ": there are ", ropes_.size());
  }
  const Rope& stated = ropes_[rope].rope;
  return rope_of(stated, reading_of(*this, rope, length));
}

PeerRope Model::rope_as(Peer peer, std::size_t rope, std::optional<std::int64_t> length) const {
  if (rope >= ropes_.size()) {
    return {peer,
            impl::failure(StatusCode::out_of_range, origin_, ": rope ", rope, ": there are ", ropes_.size())};
  }
  const Rope& stated = ropes_[rope].rope;
  const auto other_words = in_other_words(*this, stated.spectrum().scaling(), peer);
  const std::string_view type = rotary::name(other_words ? *other_words : stated.spectrum().scaling());
  const bool is_text = !is_of_encoder(ropes_[rope]);  // what else stands in the way of an encoder, rules say
  if (Status status = impl::check_peer_type(peer, type); is_text && !status.ok()) return {peer, status};
  if (Status status = impl::check_peer_type(peer, "divided");
      !stated.spectrum().divisors().empty() && !status.ok())
    return {peer, status};
  impl::PeerReading reading = reading_of(*this, rope, length ? length : length_);
  if (other_words) reading.scaling = *other_words;
  PeerRope result{peer, rope_of(stated, reading)};
  if (other_words) {
    result.reasons.emplace_back(
        "DeepSeek's own file is not read; the config.json of the model states it as yarn, with mscale and "
        "mscale_all_dim");
  }
  for (const auto rules : {impl::transformers_rules(), impl::peer_rules()}) {
    for (const impl::PeerRule& rule : rules) {
      if (!rule.is_of(peer)) continue;
      if (rule.is_refused != nullptr) reading.is_refused = rule.is_refused(reading);
      const impl::PeerReading before = reading;
      if (rule.apply != nullptr) rule.apply(reading);
      if (reading.is_refused) {
        PeerRope refused{peer, impl::failure(StatusCode::unsupported, rule.sentence)};
        refused.is_known = rule.is_known;
        return refused;
      }
      if (reads_the_same(before, reading)) continue;
      auto next = rope_of(stated, reading);
      if (!changed(result.rope, next)) continue;
      result.reasons.emplace_back(rule.sentence);
      result.rope = std::move(next);
    }
  }
  if (const auto* rule = impl::peer_length_rule(peer, type)) {
    result.length_rule = rule->rule;
    result.length_words = rule->words;
  }
  return result;
}

Result<Model> Model::as(Peer peer) const {
  Model model = *this;
  const bool has_text = std::ranges::any_of(ropes_, [](const ModelRope& r) { return !is_of_encoder(r); });
  for (std::size_t i = 0; i < ropes_.size(); ++i) {
    const PeerRope theirs = rope_as(peer, i);
    if (!theirs.rope && has_text && is_of_encoder(ropes_[i])) {
      model.values_.push_back({i, std::string(name(peer)),
                               theirs.rope.status().message() + "; as the file says",
                               impl::message("as ", name(peer))});
      continue;
    }
    if (!theirs.rope) {
      return impl::failure(theirs.rope.status().code(), origin_, ": rope ", ropes_[i].name, ": ",
                           theirs.rope.status().message());
    }
    if (!theirs.reasons.empty()) restate(model.values_, i, ropes_[i].rope.spectrum().scaling(), theirs);
    model.ropes_[i].rope = *theirs.rope;
  }
  return model;
}

}  // namespace rotary
