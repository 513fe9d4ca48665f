// SPDX-License-Identifier: Apache-2.0
#include "model_argument.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "exit_code.hpp"
#include "scaling_flags.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

constexpr std::array pairings{Pairing::half_split, Pairing::interleaved, Pairing::interleaved_to_half};
constexpr std::array axis_orders{AxisOrder::contiguous,  AxisOrder::interleaved, AxisOrder::imrope,
                                 AxisOrder::round_robin, AxisOrder::spread,      AxisOrder::space_then_time};
constexpr std::array policies{AnglePolicy::exact, AnglePolicy::fp32, AnglePolicy::ggml};

template <class Values>
CLI::IsMember one_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto value : values) names.emplace_back(name(value));
  return CLI::IsMember(names);
}

/// CLI11 alone would take the nearest number for one that 64 bits do not hold.
CLI::Validator whole_number(std::optional<std::int64_t> least = {}) {
  const std::string wanted = least ? "from " + std::to_string(*least) + " to 2^63 - 1" : "of 64 bits";
  return CLI::Validator(
      [least, wanted](const std::string& text) {
        const auto number = whole(text);
        const bool fits = number && (!least || *number >= *least);
        return fits ? std::string() : text + ": expected a whole number " + wanted;
      },
      "");
}

/// "16,24,24"
std::vector<std::int64_t> sections(std::string_view text) {
  std::vector<std::int64_t> pairs;
  for (bool more = !text.empty(); more;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto number = whole(text.substr(0, comma));
    if (!number)
      throw Failure(Exit::usage, "--axis-sections: \"" + std::string(text.substr(0, comma)) +
                                     "\": expected whole numbers between commas, as 16,24,24");
    pairs.push_back(*number);
    more = comma < text.size();
    text.remove_prefix(comma + (more ? 1 : 0));
  }
  return pairs;
}

std::string rope_names(const Model& model) {
  std::vector<std::string> names;
  for (const auto& rope : model.ropes()) names.push_back(rope.name);
  return list(names);
}

}  // namespace

void ModelArgument::add_to(CLI::App& command) {
  command.add_option("MODEL", word_,
                     "A folder with a config.json or params.json, either file, a .gguf (of a split\n"
                     "one the first), a .safetensors (the .json beside it), or a preset's name (see\n"
                     "`rotary presets`). Without MODEL, the flags under \"Model by flags\" describe one");
  command
      .add_option("--pairing", pairing_,
                  "Which two lanes form a pair: half_split (i, i + pairs), interleaved (2i, 2i + 1),\n"
                  "interleaved_to_half (reads the second, writes the first)")
      ->check(one_of(pairings))
      ->option_text("NAME");
  command
      .add_option("--angles", angles_,
                  "How cos and sin are computed: exact (default), fp32 (as Transformers and vLLM do),\n"
                  "ggml (as llama.cpp's CPU path does)")
      ->check(one_of(policies))
      ->option_text("NAME");
  command.add_option("--length", length_, "Tokens, for scaling types whose frequencies depend on the length")
      ->check(whole_number(1))
      ->option_text("N");
  command
      .add_option("--as", as_,
                  "The numbers another system computes from the same description: transformers,\n"
                  "llama.cpp, vllm, sglang, mlx. Its rounding is --angles")
      ->check(one_of(peers))
      ->option_text("PEER");
  command.add_flag("--strict", strict_, "Take every warning about MODEL as an error");

  const auto flag = [&](const char* name, auto& target, const char* unit, const char* help) {
    return command.add_option(name, target, help)->option_text(unit)->group("Model by flags");
  };
  flag("--base", base_, "X", "rope_theta, freq_base; default 10000");
  flag("--head-dim", head_dim_, "N", "Lanes of a head; default: the offset and the lanes that turn")
      ->check(whole_number());
  flag("--rotary-dim", rotary_dim_, "N", "Lanes that turn, even; default: all of the head from the offset on")
      ->check(whole_number());
  flag("--rotary-offset", rotary_offset_, "N", "First lane that turns; default 0")->check(whole_number());
  flag("--axis-sections", axis_sections_, "A,B,...",
       "Pairs of each position axis, as 16,24,24 for time, height, width");
  flag("--axis-order", axis_order_, "NAME",
       "In which order the pairs of the sections lie: contiguous (default), interleaved, imrope,\n"
       "round_robin, spread, space_then_time")
      ->check(one_of(axis_orders));
  flag("--scaling", scaling_, "TYPE", "How frequencies are stretched, by the flags under \"Scaling\"")
      ->description("How frequencies are stretched: " + list(scaling_names()) +
                    ";\nits numbers are the flags under \"Scaling\"");
  add_scaling_flags(command, scaling_fields_);
}

std::string ModelArgument::first_structure_flag() const {
  if (base_) return "--base";
  if (head_dim_) return "--head-dim";
  if (rotary_dim_) return "--rotary-dim";
  if (rotary_offset_) return "--rotary-offset";
  if (!axis_sections_.empty()) return "--axis-sections";
  if (!axis_order_.empty()) return "--axis-order";
  if (!scaling_.empty()) return "--scaling";
  for (const auto& [field, text] : scaling_fields_)
    if (!text.empty()) return flag_of(field);
  return {};
}

ModelOptions ModelArgument::options() const {
  ModelOptions options;
  options.length = length_;
  options.pairing = pairing_from_name(pairing_);
  options.policy = angle_policy_from_name(angles_).value_or(AnglePolicy::exact);
  options.strict = strict_;
  return options;
}

Model ModelArgument::as_asked(const Model& stated) const {
  return as() ? take(stated.as(*as()), Exit::unsupported) : stated;
}

Model ModelArgument::stated() const {
  const std::string flag = first_structure_flag();
  if (!word_.empty() && !flag.empty())
    throw Failure(Exit::usage, flag + " describes a model by flags, but MODEL is \"" + word_ +
                                   "\"; give one or the other");
  if (word_.empty() && flag.empty())
    throw Failure(Exit::usage,
                  "MODEL is missing: a file, a preset (see `rotary presets`) or flags such as "
                  "--base 10000 --head-dim 128");
  return word_.empty() ? from_flags() : from_word();
}

Model ModelArgument::from_word() const {
  std::error_code error;
  if (std::filesystem::exists(word_, error)) return take(Model::from_path(word_, options()), Exit::input);
  if (std::ranges::find(presets(), word_, &Preset::name) != presets().end())
    return take(Model::from_preset(word_, options()), Exit::input);
  throw Failure(Exit::input, word_ + ": no such file, and " + Model::from_preset(word_).status().message() +
                                 "; `rotary presets` lists the presets");
}

Model ModelArgument::from_flags() const {
  if (!head_dim_ && !rotary_dim_)
    throw Failure(Exit::usage,
                  "--head-dim is missing: a model by flags needs --head-dim, --rotary-dim or both");
  RopeOptions rope;
  rope.rotary_offset = rotary_offset_.value_or(0);
  rope.head_dim = head_dim_.value_or(0);
  rope.pairing = pairing_from_name(pairing_).value_or(Pairing::half_split);
  rope.policy = angle_policy_from_name(angles_).value_or(AnglePolicy::exact);
  if (rope.rotary_offset < 0 || (head_dim_ && rope.rotary_offset > *head_dim_))
    throw Failure(Exit::usage, "--rotary-offset " + std::to_string(rope.rotary_offset) +
                                   ": must be 0 or more and lie in the head");
  SpectrumOptions spectrum;
  spectrum.rotary_dim = rotary_dim_ ? *rotary_dim_ : *head_dim_ - rope.rotary_offset;
  spectrum.base = base_.value_or(spectrum.base);
  spectrum.scaling = scaling_from_flags(scaling_, scaling_fields_);
  spectrum.axis_sections = sections(axis_sections_);
  if (!axis_order_.empty() && axis_sections_.empty())
    throw Failure(Exit::usage, "--axis-order " + axis_order_ + ": needs --axis-sections");
  spectrum.axis_order = axis_order_from_name(axis_order_).value_or(AxisOrder::contiguous);
  spectrum.length = length_;
  rope.spectrum = take(Spectrum::make(spectrum), Exit::usage);
  return take(Model::from_rope(rope, options()), Exit::usage);
}

void RopeChoice::add_to(CLI::App& command) {
  auto* layer = command.add_option("--layer", layer_, "Use the rope of this layer, counted from 0")
                    ->check(whole_number(0))
                    ->option_text("N");
  command.add_option("--rope", rope_, "Use the rope of this name, as `rotary explain` shows it")
      ->excludes(layer)
      ->option_text("NAME");
}

const ModelRope* RopeChoice::choose(const Model& model) const {
  if (model.ropes().empty()) return nullptr;
  if (!rope_.empty()) {
    const ModelRope* rope = model.find_rope(rope_);
    if (!rope) throw Failure(Exit::usage, "--rope " + rope_ + ": the model's ropes are " + rope_names(model));
    return rope;
  }
  if (layer_ && !model.layers().empty()) {
    const auto layers = static_cast<std::int64_t>(model.layers().size());
    if (*layer_ >= layers)
      throw Failure(Exit::usage, "--layer " + std::to_string(*layer_) + ": the model has " +
                                     std::to_string(layers) + " layers, 0 to " + std::to_string(layers - 1));
    const auto index = model.layers()[static_cast<std::size_t>(*layer_)];
    return index ? &model.ropes()[*index] : nullptr;
  }
  if (std::ranges::count(model.ropes(), true, &ModelRope::of_layers) != 1)
    throw Failure(Exit::usage,
                  "the model's ropes are " + rope_names(model) + ": choose with --layer or --rope");
  return &*std::ranges::find(model.ropes(), true, &ModelRope::of_layers);
}

}  // namespace rotary::tool
