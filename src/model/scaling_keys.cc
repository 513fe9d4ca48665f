// SPDX-License-Identifier: Apache-2.0
#include "model/scaling_keys.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/in_quotes.hpp"

namespace rotary::impl {
namespace {

constexpr std::string_view length_key = "original_max_position_embeddings";
constexpr std::size_t most_factors = 16;
constexpr std::string_view context_key = "max_position_embeddings";

/// Keys of a scaling that may stand beside its dictionary instead.
constexpr std::string_view outer_keys[] = {length_key, context_key, "partial_rotary_factor"};

/// Keys of the dictionary that say nothing about the scaling.
constexpr std::string_view companions[] = {"rope_type",         "type",
                                           "rope_theta",        "partial_rotary_factor",
                                           "mrope_section",     context_key,
                                           "mrope_interleaved", "llama_4_scaling_beta",
                                           "xdrope_section",    "mrope_interleaved_glm"};

struct Alias {
  std::string_view word, name;
};
constexpr Alias aliases[] = {{"none", "default"},      {"mrope", "default"},
                             {"openpangu", "default"}, {"su", "longrope"},
                             {"axial", "default"},     {"gptj", "default"},
                             {"xdrope", "ntk_alpha"},  {"deepseek_llama_scaling", "deepseek_yarn"}};

/// Keys that published files give a type and no code reads (ntk_alpha: Hunyuan's).
struct Inert {
  std::string_view type;
  std::array<std::string_view, 5> keys;
};
constexpr Inert inert[] = {{"ntk_alpha", {"factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"}}};

bool is_inert(std::string_view type, std::string_view key) {
  return std::ranges::any_of(inert, [&](const Inert& i) {
    return i.type == type && std::ranges::find(i.keys, key) != i.keys.end();
  });
}

/// Named by somebody's code, and no scaling of a text model here.
struct Unsupported {
  std::string_view word, why;
};
constexpr Unsupported unsupported_types[] = {
    {"mllama4", "vLLM's word for Llama 4's image encoder, which is read from model_type llama4_vision_model"},
    {"fope", "it mixes cos and sin by matrices that stand in the weights; fope.hpp makes tables of them"}};

std::string_view canonical(std::string_view word) {
  const auto alias = std::ranges::find(aliases, word, &Alias::word);
  return alias == std::end(aliases) ? word : alias->name;
}

template <class Visit>
void for_each_type(Visit&& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (visit(std::variant_alternative_t<I, Scaling>()), ...); }
  (std::make_index_sequence<std::variant_size_v<Scaling>>());
}

std::string type_names() {
  std::string names;
  for_each_type([&](const auto& type) { names += message(names.empty() ? "" : ", ", type.name); });
  return names;
}

/// What "dynamic" means is settled by the keys: with an alpha, it is static.
Sourced<std::string> settled(Sourced<std::string> type, const Keys& dict) {
  if (type.value == "dynamic" && dict.find("alpha") != nullptr) type.value = "ntk_alpha";
  return type;
}

/// The type's word, from rope_type or its older name.
Sourced<std::string> type_of(const Keys& dict, ModelBuilder& builder) {
  const auto now = dict.text("rope_type"), before = dict.text("type");
  if (now && before && canonical(now->value) != canonical(before->value)) {
    builder.malformed(before->from, " ", in_quotes(before->value), " and ", now->from, " ",
                      in_quotes(now->value), ": must agree");
  }
  if (now) return settled(*now, dict);
  if (before) return settled(*before, dict);
  std::string keys;
  for (const auto& [key, value] : dict.object()) {
    if (!value.is_null() && std::ranges::find(companions, key) == std::end(companions))
      keys += message(keys.empty() ? "" : ", ", is_word(key) ? key : in_quotes(key));
  }
  if (!keys.empty()) {
    builder.malformed(dict.path(), ": expected a rope_type (or type), one of ", type_names(),
                      "; got the keys ", keys);
  }
  return {"default", "default: no scaling stated"};
}

/// Fills the fields of one scaling from the keys of the same names.
class FieldReader {
 public:
  FieldReader(const Keys& dict, const Keys& top, ModelBuilder& builder,
              const std::optional<Sourced<double>>& length)
      : dict_(dict), top_(top), builder_(builder), length_(length) {}

  template <class Type>
  ScalingReading read(Type type, std::string from) {
    Type::fields(type, [&](std::string_view key, auto&) { known_.push_back(key); });
    Type::fields(type, [&](std::string_view key, auto& field) {
      const bool required = std::ranges::find(Type::required, key) != Type::required.end();
      take(Type::name, key, field, required);
    });
    report_unknown(Type::name);
    reading_.scaling = {type, std::move(from)};
    return std::move(reading_);
  }

 private:
  std::optional<Sourced<double>> stated(std::string_view key, const double&) { return number(key); }
  std::optional<Sourced<double>> stated(std::string_view key, const std::optional<double>&) {
    return number(key);
  }
  std::optional<Sourced<std::vector<double>>> stated(std::string_view key, const std::vector<double>&) {
    return dict_.numbers(key);
  }
  std::optional<Sourced<bool>> stated(std::string_view key, const bool&) {
    if (const Json* null = impl::find(dict_.object(), key); null != nullptr && null->is_null()) {
      builder_.malformed(
          dict_.path_of(key),
          ": expected true or false, got null, which some take for false and some for nothing");
    }
    return dict_.boolean(key);
  }

  std::optional<Sourced<double>> number(std::string_view key) {
    Agreed<double> agreed(builder_);
    agreed.add(dict_.number(key));
    if (std::ranges::find(outer_keys, key) != std::end(outer_keys)) agreed.add(top_.number(key));
    if (key == length_key) reading_.original_length = agreed.value();
    return agreed.value();
  }

  /// Linear takes a list of factors, as vLLM does: one table each, for adapters. The first one is the field's.
  std::optional<Sourced<double>> first_of_factors(std::string_view type, std::string_view key) {
    const Json* found = dict_.find(key);
    if (key != "factor" || type != "linear" || found == nullptr || found->get<Json::Array>() == nullptr) {
      return std::nullopt;
    }
    const auto factors = dict_.numbers(key);
    if (!factors) return std::nullopt;
    if (factors->value.empty() || factors->value.size() > most_factors) {
      builder_.malformed(factors->from, ": ", factors->value.size(), " factors, must be from 1 to ",
                         most_factors);
      return std::nullopt;
    }
    reading_.other_factors.assign(factors->value.begin() + 1, factors->value.end());
    return Sourced<double>{factors->value.front(), message(factors->from, "[0]")};
  }

  template <class Field>
  void take(std::string_view type, std::string_view key, Field& field, bool required) {
    decltype(stated(key, field)) found;
    if constexpr (std::is_same_v<Field, double>) found = first_of_factors(type, key);
    if (!found && !builder_.failed()) found = stated(key, field);
    if (!found && required) return missing(key, field);
    if constexpr (std::is_same_v<Field, double>) {
      if (!found && key == length_key) {
        found = length_ ? length_ : top_.number(context_key);
        if (!found) return missing(key, field);
        if (!length_) {
          found->from += ", since no original length is stated";
          found->assumed = true;
        }
        reading_.original_length = found;
      }
    }
    if (found) {
      field = found->value;
      reading_.values.push_back({0, std::string(key), found->value, found->from, found->assumed});
    } else if constexpr (!std::is_same_v<Field, std::optional<double>>) {
      reading_.values.push_back({0, std::string(key), field, message("default of ", type)});
    }
  }

  /// A factor of null is the ratio of the two lengths, as Transformers takes it.
  template <class Field>
  void missing(std::string_view key, Field&) {
    builder_.malformed(dict_.path_of(key), ": missing, and the scaling needs it", misspelling_of(key));
  }
  void missing(std::string_view key, double& field) {
    const Json* null = impl::find(dict_.object(), key);
    const auto context = top_.number(context_key);
    const auto length = number(length_key);
    if (key == "factor" && null != nullptr && null->is_null() && context && length && length->value > 0) {
      field = context->value / length->value;
      reading_.values.push_back({0, "factor", context->value / length->value,
                                 message("derived: ", context->from, " / ", length->from)});
    } else {
      builder_.malformed(dict_.path_of(key), ": missing, and the scaling needs it", misspelling_of(key));
    }
  }

  bool is_unknown(const Json::Member& entry) const {
    const auto is_key = [&](std::string_view known) { return known == entry.key; };
    return !entry.value.is_null() && std::ranges::none_of(companions, is_key) &&
           std::ranges::none_of(known_, is_key);
  }

  std::string misspelling_of(std::string_view key) const {
    for (const auto& entry : dict_.object()) {
      if (is_unknown(entry) && similar(entry.key, known_) == key)
        return message("; is ", in_quotes(entry.key), " meant for it?");
    }
    return {};
  }

  void report_unknown(std::string_view type) {
    for (const auto& entry : dict_.object()) {
      if (!is_unknown(entry) || is_inert(type, entry.key)) continue;
      const std::string& key = entry.key;
      const std::string_view close = similar(key, known_);
      builder_.warn(dict_.path_of(key), ": scaling type ", type, " has no such key, so it is not read",
                    close.empty() ? "" : message("; did you mean ", close, "?"));
    }
  }

  const Keys& dict_;
  const Keys& top_;
  ModelBuilder& builder_;
  const std::optional<Sourced<double>>& length_;
  std::vector<std::string_view> known_;
  ScalingReading reading_;
};

}  // namespace

std::optional<Scaling> scaling_named(std::string_view word) {
  std::optional<Scaling> found;
  for_each_type([&](const auto& type) {
    if (type.name == canonical(word)) found = type;
  });
  if (word == "deepseek_llama_scaling") found = scaling::DeepseekYarn{.apply_yarn_scaling = false};
  return found;
}

ScalingReading read_scaling(const Keys& dict, const Keys& top, ModelBuilder& builder,
                            const std::optional<Sourced<double>>& length) {
  const auto type = type_of(dict, builder);
  if (const auto fope = dict.boolean("use_fope"); fope && fope->value) {
    builder.fail(
        StatusCode::unsupported, fope->from,
        ": FoPE mixes cos and sin by matrices that stand in the weights; fope.hpp makes tables of them");
    return {};
  }
  const auto scaling = scaling_named(type.value);
  if (scaling) {
    return std::visit(
        [&](const auto& s) { return FieldReader(dict, top, builder, length).read(s, type.from); }, *scaling);
  }
  const auto why = std::ranges::find(unsupported_types, type.value, &Unsupported::word);
  if (why != std::end(unsupported_types)) {
    builder.fail(StatusCode::unsupported, type.from, " ", in_quotes(type.value), ": ", why->why);
  } else {
    builder.malformed(type.from, " ", in_quotes(type.value), ": unknown scaling type; known are ",
                      type_names());
  }
  return {};
}

}  // namespace rotary::impl
