// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "render.hpp"
#include "scaling_words.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

constexpr std::size_t indent = 16;

std::string item(std::string_view label, std::string_view text) {
  return paragraph("  " + std::string(label), indent, text);
}

std::string count(std::int64_t n, const std::string& one) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

std::string source_words(const Model& model) {
  switch (model.source()) {
    case Model::Source::hf_config:
      return "a config.json in Hugging Face's words";
    case Model::Source::params:
      return "a .json in the words of the model's own code";
    case Model::Source::gguf:
      return "a GGUF file";
    case Model::Source::preset:
      return "a preset";
    case Model::Source::flags:
      break;
  }
  return "a rope by its numbers";
}

std::string title(const Model& model) {
  std::string text = model.origin() + ": " + source_words(model);
  if (!model.architecture().empty()) text += ", " + model.architecture();
  if (!model.model_type().empty()) text += " (" + model.model_type() + ")";
  return paragraph("", 0, text);
}

std::string layer_words(const Model& model, std::optional<std::size_t> rope) {
  std::vector<std::int64_t> layers;
  for (std::size_t n = 0; n < model.layers().size(); ++n)
    if (model.layers()[n] == rope) layers.push_back(static_cast<std::int64_t>(n));
  if (layers.empty()) return {};
  return (layers.size() == 1 ? "layer " : "layers ") + ranges(layers) + " (" + std::to_string(layers.size()) +
         " of " + std::to_string(model.layers().size()) + ")";
}

std::string window_words(const Rope& rope) {
  const auto dim = rope.rotary_dim(), offset = rope.rotary_offset();
  if (dim == 0) return "no lane of a head turns";
  std::string text = dim == rope.head_dim()
                         ? "all " + std::to_string(dim) + " lanes of a head turn"
                         : "lanes " + std::to_string(offset) + "-" + std::to_string(offset + dim - 1) +
                               " of a head's " + std::to_string(rope.head_dim()) +
                               " turn, the others pass unchanged";
  const auto inv_freq = rope.spectrum().inv_freq();
  const auto still = std::count(inv_freq.begin(), inv_freq.end(), 0.0);
  if (still > 0) {
    text +=
        ", but only " + count(rope.pairs() - still, "pair") +
        " by a frequency that is not 0 (which is not a narrower window: pairs and exponents are of this one)";
  }
  return text + "; " + count(rope.pairs(), "pair");
}

std::string lanes_words(const Rope& rope) {
  const auto at = [&](std::int64_t lane) { return std::to_string(rope.rotary_offset() + lane); };
  const auto both = [&](std::int64_t a, std::int64_t b) {
    return at(a).insert(0, 1, '(') + ", " + at(b) + ")";
  };
  const std::string halves = both(0, rope.pairs()) + ", " + both(1, rope.pairs() + 1) + ", ...";
  const std::string neighbours = both(0, 1) + ", " + both(2, 3) + ", ...";
  switch (rope.pairing()) {
    case Pairing::half_split:
      return "half_split: lanes " + halves + " turn together";
    case Pairing::interleaved:
      return "interleaved: lanes " + neighbours + " turn together";
    case Pairing::interleaved_to_half:
      break;
  }
  return "interleaved_to_half: reads lanes " + neighbours + ", writes lanes " + halves;
}

std::string pairing_words(const Rope& rope) {
  return lanes_words(rope) + "; the rows of the q and k weights must be in this order";
}

std::string direction_words(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return "forward: by +position * frequency, in radians";
    case Direction::inverse:
      return "inverse: by -position * frequency, in radians, and divided by A";
    case Direction::gradient:
      return "gradient: by -position * frequency, in radians, times A";
    case Direction::inverse_gradient:
      break;
  }
  return "inverse_gradient: by +position * frequency, in radians, divided by A";
}

std::string policy_words(AnglePolicy policy) {
  switch (policy) {
    case AnglePolicy::exact:
      return "exact: cos and sin of the real product, within 3e-8 at any position";
    case AnglePolicy::fp32:
      return "fp32: each step rounded to fp32 as Transformers and vLLM do; off by up to 8e-3 near position "
             "131000";
    case AnglePolicy::ggml:
      return "ggml: the running fp32 product of llama.cpp's CPU path; off by up to 2e-2 near position 131000";
    case AnglePolicy::table:
      break;
  }
  return "table: cos and sin as given";
}

std::string axis_words(const Spectrum& spectrum) {
  std::vector<std::string> parts;
  for (std::int64_t a = 0; a < spectrum.axes(); ++a) {
    std::vector<std::int64_t> pairs;
    for (std::size_t i = 0; i < spectrum.axis().size(); ++i)
      if (spectrum.axis()[i] == a) pairs.push_back(static_cast<std::int64_t>(i));
    const std::string driven = pairs.empty()       ? "no pair"
                               : pairs.size() == 1 ? "pair " + ranges(pairs)
                                                   : "pairs " + ranges(pairs);
    parts.push_back("axis " + std::to_string(a) + " drives " + driven);
  }
  return list(parts);
}

/// The value of a rope, or null.
const ModelValue* find(const Model& model, std::size_t rope, std::string_view key) {
  const auto values = model.values();
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const auto& v) { return v.rope == rope && v.key == key; });
  return found == values.end() ? nullptr : &*found;
}

/// Whose alpha a rule has worked out of the length (Qwen 1), and not the file.
std::string alpha_words(const Model& model, std::size_t rope, std::optional<std::int64_t> length) {
  const ModelValue* alpha = find(model, rope, "alpha");
  if (alpha == nullptr) return {};
  if (!alpha->from.starts_with("derived:")) return "the same at every length";
  return "alpha grows with the sequence (" + alpha->from.substr(sizeof "derived:") + "); this is the one " +
         (length ? "of " + count(*length, "token") : "up to there, since no --length is given");
}

std::string field_text(std::string_view type, std::string_view key, const auto& value) {
  return paragraph(std::string(indent, ' ') + "- ", indent + 2,
                   std::string(key) + " " + field_words(type, key, value));
}

/// A line for each field that holds a value.
std::string fields_text(const Scaling& scaling) {
  std::string text;
  const auto visit = [&](std::string_view key, const auto& value) {
    if constexpr (requires { *value; }) {
      if (value) text += field_text(name(scaling), key, *value);
    } else {
      text += field_text(name(scaling), key, value);
    }
  };
  std::visit([&](const auto& type) { type.fields(type, visit); }, scaling);
  return text;
}

/// Of schedules that were joined: one, where they are alike; else each.
std::string parts_text(const Spectrum& spectrum) {
  const auto parts = spectrum.parts();
  const auto base = [](const SpectrumPart& part) {
    return part.base ? "base " + digits(*part.base) : std::string("frequencies of its own");
  };
  if (std::ranges::all_of(parts, [&](const SpectrumPart& part) { return part == parts[0]; })) {
    return item("scaling", type_words(parts[0].scaling)) + fields_text(parts[0].scaling) +
           item("", count(std::ssize(parts), "schedule") + " of " + count(parts[0].pairs, "pair") + ", " +
                        base(parts[0]) + ", one an axis");
  }
  std::string text = item("scaling", count(std::ssize(parts), "schedule") + ", one an axis:");
  for (const SpectrumPart& part : parts) {
    text += item("", count(part.pairs, "pair") + ", " + base(part) + ", " + type_words(part.scaling)) +
            fields_text(part.scaling);
  }
  return text;
}

std::string scaling_text(const Model& model, std::size_t index, std::optional<std::int64_t> length) {
  const Spectrum& spectrum = model.ropes()[index].rope.spectrum();
  if (!spectrum.parts().empty()) return parts_text(spectrum);
  std::string text = item("scaling", type_words(spectrum.scaling())) + fields_text(spectrum.scaling());
  if (const auto divisors = spectrum.divisors(); !divisors.empty()) {
    text += item("", "and after it each pair is divided once more:");
    text += field_text(name(spectrum.scaling()), "divisors",
                       std::vector<double>(divisors.begin(), divisors.end()));
  }
  if (const std::string choice = choice_words(spectrum); !choice.empty()) {
    text += item(
        "", "in use: " + choice +
                (length ? ", for a sequence of " + count(*length, "token") : ", since no --length is given"));
  }
  if (const std::string alpha = alpha_words(model, index, length); !alpha.empty()) text += item("", alpha);
  if (const std::string twice = base_words(spectrum); !twice.empty()) text += item("", twice);
  const std::string pairs = pair_words(spectrum);
  if (!std::holds_alternative<scaling::None>(spectrum.scaling()) && !pairs.empty()) text += item("", pairs);
  return text;
}

std::string ratio_words(const Model& model, std::size_t index) {
  const ModelRope& entry = model.ropes()[index];
  if (!entry.original_context || !entry.context || *entry.original_context <= 0) return {};
  const double ratio = static_cast<double>(*entry.context) / static_cast<double>(*entry.original_context);
  const std::string text = "which is " + rounded(ratio) + " times as many";
  const ModelValue* value = find(model, index, "factor");
  const auto* factor = value == nullptr ? nullptr : std::get_if<double>(&value->value);
  if (factor == nullptr || *factor == ratio) return text;
  const auto* ours = std::get_if<scaling::Telechat3Yarn>(&entry.rope.spectrum().scaling());
  const bool by_ratio = ours && ours->max_position_embeddings && ours->original_max_position_embeddings;
  return text + "; the factor is " + rounded(*factor) + ", and " +
         (by_ratio ? "this type takes the ratio" : "the factor counts");
}

std::string length_words(const Model& model, std::size_t index, std::optional<std::int64_t> length) {
  const ModelRope& entry = model.ropes()[index];
  std::vector<std::string> parts;
  if (entry.original_context) {
    const ModelValue* value = find(model, index, "original_context");
    const bool guessed = value != nullptr && value->assumed;
    parts.push_back("original " + count(*entry.original_context, "token") +
                    (guessed ? " (guessed: " + value->from + ")" : ""));
  }
  if (entry.context) parts.push_back("context " + count(*entry.context, "token"));
  if (const std::string ratio = ratio_words(model, index); !ratio.empty()) parts.push_back(ratio);
  if (length) parts.push_back("frequencies chosen for " + count(*length, "token"));
  return parts.empty() ? "not stated" : list(parts);
}

/// Of the base alone, before any scaling.
std::string base_text(double base, std::int64_t pairs) {
  const std::string first = digits(base) + ": pair 0 turns 1 radian a position";
  if (pairs == 1) return first;
  return first + (base > 1   ? ", the next ones ever slower"
                  : base < 1 ? ", the next ones ever faster"
                             : ", and so do all others");
}

std::string wavelength_words(const ModelRope& entry) {
  const auto inv_freq = entry.rope.spectrum().inv_freq();
  std::size_t fast = inv_freq.size(), slow = inv_freq.size();
  std::int64_t still = 0, under_one_turn = 0;
  const auto wavelength = [&](std::size_t i) { return 2 * std::numbers::pi / std::fabs(inv_freq[i]); };
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    if (inv_freq[i] == 0) {
      ++still;
      continue;
    }
    if (fast == inv_freq.size() || wavelength(i) < wavelength(fast)) fast = i;
    if (slow == inv_freq.size() || wavelength(i) > wavelength(slow)) slow = i;
    if (entry.context && wavelength(i) > static_cast<double>(*entry.context)) ++under_one_turn;
  }
  if (fast == inv_freq.size()) return "none: no pair turns";
  const auto one = [&](std::size_t i, const std::string& whose) {
    const double length = wavelength(i);
    return (std::isfinite(length) ? rounded(length) : "over 1e308") + " (" + whose + ")";
  };
  const auto pair = [](std::size_t i) { return "pair " + std::to_string(i); };
  std::string text = "one full turn takes ";
  if (wavelength(fast) != wavelength(slow)) {
    text += one(fast, pair(fast)) + " to " + one(slow, pair(slow));
  } else {
    const bool alone = static_cast<std::int64_t>(inv_freq.size()) - still == 1;
    text += one(fast, alone ? pair(fast) : still == 0 ? "every pair" : "every pair that turns");
  }
  text += " positions";
  if (entry.context) {
    text += "; " + count(under_one_turn, "pair") + (under_one_turn == 1 ? " turns" : " turn") +
            " less than once within " + std::to_string(*entry.context) + " positions";
  }
  if (still > 0) text += "; " + count(still, "pair") + (still == 1 ? " stands" : " stand") + " still";
  return text;
}

std::string rope_text(const Model& model, std::size_t index, std::optional<std::int64_t> length,
                      const std::vector<PeerReport>& reports, std::optional<Peer> as) {
  const ModelRope& entry = model.ropes()[index];
  const Rope& rope = entry.rope;
  const Spectrum& spectrum = rope.spectrum();
  const std::string layers = layer_words(model, index);
  std::string text =
      paragraph("", 0, "\nrope \"" + entry.name + "\"" + (layers.empty() ? "" : ", " + layers));
  text += item("window", window_words(rope));
  if (rope.pairs() == 0) return text;
  text += item("pairing", pairing_words(rope));
  text += item("direction", direction_words(rope.direction()));
  if (spectrum.base() && spectrum.parts().empty())
    text += item("base", base_text(*spectrum.base(), rope.pairs()));
  text += scaling_text(model, index, length);
  text += item("attention", attention_words(spectrum));
  if (spectrum.softmax_factor() != 1) {
    text +=
        item("softmax", "factor " + rounded(spectrum.softmax_factor(), 9) +
                            ": the attention multiplies it into 1/sqrt(head_dim); it is not in cos and sin");
  }
  if (spectrum.axes() > 1) text += item("axes", axis_words(spectrum));
  text += item("length", length_words(model, index, length));
  text += item("wavelengths", wavelength_words(entry));
  text += item("angles", policy_words(rope.policy()));
  return text + (as ? against_text(reports, index, *as, indent) : peers_text(reports, index, indent));
}

struct ValueText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return digits(value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<double>& values) const {
    std::vector<std::string> words;
    for (const double value : values) words.push_back(digits(value));
    return list(words).insert(0, 1, '[') + "]";
  }
};

std::string values_text(const Model& model, std::optional<Peer> as) {
  if (model.values().empty()) return {};
  std::string text = "\nwhere each value came from\n";
  const bool several = model.ropes().size() > 1;
  for (const auto& value : model.values()) {
    if (as && value.key == name(*as)) continue;  // a reason: against_text() has it
    const std::string rope =
        several && value.rope < model.ropes().size() ? model.ropes()[value.rope].name + " " : "";
    text += paragraph("  " + rope + value.key + " = " + std::visit(ValueText{}, value.value) + "  ", 48,
                      value.from + (value.assumed ? " (assumed: nobody states it)" : ""));
  }
  return text;
}

std::string temperature_text(const Model& model) {
  const auto& temperature = model.temperature();
  if (!temperature) return {};
  const QueryTemperature& q = temperature->query;
  const std::string position = q.first == 0 ? "position" : "(position + " + digits(q.first) + ")";
  std::int64_t last = 131071;
  for (const auto& rope : model.ropes())
    if (rope.of_layers && rope.context && *rope.context > 0) last = *rope.context - 1;
  return paragraph("\nquery scale  ", indent,
                   "beside the rotation, q is multiplied by 1 + " + digits(q.scale) + " * ln(1 + floor(" +
                       position + " / " + digits(q.length) + ")), " +
                       (temperature->without_rope ? "on the layers without rope alone" : "on every layer") +
                       ": 1 at first, " + rounded(q.at(static_cast<double>(last)), 6) + " at position " +
                       std::to_string(last));
}

}  // namespace

std::string explain_text(const Model& model, std::optional<std::int64_t> length,
                         const std::vector<PeerReport>& reports, std::optional<Peer> as) {
  std::string text = title(model);
  if (as) text += paragraph("", 0, "as " + std::string(name(*as)) + " computes it");
  if (!model.warnings().empty()) text += "\ndoubtful\n";
  for (const auto& warning : model.warnings()) text += paragraph("  !", 4, warning);
  for (std::size_t i = 0; i < model.ropes().size(); ++i) text += rope_text(model, i, length, reports, as);
  if (const std::string layers = layer_words(model, std::nullopt); !layers.empty())
    text += paragraph("", 0, "\nno rope, " + layers);
  text += temperature_text(model);
  if (model.ropes().empty()) text += "\nThis model has no rope.\n";
  return text + values_text(model, as);
}

}  // namespace rotary::tool
