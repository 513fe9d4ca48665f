// SPDX-License-Identifier: Apache-2.0
#include "peer_words.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "scaling_words.hpp"
#include "text.hpp"

namespace rotary::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t otherwise_tokens = 4096;

std::string times_words(double ratio) {
  return rounded(ratio > 1 ? ratio : 1 / ratio) + (ratio > 1 ? " times larger" : " times smaller");
}

std::string number(double value) { return rounded(value, 9); }

/// Of that many tokens; 1 where there is no other, since nothing turns at 0.
std::int64_t last_position(std::int64_t tokens) { return std::max<std::int64_t>(tokens - 1, 1); }

std::string angle_words(const PeerReport& report) {
  const auto& d = report.difference;
  const std::int64_t ours = report.ours.rotary_dim(), theirs = report.theirs.rope->rotary_dim();
  if (ours != theirs) {
    return "it turns " + std::to_string(theirs) + " lanes instead of " + std::to_string(ours) +
           ", and so all pairs otherwise";
  }
  const std::string pairs = std::to_string(d.pairs) + (d.pairs == 1 ? " pair" : " pairs");
  if (d.angle == 0) return pairs + " follow another axis";
  const double turns = std::fabs(d.angle) / (2 * std::numbers::pi);
  return "the angle of pair " + std::to_string(d.worst_pair) + " at position " +
         std::to_string(last_position(report.tokens)) + " differs by " + rounded(std::fabs(d.angle)) +
         " rad" + (turns >= 1 ? " (" + rounded(turns) + " turns)" : "") + ", the furthest of " + pairs;
}

/// What the peer gives, and why.
std::string difference_words(const PeerReport& report) {
  if (!report.theirs.rope.ok()) {
    return (report.theirs.is_known ? "cannot run it: " : "") + report.theirs.rope.status().message();
  }
  if (report.difference.none()) return "the same numbers";
  const Spectrum &ours = report.ours.spectrum(), &theirs = report.theirs.rope->spectrum();
  const auto& d = report.difference;
  std::vector<std::string> parts;
  if (d.attention_factor != 1) {
    parts.push_back("attention factor " + number(theirs.attention_factor()) + " instead of " +
                    number(ours.attention_factor()) + ": scores of rotated lanes " +
                    times_words(d.attention_factor * d.attention_factor));
  }
  if (d.softmax_factor != 1) {
    parts.push_back("softmax factor " + number(theirs.softmax_factor()) + " instead of " +
                    number(ours.softmax_factor()) + ": all scores " + times_words(d.softmax_factor));
  }
  if (d.pairs > 0) parts.push_back(angle_words(report));
  const auto& reasons = report.theirs.reasons;
  return list(parts, "; ") + (reasons.empty() ? "" : ". Why: " + list(reasons, "; "));
}

std::string length_words(const PeerReport& report) {
  if (report.theirs.length_words.empty() || !report.theirs.rope.ok()) return {};
  const std::string choice = choice_words(report.theirs.rope->spectrum());
  return ". Length: " + report.theirs.length_words + (choice.empty() ? "" : "; here " + choice);
}

Json or_null(double ratio, bool known) { return known ? Json(ratio) : Json(); }

}  // namespace

std::vector<PeerReport> peer_reports(const Model& model, std::optional<std::int64_t> length) {
  std::vector<PeerReport> reports;
  for (std::size_t i = 0; i < model.ropes().size(); ++i) {
    const ModelRope& entry = model.ropes()[i];
    const auto stated = length ? length : entry.context ? entry.context : entry.original_context;
    const std::int64_t tokens = std::max<std::int64_t>(stated.value_or(otherwise_tokens), 1);
    const auto at_length = model.rope_at(i, tokens);
    const Rope ours = at_length ? *at_length : entry.rope;
    for (const Peer peer : peers) {
      PeerReport report{i, tokens, ours, model.rope_as(peer, i, tokens), {}};
      if (report.theirs.rope.ok()) {
        report.difference = difference(ours, *report.theirs.rope, static_cast<double>(last_position(tokens)));
      }
      reports.push_back(std::move(report));
    }
  }
  return reports;
}

std::string peers_text(const std::vector<PeerReport>& reports, std::size_t rope, std::size_t indent) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // what they give; who
  std::int64_t tokens = 0;
  bool all_agree = true;
  for (const PeerReport& report : reports) {
    if (report.rope != rope) continue;
    tokens = report.tokens;
    const std::string length = length_words(report);
    all_agree = all_agree && report.agrees() && length.empty();
    const std::string words = difference_words(report) + length;
    auto group = std::ranges::find(groups, words, [](const auto& g) { return g.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {words, {}});
    group->second.emplace_back(name(report.theirs.peer));
  }
  if (all_agree) return {};
  std::string text = paragraph(
      "  peers", indent,
      "how others run this file, against the numbers above, at " + std::to_string(tokens) + " tokens");
  for (const auto& [words, who] : groups) {
    text += paragraph(std::string(indent, ' ') + "- ", indent + 2, list(who) + ": " + words);
  }
  return text;
}

std::string against_text(const std::vector<PeerReport>& reports, std::size_t rope, Peer peer,
                         std::size_t indent) {
  for (const PeerReport& report : reports) {
    if (report.rope != rope || report.theirs.peer != peer) continue;
    return paragraph("  the file", indent,
                     "against its own numbers, at " + std::to_string(report.tokens) +
                         " tokens: " + difference_words(report) + length_words(report));
  }
  return {};
}

Json peers_json(const std::vector<PeerReport>& reports) {
  Json all = Json::array();
  for (const PeerReport& report : reports) {
    const bool runs = report.theirs.rope.ok();
    const auto& d = report.difference;
    const bool as_wide = runs && report.theirs.rope->rotary_dim() == report.ours.rotary_dim();
    const Json rule = report.theirs.length_rule ? Json(name(*report.theirs.length_rule)) : Json();
    all.push_back(
        {{"rope", report.rope},
         {"peer", name(report.theirs.peer)},
         {"status", !report.theirs.is_known ? "unknown"
                    : !runs                 ? "unsupported"
                    : d.none()              ? "same"
                                            : "differs"},
         {"tokens", report.tokens},
         {"attention_factor", or_null(runs ? report.theirs.rope->spectrum().attention_factor() : 0, runs)},
         {"softmax_factor", or_null(runs ? report.theirs.rope->spectrum().softmax_factor() : 0, runs)},
         {"pairs_that_differ", d.pairs},
         {"worst_pair", as_wide && d.pairs > 0 ? Json(d.worst_pair) : Json()},
         {"angle_difference", or_null(d.angle, as_wide && d.pairs > 0)},
         {"length_rule", rule},
         {"reasons",
          runs ? Json(report.theirs.reasons) : Json::array({report.theirs.rope.status().message()})}});
  }
  return all;
}

}  // namespace rotary::tool
