// SPDX-License-Identifier: Apache-2.0
// MODEL on the command line: a file, a preset's name, or flags alone; and the choice of one of its ropes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <rotary/model.hpp>
#include <string>
#include <vector>

namespace rotary::tool {

class ModelArgument {
 public:
  /// The positional MODEL and every flag that describes one.
  void add_to(CLI::App& command);

  /// The model, as --as asks for it. Throws Failure.
  Model load() const { return as_asked(stated()); }
  /// The model as its description states it. Throws Failure.
  Model stated() const;
  /// Throws Failure: the peer cannot run one of its ropes.
  Model as_asked(const Model& stated) const;
  std::optional<Peer> as() const { return peer_from_name(as_); }
  std::optional<std::int64_t> length() const noexcept { return length_; }

 private:
  ModelOptions options() const;
  Model from_word() const;
  Model from_flags() const;
  std::string first_structure_flag() const;

  std::string word_;
  std::optional<double> base_;
  std::optional<std::int64_t> head_dim_, rotary_dim_, rotary_offset_;
  std::string axis_sections_;
  std::string axis_order_;
  std::string scaling_;
  std::map<std::string, std::string> scaling_fields_;  // by the name in scaling.hpp; empty: not given
  std::string pairing_, angles_, as_;
  std::optional<std::int64_t> length_;
  bool strict_ = false;
};

/// --layer N or --rope NAME; a model with one rope needs neither.
class RopeChoice {
 public:
  void add_to(CLI::App& command);
  /// Null where the chosen layer, or the model, has no rope. Throws Failure: neither flag and several ropes,
  /// no such layer or rope.
  const ModelRope* choose(const Model& model) const;
  std::optional<std::int64_t> layer() const noexcept { return layer_; }

 private:
  std::optional<std::int64_t> layer_;
  std::string rope_;
};

}  // namespace rotary::tool
