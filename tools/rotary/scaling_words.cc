// SPDX-License-Identifier: Apache-2.0
#include "scaling_words.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "text.hpp"

namespace rotary::tool {
namespace {

struct Word {
  std::string_view name, text;
};

template <std::size_t N>
std::string_view find(const std::array<Word, N>& words, std::string_view name) {
  const auto* word = std::find_if(words.begin(), words.end(), [&](const Word& w) { return w.name == name; });
  return word == words.end() ? std::string_view() : word->text;
}

constexpr std::array types{
    Word{"default", "no scaling: each pair turns as fast as the base says"},
    Word{"linear", "position interpolation: every pair turns slower by the same factor"},
    Word{"llama3", "fast pairs are kept, slow ones turn slower by the factor, a blend lies between"},
    Word{"yarn",
         "fast pairs are kept, slow ones turn slower by the factor, a ramp over the pairs lies between; the "
         "same at "
         "every length, so short prompts change too"},
    Word{"dynamic",
         "dynamic NTK: beyond max_position_embeddings tokens the base grows with the length of the sequence "
         "(--length), and keys that are cached keep the base they were turned with; up to there, and without "
         "a "
         "length, nothing is scaled"},
    Word{"ntk_alpha", "NTK alpha: the base is multiplied by alpha^(d/(d-2)), d the lanes that turn"},
    Word{"longrope",
         "LongRoPE: each pair is divided by its own number; one list for sequences of up to the original "
         "length, "
         "and without a length (--length), the other for longer ones, at all their positions"},
    Word{"proportional",
         "p-RoPE: a part of the pairs turns, by exponents over the whole head; the others stand still"},
    Word{"deepseek_yarn", "YaRN with DeepSeek's rule for A; the softmax factor is beside it"},
    Word{"telechat3-yarn", "YaRN by the ratio of the two lengths, with 0.07 in A where others have 0.1"},
    Word{
        "windows",
        "wavelengths / 2 pi run evenly, in their logarithm, from min_window to max_window; there is no base"},
    Word{"pixel", "bands of pi for coordinates from -1 to 1; there is no base"},
    Word{"constant", "every pair turns 1 radian a position; there is no base"},
    Word{"ltx", "rising frequencies from pi/2, for coordinates from -1 to 1"},
    Word{"dinov3", "2 pi times the plain frequencies, for coordinates from -1 to 1"},
    Word{"periods",
         "periods run evenly, in their logarithm, from min_period to max_period, for coordinates from -1 to "
         "1; "
         "there is no base"},
    Word{"divided", "each pair is divided by its own number"},
    Word{"ntk", "vLLM's fixed NTK: slow pairs turn slower by the factor, fast ones are nearly kept"},
};

// "#" stands for the number.
constexpr std::array numbers{
    Word{"original_max_position_embeddings", "tokens the model was trained on before it was stretched"},
    Word{"max_position_embeddings", "tokens the model was trained on"},
    Word{"alpha", "stretches the slowest pair # times (it is not a factor of the positions)"},
    Word{"short_factor", "divides the pairs of sequences up to the original length"},
    Word{"long_factor", "divides the pairs of longer sequences"},
    Word{"divisors", "a pair turns so many times slower; 1e30 or infinity: not at all"},
    Word{"short_mscale", "is A up to the original length"},
    Word{"long_mscale", "is A beyond the original length"},
    Word{"partial_rotary_factor", "the part of the pairs that turns"},
    Word{"min_window", "of the fastest pair: # positions a radian"},
    Word{"max_window", "towards which the slowest pairs run: # positions a radian"},
    Word{"min_period", "of the fastest pair: # coordinates a turn"},
    Word{"max_period", "of the slowest pair: # coordinates a turn"},
    Word{"max_freq", "the last band is #/2"},
    Word{"mixed_b", "the mixed form: pair i is divided by exp(a * (i + 1)^#)"},
    Word{"low_freq_factor",
         "pairs with fewer turns than # within the original length are divided by the factor"},
    Word{"high_freq_factor", "pairs with more turns than # within the original length are kept"},
    Word{"beta_fast", "pairs with more turns than # within the original length are kept"},
    Word{"beta_slow", "pairs with fewer turns than # within the original length are divided by the factor"},
    Word{"attention_factor", "replaces the formula of A"},
    Word{"attn_factor", "multiplies the formula of A"},
    Word{"softmax_factor", "replaces the formula of the softmax factor"},
    Word{"mscale", "numerator of A, as g(#) = 0.1 * # * ln(factor) + 1"},
    Word{"mscale_all_dim", "denominator of A, and g(#) squared is the softmax factor"},
};

bool same(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::fabs(b); }

// The base that would give these frequencies alone, if there is one and it is not the stated one.
std::optional<double> other_base(const Spectrum& spectrum) {
  const auto inv_freq = spectrum.inv_freq();
  const auto pairs = static_cast<double>(inv_freq.size());
  if (inv_freq.size() < 2 || !(inv_freq[1] > 0)) return std::nullopt;
  const double base = std::pow(inv_freq[1], -pairs);
  for (std::size_t i = 0; i < inv_freq.size(); ++i)
    if (!same(inv_freq[i], std::pow(base, -static_cast<double>(i) / pairs))) return std::nullopt;
  return same(base, *spectrum.base()) ? std::nullopt : std::optional(base);
}

double yarn_g(double factor, double mscale) { return factor > 1 ? 0.1 * mscale * std::log(factor) + 1 : 1; }

}  // namespace

std::string type_words(const Scaling& scaling) {
  const std::string word(name(scaling));
  const auto text = find(types, word);
  return text.empty() ? word : word + ": " + std::string(text);
}

std::string field_words(std::string_view type, std::string_view field, double value) {
  const std::string number = digits(value);
  if (field == "factor" && type == scaling::LongRope::name)
    return number + ": is for A alone; the lists say how much slower the pairs turn";
  if (field == "factor" && type == scaling::Telechat3Yarn::name)
    return number + ": counts where the two lengths are not both stated; else their ratio does";
  if (field == "factor") {
    return number + ": a stretched pair sees positions divided by " + number +
           " (4 means four times the length); " +
           "the frequency scale of other systems is 1/factor = " + rounded(1 / value);
  }
  std::string text(find(numbers, field));
  for (std::size_t at = 0; (at = text.find('#', at)) != std::string::npos; at += number.size())
    text.replace(at, 1, number);
  return text.empty() ? number : number + ": " + text;
}

std::string field_words(std::string_view, std::string_view field, bool value) {
  if (field != "truncate") return value ? "true" : "false";
  return value ? "true: the ends of the ramp are rounded outwards to whole pairs"
               : "false: the ends of the ramp stay where they fall between pairs";
}

std::string field_words(std::string_view, std::string_view field, const std::vector<double>& values) {
  if (values.empty()) return "none";
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const std::string text(find(numbers, field));
  return std::to_string(values.size()) + " numbers from " + rounded(*least) + " to " + rounded(*most) +
         (text.empty() ? "" : ": " + text);
}

std::string pair_words(const Spectrum& spectrum) {
  const auto inv_freq = spectrum.inv_freq();
  if (!spectrum.base() || inv_freq.empty()) return {};
  if (const auto other = other_base(spectrum))
    return "all pairs turn as with base " + rounded(*other, 12) + " and no scaling";
  std::vector<double> divisor;
  double largest = 0;
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    const double exponent = -static_cast<double>(i) / static_cast<double>(inv_freq.size());
    divisor.push_back(inv_freq[i] == 0 ? 0 : std::pow(*spectrum.base(), exponent) / inv_freq[i]);
    largest = std::max(largest, divisor.back());
  }
  // Faster than the base alone: a schedule of its own, which divides nothing.
  if (std::any_of(divisor.begin(), divisor.end(), [](double d) { return d > 0 && d < 1 && !same(d, 1); }))
    return {};
  std::vector<std::int64_t> kept, between, divided, still;
  for (std::size_t i = 0; i < divisor.size(); ++i) {
    auto& group = divisor[i] == 0             ? still
                  : same(divisor[i], 1)       ? kept
                  : same(divisor[i], largest) ? divided
                                              : between;
    group.push_back(static_cast<std::int64_t>(i));
  }
  std::vector<std::string> parts;
  if (!kept.empty()) parts.push_back(ranges(kept) + " kept");
  if (!between.empty()) {
    const auto by = [&](std::int64_t pair) { return divisor[static_cast<std::size_t>(pair)]; };
    const auto [least, most] = std::ranges::minmax(between, {}, by);
    // Between what a scaling keeps and what it divides; of two scalings, there is no such ramp.
    parts.push_back(ranges(between) + (spectrum.divisors().empty() ? " between"
                                       : same(by(least), by(most)) ? " divided by " + rounded(by(most))
                                                                   : " divided by " + rounded(by(least)) +
                                                                         " to " + rounded(by(most))));
  }
  if (!divided.empty()) parts.push_back(ranges(divided) + " divided by " + rounded(largest));
  if (!still.empty()) parts.push_back(ranges(still) + " stand still");
  return "pairs " + list(parts);
}

std::string choice_words(const Spectrum& spectrum) {
  const auto inv_freq = spectrum.inv_freq();
  if (!spectrum.base() || inv_freq.empty()) return {};
  if (std::holds_alternative<scaling::DynamicNtk>(spectrum.scaling()))
    return "base " + rounded(other_base(spectrum).value_or(*spectrum.base()), 12);
  const auto* longrope = std::get_if<scaling::LongRope>(&spectrum.scaling());
  if (!longrope) return {};
  const auto is = [&](const std::vector<double>& divisors) {
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
      const double exponent = -static_cast<double>(i) / static_cast<double>(inv_freq.size());
      if (!same(inv_freq[i] * divisors[i], std::pow(*spectrum.base(), exponent))) return false;
    }
    return true;
  };
  return is(longrope->short_factor) ? "the short list" : "the long list";
}

std::string base_words(const Spectrum& spectrum) {
  constexpr double usual = 10000;
  const Scaling& scaling = spectrum.scaling();
  const bool changes_it = std::holds_alternative<scaling::NtkAlpha>(scaling) ||
                          std::holds_alternative<scaling::DynamicNtk>(scaling) ||
                          std::holds_alternative<scaling::Ntk>(scaling);
  if (!changes_it || !spectrum.base() || *spectrum.base() <= usual) return {};
  return "the scaling changes the base once more: it is stated as " + digits(*spectrum.base()) +
         "; if the stretch is in that number already, it is there twice";
}

std::string attention_words(const Spectrum& spectrum) {
  const auto number = [](double value) { return rounded(value, 9); };
  const double a = spectrum.attention_factor();
  std::string text = "A = " + number(a);
  if (a == 1) {
    text += ": the rotation keeps lengths";
  } else {
    text += ": cos and sin are multiplied by it, so a score of rotated parts grows by A^2 = " + number(a * a);
  }
  if (const auto* longrope = std::get_if<scaling::LongRope>(&spectrum.scaling())) {
    if (longrope->short_mscale || longrope->long_mscale) return text + "; rule: short_mscale or long_mscale";
    return text + (longrope->attention_factor ? "; rule: attention_factor as given"
                                              : "; rule: sqrt(1 + ln(factor) / ln(original length))");
  }
  const auto* yarn = std::get_if<scaling::Yarn>(&spectrum.scaling());
  if (!yarn) return text;
  const std::string plain = number(yarn_g(yarn->factor, 1));
  const std::string times = yarn->attn_factor == 1 ? "" : ", times attn_factor " + digits(yarn->attn_factor);
  if (yarn->attention_factor)
    return text + "; rule: attention_factor as given (by 0.1 * ln(factor) + 1 it would be " + plain + ")";
  if (yarn->mscale.value_or(0) != 0 && yarn->mscale_all_dim.value_or(0) != 0)
    return text + "; rule, as Transformers reads the two: g(mscale) / g(mscale_all_dim)" + times +
           " (by 0.1 * ln(factor) + 1 it would be " + plain + ")";
  return text + "; rule: 0.1 * ln(factor) + 1" + times;
}

}  // namespace rotary::tool
