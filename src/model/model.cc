// SPDX-License-Identifier: Apache-2.0
#include <rotary/model.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/in_quotes.hpp"
#include "model/builder.hpp"
#include "model/keys.hpp"
#include "model/readers.hpp"
#include "model/stored_frequencies.hpp"

namespace rotary {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_config_bytes = 16 << 20;

Result<std::string> read_text(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return impl::failure(StatusCode::unreadable, path.string(), ": ", error.message());
  if (size > most_config_bytes) {
    return impl::failure(StatusCode::malformed, path.string(), ": ", size, " bytes, at most ",
                         most_config_bytes);
  }
  std::string text(size, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (!file) return impl::failure(StatusCode::unreadable, path.string(), ": cannot be read");
  return text;
}

/// The file of a folder that describes its model.
std::optional<fs::path> description_in(const fs::path& folder) {
  std::error_code error;
  for (const auto name : {"config.json", "params.json"}) {
    if (fs::exists(folder / name, error)) return folder / name;
  }
  return std::nullopt;
}

Result<Model> from_text(std::string_view json, Model::Source source, const std::string& origin,
                        const ModelOptions& options, const std::optional<fs::path>& weights = {}) {
  const auto document = impl::parse_json(json);
  if (!document) return impl::failure(document.status().code(), origin, ": ", document.status().message());
  // A file of diffusers may have the keys of a params.json, too.
  const bool diffusers = impl::is_diffusers(*document), params = !diffusers && impl::is_params(*document);
  ModelBuilder builder(params && source == Model::Source::hf_config ? Model::Source::params : source, origin,
                       options);
  const auto read = diffusers ? impl::read_diffusers : params ? impl::read_params : impl::read_hf_config;
  read(*document, builder);
  if (weights) impl::compare_stored(*weights, builder);
  return std::move(builder).finish();
}

Result<Model> from_parts(impl::GgufParts parts, const std::string& origin, const ModelOptions& options) {
  ModelBuilder builder(Model::Source::gguf, origin, options);
  impl::read_gguf(parts, builder);
  return std::move(builder).finish();
}

}  // namespace

Result<Model> Model::from_path(const std::string& path, const ModelOptions& options) {
  std::error_code error;
  fs::path file(path);
  std::optional<fs::path> weights;
  if (fs::is_directory(file, error)) {
    weights = impl::weights_in(file);
    file = description_in(file).value_or(file / "config.json");
  }
  if (file.extension() == ".gguf") {
    const auto parts = impl::open_gguf_parts(file.string());
    return parts ? from_parts(*parts, file.string(), options) : parts.status();
  }
  if (file.extension() == ".safetensors") {
    const auto beside = description_in(file.parent_path());
    if (!beside)
      return impl::failure(StatusCode::unreadable, path, ": a .safetensors says nothing about its rope, and ",
                           "there is no config.json or params.json beside it");
    weights = file;
    file = *beside;
  }
  const auto text = read_text(file);
  if (!text) return text.status();
  return from_text(*text, Source::hf_config, file.string(), options, weights);
}

Result<Model> Model::from_gguf(const formats::Gguf& file, const std::string& origin,
                               const ModelOptions& options) {
  return from_parts({&file, 1}, origin, options);
}

Result<Model> Model::from_config(std::string_view json, const std::string& origin,
                                 const ModelOptions& options) {
  return from_text(json, Source::hf_config, origin, options);
}

Result<Model> Model::from_preset(std::string_view name, const ModelOptions& options) {
  const auto preset = std::ranges::find(presets(), name, &Preset::name);
  if (preset == presets().end()) {
    std::vector<std::string_view> names;
    for (const Preset& known : presets()) names.push_back(known.name);
    return impl::invalid("no preset of the name ", impl::in_quotes(name), impl::did_you_mean(name, names));
  }
  return from_text(preset->config, Source::preset, std::string(name), options);
}

Result<Model> Model::from_rope(const RopeOptions& rope, const ModelOptions& options,
                               const std::string& origin) {
  RopeOptions chosen = rope;
  if (options.pairing) chosen.pairing = *options.pairing;
  auto made = Rope::make(chosen);
  if (!made) return made.status();
  ModelBuilder builder(Source::flags, origin, options);
  builder.add_rope("default", *std::move(made), origin);
  return std::move(builder).finish();
}

const ModelRope* Model::find_rope(std::string_view name) const noexcept {
  const auto found = std::ranges::find(ropes_, name, &ModelRope::name);
  return found == ropes_.end() ? nullptr : &*found;
}

Result<std::optional<QueryTemperature>> Model::temperature_for_layer(std::int64_t layer) const {
  const auto layers = static_cast<std::int64_t>(layers_.size());
  if (layer < 0 || (layer >= layers && layers > 0)) {
    return impl::failure(StatusCode::out_of_range, origin_, ": layer ", layer, ": there are ", layers);
  }
  if (!temperature_) return std::optional<QueryTemperature>();
  const bool has_rope = layers == 0 || layers_[static_cast<std::size_t>(layer)].has_value();
  if (temperature_->without_rope && has_rope) return std::optional<QueryTemperature>();
  return std::optional(temperature_->query);
}

Result<Rope> Model::rope_for_layer(std::int64_t layer) const {
  const auto layers = static_cast<std::int64_t>(layers_.size());
  const auto of_layers = std::ranges::count(ropes_, true, &ModelRope::of_layers);
  if (layers == 0 && of_layers == 1 && layer >= 0) {
    return std::ranges::find(ropes_, true, &ModelRope::of_layers)->rope;
  }
  if (layer < 0 || layer >= layers) {
    return impl::failure(StatusCode::out_of_range, origin_, ": layer ", layer, ": there are ", layers);
  }
  const auto rope = layers_[static_cast<std::size_t>(layer)];
  if (!rope) return impl::invalid(origin_, ": layer ", layer, " has no rope");
  return ropes_[*rope].rope;
}

}  // namespace rotary
