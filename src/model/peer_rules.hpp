// SPDX-License-Identifier: Apache-2.0
// What peers do otherwise: one ordered list of rules, each with its sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <rotary/peer.hpp>
#include <rotary/scaling.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::impl {

/// A rope's description, as far as peers read it; rules change it into theirs.
struct PeerReading {
  Scaling scaling;
  std::optional<std::int64_t> length = {};   ///< that chooses the frequencies
  std::vector<std::uint8_t> axis = {};       ///< of each pair
  std::optional<std::int64_t> context = {};  ///< max_position_embeddings
  std::string_view model_type = {};
  bool is_gguf = false;
  bool is_of_text = true;  ///< not of an image encoder, which has its own code
  bool is_latent = false;  ///< latent attention: part of the head turns, behind one that does not
  bool original_length_assumed = false;  ///< nobody states it
  bool magnitude_is_settled = false;     ///< A is the architecture's, not a key's: every peer has it
  bool truncate_is_nested = false;       ///< in the dictionary of a layer type
};

struct PeerRule {
  unsigned peers;
  std::string_view sentence;
  void (*apply)(PeerReading&);

  bool is_of(Peer peer) const noexcept { return (peers >> static_cast<unsigned>(peer) & 1U) != 0; }
};

/// In the order in which they apply.
std::span<const PeerRule> peer_rules() noexcept;

/// Error unless the peer has such a scaling type.
Status check_peer_type(Peer peer, std::string_view scaling_type);

/// Whose length decides, for types that depend on it.
struct PeerLengthRule {
  Peer peer;
  std::string_view scaling_type;
  std::optional<LengthRule> rule;
  std::string_view words;
};
const PeerLengthRule* peer_length_rule(Peer peer, std::string_view scaling_type) noexcept;

}  // namespace rotary::impl
