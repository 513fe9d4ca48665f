// SPDX-License-Identifier: Apache-2.0
/// @file
/// The same file, as other systems read it. They disagree about YaRN's magnitude, about who chooses LongRoPE's
/// list, about dynamic NTK; a score is then off by a constant or by position, and nothing fails.
///
///     auto model = rotary::Model::from_path("config.json").value();
///     auto theirs = model.as(rotary::Peer::vllm).value();    // their numbers, everywhere a Model goes
///     auto view = model.rope_as(rotary::Peer::vllm, 0);      // one rope, and why it differs
///     auto d = rotary::difference(model.ropes()[0].rope, *view.rope, 131071);
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <rotary/export.hpp>
#include <rotary/length_rule.hpp>
#include <rotary/rope.hpp>
#include <rotary/status.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rotary {

/// A system whose reading of a file is known. Sources and versions: docs/peers.md.
enum class Peer : std::uint8_t { transformers, llama_cpp, vllm, sglang, mlx };

inline constexpr std::array peers{Peer::transformers, Peer::llama_cpp, Peer::vllm, Peer::sglang, Peer::mlx};

/// "transformers", "llama.cpp", "vllm", "sglang", "mlx".
ROTARY_API std::string_view name(Peer peer) noexcept;
ROTARY_API std::optional<Peer> peer_from_name(std::string_view word) noexcept;

/// One rope of a model as a peer computes it.
struct PeerRope {
  Peer peer;
  /// Error (unsupported): the peer has no such scaling type, or wants a key that the file lacks; or nothing is known of
  /// its code for such a rope, which is_known then says.
  Result<Rope> rope;
  /// What the peer does otherwise than this library, where it changed a number: a sentence each.
  std::vector<std::string> reasons = {};
  /// Whose length decides; empty where the frequencies do not depend on it, or the peer does not look.
  std::optional<LengthRule> length_rule = {};
  /// The same in a sentence; empty for types that do not depend on the length.
  std::string length_words = {};
  bool is_known = true;
};

/// How far two ropes of the same width are apart.
struct PeerDifference {
  double attention_factor = 1;  ///< theirs over ours; a score of rotated lanes goes by its square
  double softmax_factor = 1;    ///< theirs over ours
  std::int64_t pairs = 0;       ///< that turn by another frequency, or by another axis
  std::int64_t worst_pair = 0;  ///< the one whose angle is furthest off
  double angle = 0;             ///< theirs less ours at that pair, radians

  bool none() const noexcept { return attention_factor == 1 && softmax_factor == 1 && pairs == 0; }
};
/// At that position, the same on every axis. Numbers within 1e-12 of each other are the same; a rope of another
/// width differs in all its pairs.
ROTARY_API PeerDifference difference(const Rope& ours, const Rope& theirs, double position) noexcept;

}  // namespace rotary
