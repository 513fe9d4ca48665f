// SPDX-License-Identifier: Apache-2.0
// Puts a Model together. The first failure sticks; whoever reads goes on with nothing and finish() reports
// it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <rotary/model.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/message.hpp"

namespace rotary {
namespace impl {

inline constexpr std::int64_t most_layers = 10000;

/// A value and who stated it.
template <class T>
struct Sourced {
  T value{};
  std::string from;
  bool assumed = false;
};

/// One rope, as far as a file and its family describe it.
struct RopeDescription {
  std::string name = "default";
  Sourced<std::int64_t> head_dim, rotary_dim, rotary_offset;
  Sourced<double> base;
  Sourced<Scaling> scaling;
  std::vector<ModelValue> scaling_values;  ///< of the fields of the scaling
  std::vector<double> other_factors;       ///< linear: of the ropes beside this one
  Sourced<std::vector<double>> divisors;   ///< of each pair's frequency, after the scaling; or empty
  Sourced<std::vector<std::int64_t>> axis_sections;
  Sourced<AxisOrder> axis_order;
  Sourced<Pairing> pairing;
  Sourced<Direction> direction;
  std::optional<Sourced<std::int64_t>> original_context, context;
  std::optional<Spectrum> spectrum;  ///< instead of one made from base, scaling and sections
  bool of_layers = true;             ///< false: of another tower, which the layers do not count
  RopeWording wording = {};

  /// Its YaRN, if it has one, has no magnitude in the model's own code: A = 1, and no peer computes another.
  void settle_magnitude(std::string from);
};

}  // namespace impl

class ModelBuilder {
 public:
  ModelBuilder(Model::Source source, std::string origin, const ModelOptions& options);

  const ModelOptions& options() const noexcept { return options_; }
  /// What there is so far.
  const Model& model() const noexcept { return model_; }
  bool failed() const noexcept { return !status_.ok(); }
  template <class... Pieces>
  void fail(StatusCode code, const Pieces&... pieces) {
    if (!failed()) status_ = impl::failure(code, model_.origin_, ": ", pieces...);
  }
  template <class... Pieces>
  void malformed(const Pieces&... pieces) {
    fail(StatusCode::malformed, pieces...);
  }
  template <class... Pieces>
  void warn(const Pieces&... pieces) {
    model_.warnings_.push_back(impl::message(pieces...));
  }

  /// Fails where no model has so many layers; `from` states them.
  bool accept_layers(std::string_view from, std::int64_t count) {
    if (count >= 0 && count <= impl::most_layers) return true;
    malformed(from, " ", count, ": must be from 0 to ", impl::most_layers);
    return false;
  }

  /// Once, however often it is found.
  void warn_once(const std::string& warning) {
    if (std::ranges::find(model_.warnings_, warning) == model_.warnings_.end()) warn(warning);
  }

  void set_names(std::string architecture, std::string model_type);
  /// Its index is the number of ropes before it.
  void add_rope(const impl::RopeDescription& rope);
  void add_rope(std::string name, Rope rope, std::string from);
  /// The same rope once for each of its other factors; no layer has them.
  void add_other_factors(const impl::RopeDescription& rope);
  /// Of the layers without rope, positions count from 1 (Llama 4); of all layers, from 0. A scale of 0 is none.
  void set_temperature(const impl::Sourced<double>& scale, const impl::Sourced<double>& length,
                       bool without_rope);
  void add_value(ModelValue value) { model_.values_.push_back(std::move(value)); }
  void set_layers(std::vector<std::optional<std::size_t>> layers) { model_.layers_ = std::move(layers); }

  Result<Model> finish() &&;

 private:
  ModelOptions options_;
  Status status_;
  Model model_;
};

}  // namespace rotary
