// SPDX-License-Identifier: Apache-2.0
// How other systems read the same model, against this library's reading: for people and for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <rotary/model.hpp>
#include <string>
#include <vector>

namespace rotary::tool {

struct PeerReport {
  std::size_t rope;     ///< index into the model's ropes
  std::int64_t tokens;  ///< of the sequence: --length, else the context, else the original length
  Rope ours;            ///< at so many tokens
  PeerRope theirs;
  PeerDifference difference;  ///< at the last of the tokens; none where theirs is an error

  bool agrees() const { return theirs.rope.ok() && difference.none(); }
};

/// Every peer's reading of every rope. The model as it was read, not as a peer.
std::vector<PeerReport> peer_reports(const Model& model, std::optional<std::int64_t> length);

/// The section "peers" of one rope; empty where all give the same numbers at every length.
std::string peers_text(const std::vector<PeerReport>& reports, std::size_t rope, std::size_t indent);
/// What that peer changes in the file's own numbers, and why.
std::string against_text(const std::vector<PeerReport>& reports, std::size_t rope, Peer peer,
                         std::size_t indent);
/// One object a rope and peer.
nlohmann::ordered_json peers_json(const std::vector<PeerReport>& reports);

}  // namespace rotary::tool
