// SPDX-License-Identifier: Apache-2.0
// What `rotary explain` shows, for people and for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <rotary/model.hpp>
#include <string>
#include <vector>

#include "peer_words.hpp"

namespace rotary::tool {

/// The report in plain words; what is doubtful comes first.
/// `reports` are those of the model as it was read; where it is shown as a peer, only that one's is told.
std::string explain_text(const Model& model, std::optional<std::int64_t> length,
                         const std::vector<PeerReport>& reports, std::optional<Peer> as);

/// Schema rotary.explain/1.
nlohmann::ordered_json explain_json(const Model& model, std::optional<std::int64_t> length,
                                    const std::vector<PeerReport>& reports, std::optional<Peer> as);

/// Objects indented, arrays of numbers on one line; ends with a newline.
std::string pretty(const nlohmann::ordered_json& json);

}  // namespace rotary::tool
