// SPDX-License-Identifier: Apache-2.0
#include "model/stored_frequencies.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "base/in_quotes.hpp"
#include "model/json.hpp"

namespace rotary::impl {
namespace {

namespace fs = std::filesystem;
using formats::FileTensor;

constexpr std::uintmax_t most_index_bytes = 64 << 20;
constexpr std::size_t most_files = 1000;
constexpr std::size_t most_warnings = 3;  // of tensors that belong to no rope
/// An fp32 power and its reciprocal are off by a few steps, wherever they were computed.
constexpr double rounding = 1e-6;

/// "model.layers.3.self_attn.rotary_emb.inv_freq", "rotary_emb.inv_freq", Meta's "rope.freqs"; not those of an encoder.
bool holds_frequencies(std::string_view name) {
  if (name.find("vis") != name.npos || name.find("audio") != name.npos) return false;
  return name == "rope.freqs" || (name.ends_with("inv_freq") && name.find("rotary") != name.npos);
}

std::optional<std::size_t> layer_of(std::string_view name) {
  for (const std::string_view word : {"layers.", "h.", "blocks."}) {
    const auto at = name.find(word);
    if (at == name.npos || (at != 0 && name[at - 1] != '.')) continue;
    const char* begin = name.data() + at + word.size();
    std::size_t layer = 0;
    if (std::from_chars(begin, name.data() + name.size(), layer).ec == std::errc()) return layer;
  }
  return std::nullopt;
}

/// The rope a tensor belongs to, or why there is none.
struct Owner {
  std::optional<std::size_t> rope;
  std::string doubt;
};

/// By its layer or by its name.
Owner rope_of(const Model& model, std::string_view name) {
  const std::size_t count = model.layers().size();
  if (const auto layer = layer_of(name); layer && count > 0) {
    if (*layer >= count) return {{}, message("of layer ", *layer, ", where the description has ", count)};
    if (!model.layers()[*layer])
      return {{}, message("of layer ", *layer, ", which has no rope by the description")};
    return {model.layers()[*layer], ""};
  }
  const auto named = [&](std::string_view rope) -> Owner {
    const ModelRope* found = model.find_rope(rope);
    if (found == nullptr)
      return {{}, message("of a rope ", in_quotes(rope), ", which the description lacks")};
    return {static_cast<std::size_t>(found - model.ropes().data()), ""};
  };
  if (name.find("local") != name.npos || name.find("sliding_attention") != name.npos) return named("local");
  return model.find_rope("default") ? named("default") : named("global");
}

template <class Element>
double element(const std::byte* at) {
  Element value;
  std::memcpy(&value, at, sizeof value);
  if constexpr (std::is_same_v<Element, double>) return value;
  if constexpr (std::is_same_v<Element, float>) return static_cast<double>(value);
  if constexpr (requires { to_float(value); }) return static_cast<double>(to_float(value));
}

/// Empty for other element types.
std::vector<double> numbers_in(const FileTensor& tensor) {
  double (*read)(const std::byte*) = nullptr;
  if (tensor.dtype == DType::f64) read = element<double>;
  if (tensor.dtype == DType::f32) read = element<float>;
  if (tensor.dtype == DType::f16) read = element<f16>;
  if (tensor.dtype == DType::bf16) read = element<bf16>;
  std::vector<double> numbers;
  const std::size_t size = size_of(tensor.dtype);
  for (std::size_t i = 0; read != nullptr && i + size <= tensor.bytes.size(); i += size)
    numbers.push_back(read(tensor.bytes.data() + i));
  return numbers;
}

double as_f32(double x) { return x; }
double as_bf16(double x) { return static_cast<double>(to_float(to_bf16(static_cast<float>(x)))); }
double as_f16(double x) { return static_cast<double>(to_float(to_f16(static_cast<float>(x)))); }

/// The first pair whose stored number is not the rounded one, give or take what fp32 is off by; or nothing.
std::optional<std::size_t> first_difference(std::span<const double> theory, std::span<const double> stored,
                                            double (*rounded)(double)) {
  for (std::size_t i = 0; i < theory.size(); ++i) {
    const double a = rounded(theory[i] * (1 - rounding)), b = rounded(theory[i] * (1 + rounding));
    if (!(std::min(a, b) <= stored[i] && stored[i] <= std::max(a, b))) return i;
  }
  return std::nullopt;
}

struct Verdict {
  std::string agreement;  ///< empty: they differ
  std::string doubt;      ///< what to warn of
};

Verdict compare(const Rope& rope, const FileTensor& tensor) {
  const auto stored = numbers_in(tensor);
  if (stored.empty() && !tensor.bytes.empty())
    return {"", message("of type ", name(tensor.dtype), ", must be f64, f32, f16 or bf16")};
  const auto theory = rope.spectrum().inv_freq();
  if (stored.size() != theory.size()) {
    return {"", message(stored.size(), " numbers, the rope has ", theory.size(), " pairs")};
  }
  const auto difference = first_difference(theory, stored, as_f32);
  if (!difference) return {"equal to fp32 rounding", ""};
  constexpr std::tuple<std::string_view, std::string_view, double (*)(double)> narrow[] = {
      {"bf16", "0.4", as_bf16}, {"f16", "0.05", as_f16}};
  for (const auto& [type, percent, rounded] : narrow) {
    if (first_difference(theory, stored, rounded)) continue;
    return {message("equal after rounding to ", type),
            message("rounded to ", type, ": whoever turns by them is off by up to ", percent,
                    " % of the angle; take the description's")};
  }
  if (const auto base = rope.spectrum().base(); base && rope.spectrum().parts().empty()) {
    const auto plain = Spectrum::make({.rotary_dim = rope.rotary_dim(), .base = *base});
    if (plain && !first_difference(plain->inv_freq(), stored, as_f32)) {
      return {message("those without scaling ", name(rope.spectrum().scaling())), ""};
    }
  }
  return {"",
          message("pair ", *difference, ": expected ", theory[*difference], ", got ", stored[*difference])};
}

struct Found {
  std::size_t tensors = 0;
  std::string first;  ///< its name
  Verdict verdict;
};

std::string read_whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The files of an index that hold tensors of frequencies. A name that leaves the folder is none.
Result<std::set<std::string>> files_of(const fs::path& index) {
  std::error_code error;
  if (fs::file_size(index, error) > most_index_bytes || error)
    return failure(StatusCode::malformed, index.string(), ": larger than ", most_index_bytes, " bytes");
  const auto document = parse_json(read_whole(index));
  if (!document) return failure(StatusCode::malformed, index.string(), ": ", document.status().message());
  const auto* object = document->get<Json::Object>();
  const Json* map = object == nullptr ? nullptr : find(*object, "weight_map");
  const auto* entries = map == nullptr ? nullptr : map->get<Json::Object>();
  if (entries == nullptr)
    return failure(StatusCode::malformed, index.string(), ": weight_map: expected an object");
  std::set<std::string> files;
  for (const auto& [tensor, value] : *entries) {
    if (!holds_frequencies(tensor)) continue;
    const auto* file = value.get<std::string>();
    if (file == nullptr || file->empty() || fs::path(*file).filename() != *file ||
        files.size() == most_files) {
      return failure(StatusCode::malformed, index.string(), ": weight_map: ", in_quotes(tensor),
                     ": must name a file of the same folder");
    }
    files.insert(*file);
  }
  return files;
}

}  // namespace

std::optional<fs::path> weights_in(const fs::path& folder) {
  std::error_code error;
  for (const auto name : {"model.safetensors.index.json", "model.safetensors"}) {
    if (fs::exists(folder / name, error)) return folder / name;
  }
  return std::nullopt;
}

void compare_stored(const formats::Safetensors& file, const std::string& origin, ModelBuilder& builder) {
  std::map<std::size_t, std::map<std::string, Found>> by_rope;
  std::map<std::string, std::string> homeless;  // by doubt, the first tensor
  for (const FileTensor& tensor : file.tensors()) {
    if (!holds_frequencies(tensor.name)) continue;
    const auto [rope, doubt] = rope_of(builder.model(), tensor.name);
    if (!rope) {
      homeless.try_emplace(doubt, tensor.name);
      continue;
    }
    const auto verdict = compare(builder.model().ropes()[*rope].rope, tensor);
    auto& found = by_rope[*rope][verdict.agreement + verdict.doubt];
    if (found.tensors++ == 0) found = {1, tensor.name, verdict};
  }
  std::size_t said = 0;
  for (const auto& [doubt, tensor] : homeless) {
    if (said++ == most_warnings) {
      builder.warn(origin, ": and ", homeless.size() - most_warnings, " more whose rope is not described");
      break;
    }
    builder.warn(origin, ": ", in_quotes(tensor), ": ", doubt, ", so it is not compared");
  }
  for (const auto& [rope, verdicts] : by_rope) {
    for (const auto& [key, found] : verdicts) {
      const auto& [tensors, first, verdict] = found;
      const std::string which =
          message(in_quotes(first), tensors == 1 ? "" : message(" and ", tensors - 1, " more"));
      const std::string agreement = verdict.agreement.empty() ? "differ" : verdict.agreement;
      builder.add_value({rope, "stored_inv_freq", agreement, message(which, " of ", origin)});
      if (!verdict.doubt.empty()) builder.warn(origin, ": ", which, ": ", verdict.doubt);
    }
  }
}

void compare_stored(const fs::path& weights, ModelBuilder& builder) {
  if (builder.failed() || builder.model().ropes().empty()) return;
  std::set<std::string> files = {weights.filename().string()};
  if (weights.extension() == ".json") {
    auto named = files_of(weights);
    if (!named) return builder.warn(named.status().message(), "; its stored frequencies are not read");
    files = *std::move(named);
  }
  for (const auto& name : files) {
    const fs::path path = weights.parent_path() / name;
    std::error_code error;
    if (weights.extension() != ".json" && !fs::exists(path, error)) continue;
    const auto file = formats::Safetensors::open(path.string());
    if (!file) {
      builder.warn(file.status().message(), "; its stored frequencies are not read");
      continue;
    }
    compare_stored(*file, name, builder);
  }
}

}  // namespace rotary::impl
