// SPDX-License-Identifier: Apache-2.0
// What peers do otherwise: one ordered list of rules, each with its sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <rotary/model.hpp>
#include <rotary/scaling.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::impl {

/// A rope's description, as far as peers read it; rules change it into theirs.
struct PeerReading {
  Scaling scaling;
  std::optional<double> base = {};           ///< empty: frequencies of the file's own
  std::int64_t head_dim = 0;                 ///< lanes
  std::int64_t rotary_dim = 0;               ///< lanes
  std::int64_t rotary_offset = 0;            ///< lanes
  std::optional<std::int64_t> length = {};   ///< that chooses the frequencies
  std::vector<std::uint8_t> axis = {};       ///< of each pair
  std::optional<std::int64_t> context = {};  ///< max_position_embeddings
  std::string_view model_type = {};
  std::string_view rope_name = {};  ///< "global", "local", "default", ...
  RopeWording wording = {};
  bool is_gguf = false;
  bool is_config = false;       ///< a config.json, as Hugging Face's code reads it
  bool is_of_text = true;       ///< not of an encoder of images or sound, which has its own code
  bool is_generator = false;    ///< of images or video, as diffusers has them
  bool follows_scaled = false;  ///< of local layers, where the global rope of the same dictionary is scaled
  bool is_latent = false;       ///< latent attention: part of the head turns, behind one that does not
  bool original_length_assumed = false;  ///< nobody states it
  bool is_refused = false;               ///< the peer cannot run what the last rule met
};

/// A set of peers.
template <class... Peers>
constexpr unsigned of(Peers... peers) {
  return ((1U << static_cast<unsigned>(peers)) | ...);
}

struct PeerRule {
  unsigned peers;
  std::string_view sentence;
  void (*apply)(PeerReading&);
  /// Instead: where it is met, the peer cannot run the file, and the sentence says why.
  bool (*is_refused)(const PeerReading&) = nullptr;
  bool is_known = true;  ///< false: refused since nothing is known of the peer's code

  bool is_of(Peer peer) const noexcept { return (peers >> static_cast<unsigned>(peer) & 1U) != 0; }
};

/// In the order in which they apply.
std::span<const PeerRule> peer_rules() noexcept;
/// The first of all: what Transformers' config and rotary classes do not look at.
std::span<const PeerRule> transformers_rules() noexcept;

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
