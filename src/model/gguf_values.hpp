// SPDX-License-Identifier: Apache-2.0
// Typed reading of a GGUF's keys and of its tensors with one number a pair. A value of the wrong type is a failure that
// names the key, never a missing one: the default would silently be another rope.
#pragma once

#include <initializer_list>
#include <optional>
#include <rotary/formats/gguf.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/builder.hpp"
#include "model/family.hpp"

namespace rotary::impl {

/// The parts of one file, the first of which has the keys.
using GgufParts = std::span<const formats::Gguf>;

class GgufValues {
 public:
  GgufValues(GgufParts parts, std::string architecture, ModelBuilder& builder)
      : parts_(parts), architecture_(std::move(architecture)), builder_(builder) {}

  const formats::Gguf& file() const noexcept { return parts_.front(); }
  const std::string& architecture() const noexcept { return architecture_; }
  /// "llama.rope.freq_base"
  std::string key(std::string_view name) const { return message(architecture_, ".", name); }
  bool has(std::string_view name) const { return file().find(key(name)) != nullptr; }

  std::optional<Sourced<double>> number(std::string_view name) const;
  /// From 0 to `most`.
  std::optional<Sourced<std::int64_t>> integer(std::string_view name, double most) const;
  std::optional<Sourced<bool>> boolean(std::string_view name) const;
  std::optional<Sourced<std::string>> text(std::string_view name) const;
  /// A list of numbers; of a single number, nothing.
  std::optional<std::span<const double>> numbers(std::string_view name) const;
  void check_whole(const Sourced<double>& value, double least, double most) const;
  void check(const Sourced<double>& value, double least, double most) const;
  void wrong(const std::string& path, std::string_view expected) const;

  /// The first that is stated, else the other.
  static Sourced<double> first(std::initializer_list<std::optional<Sourced<double>>> stated,
                               Sourced<double> otherwise) {
    for (const auto& value : stated) {
      if (value) return *value;
    }
    return otherwise;
  }
  std::string family_default() const { return message("default of ", architecture()); }
  bool has_tensor(std::string_view name) const;
  /// `pairs` positive numbers of a tensor of any part, or nothing where there is none of that name.
  std::optional<std::vector<double>> divisors(const std::string& name, std::int64_t pairs) const;

 private:
  GgufParts parts_;
  std::string architecture_;
  ModelBuilder& builder_;
};

/// The scaling of a rope whose window is known, and what each frequency is divided by after it.
void read_scaling(const GgufValues& values, const Family& family, RopeDescription& rope,
                  ModelBuilder& builder);

/// How the queries grow with their position, if they do.
void read_temperature(const GgufValues& values, bool tunes_no_rope, ModelBuilder& builder);

/// The file and, if it is the first of a split one, its other parts. Errors: another part than the first, one that is
/// missing or is of another file.
Result<std::vector<formats::Gguf>> open_gguf_parts(const std::string& path);

}  // namespace rotary::impl
