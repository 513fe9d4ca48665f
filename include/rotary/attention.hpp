// SPDX-License-Identifier: Apache-2.0
/// @file
/// Attention with the rotation inside, in its plain form: a reference to compare with, not a fast kernel.
///
///     out = softmax(q' k'^T * softmax_factor / sqrt(head_dim)) v      q', k' rotated at their positions
///
///     rotary::attend(rope, q, k, v, out, {.causal = true}).value();
///
/// The softmax streams over the keys, so the score matrix is never held. Grouped heads: q head h reads kv
/// head h / (heads / kv_heads).
#pragma once

#include <optional>
#include <rotary/export.hpp>
#include <rotary/positions.hpp>
#include <rotary/rope.hpp>
#include <rotary/status.hpp>
#include <rotary/tensor.hpp>

namespace rotary {

struct AttentionOptions {
  bool causal = false;  ///< query token t sees key tokens up to t + (key tokens - query tokens)
  std::optional<Positions> q_positions = {};  ///< default: the last query tokens of the keys' range
  std::optional<Positions> k_positions = {};  ///< default: 0 ... key tokens
  std::optional<double> scale = {};           ///< default: softmax_factor / sqrt(head_dim)
};

/// q [batch, q tokens, heads, head_dim], k and v [batch, k tokens, kv_heads, ...], out like q with v's
/// head_dim; f32 or f64, any strides; out must not overlap an input. A query that sees no key gives zeros.
ROTARY_API Status attend(const Rope& rope, const ConstHeads& q, const ConstHeads& k, const ConstHeads& v,
                         const Heads& out, const AttentionOptions& options = {});

}  // namespace rotary
