// SPDX-License-Identifier: Apache-2.0
#include <rotary/attention.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "attention/check.hpp"
#include "base/allocate.hpp"
#include "base/message.hpp"

namespace rotary {
namespace {

using impl::invalid;

/// A dense [batch, heads, tokens, head_dim] of x, turned. `as_k` is the part that x plays in messages.
template <class Real>
Result<std::unique_ptr<Real[]>> rotated(const Rope& rope, const ConstHeads& x, const Positions& positions,
                                        bool as_k) {
  const HeadsShape& shape = x.shape;
  const char* name = as_k ? "k_positions" : "q_positions";
  if (positions.tokens() != shape.tokens || (positions.batch() != 1 && positions.batch() != shape.batch)) {
    return invalid(name, ": batch ", positions.batch(), " and tokens ", positions.tokens(),
                   ", expected batch 1 or ", shape.batch, " and tokens ", shape.tokens);
  }
  const auto angles = rope.angles(positions, Rows::on_the_way);
  if (!angles) return impl::failure(angles.status().code(), name, ": ", angles.status().message());
  // A view may repeat memory (stride 0), so its copy can be larger than what the caller holds.
  const std::int64_t rows = impl::empty(shape) ? 0 : shape.batch * shape.heads * shape.tokens;
  auto buffer = impl::allocate<Real>(rows, shape.head_dim);
  if (buffer == nullptr) {
    return invalid(as_k ? "k" : "q", ": a copy of ", rows, " rows does not fit in memory");
  }
  const Operand operand(x, bhtd(buffer.get(), shape.batch, shape.heads, shape.tokens, shape.head_dim));
  Operand nothing = operand;
  nothing.in.shape.heads = nothing.out.shape.heads = 0;
  const Status status =
      as_k ? rope.rotate(*angles, nothing, operand) : rope.rotate(*angles, operand, nothing);
  if (!status.ok()) return status;
  return buffer;
}

template <class Real>
double dot(const Real* a, const Real* b, std::int64_t lanes) noexcept {
  double sum = 0;
  for (std::int64_t i = 0; i < lanes; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// One query's softmax over the keys seen so far, relative to the largest score among them:
/// weights = sum(exp(score - largest)), sums = sum(exp(score - largest) v).
template <class Real>
struct Stream {
  double* sums;
  std::int64_t lanes;
  double largest = -std::numeric_limits<double>::infinity(), weights = 0;

  Stream(double* memory, std::int64_t count) noexcept : sums(memory), lanes(count) {
    std::fill_n(sums, lanes, 0.0);
  }
  void see(double score, const Real* v, std::int64_t stride) noexcept {
    if (score == -std::numeric_limits<double>::infinity()) return;  // no weight beside any other
    if (score > largest) {
      const double shrink = std::exp(largest - score);
      weights *= shrink;
      for (std::int64_t i = 0; i < lanes; ++i) sums[i] *= shrink;
      largest = score;
    }
    const double weight = std::exp(score - largest);
    weights += weight;
    for (std::int64_t i = 0; i < lanes; ++i) sums[i] += weight * static_cast<double>(v[i * stride]);
  }
};

template <class Real>
Status attend_as(const Rope& rope, const ConstHeads& q, const ConstHeads& k, const ConstHeads& v,
                 const Heads& out, const AttentionOptions& options) {
  const HeadsShape &qs = q.shape, &ks = k.shape, &vs = v.shape, &os = out.shape;
  const std::int64_t ahead = ks.tokens - qs.tokens;  // the last query stands at the last key
  const auto queries =
      rotated<Real>(rope, q, options.q_positions.value_or(Positions::range(ahead, ks.tokens)), false);
  if (!queries) return queries.status();
  const auto keys =
      rotated<Real>(rope, k, options.k_positions.value_or(Positions::range(0, ks.tokens)), true);
  if (!keys) return keys.status();
  const auto sums = impl::allocate<double>(1, vs.head_dim);
  if (sums == nullptr) return invalid("v: head_dim ", vs.head_dim, " does not fit in memory");
  const double scale =
      options.scale.value_or(rope.spectrum().softmax_factor() / std::sqrt(static_cast<double>(qs.head_dim)));

  const auto attend_one = [&](std::int64_t b, std::int64_t h, std::int64_t t) {
    const std::int64_t kv_head = h / (qs.heads / ks.heads);
    const Real* query = queries->get() + ((b * qs.heads + h) * qs.tokens + t) * qs.head_dim;
    const Real* key = keys->get() + (b * ks.heads + kv_head) * ks.tokens * ks.head_dim;
    Real* to = static_cast<Real*>(out.data) + b * os.batch_stride + t * os.token_stride + h * os.head_stride;
    Stream<Real> stream(sums.get(), vs.head_dim);
    const std::int64_t seen =
        options.causal ? std::clamp<std::int64_t>(t + ahead + 1, 0, ks.tokens) : ks.tokens;
    for (std::int64_t j = 0; j < seen; ++j) {
      const Real* value = static_cast<const Real*>(v.data) + b * vs.batch_stride + j * vs.token_stride +
                          kv_head * vs.head_stride;
      stream.see(scale * dot(query, key + j * ks.head_dim, ks.head_dim), value, vs.lane_stride);
    }
    for (std::int64_t i = 0; i < vs.head_dim; ++i) {
      to[i * os.lane_stride] = static_cast<Real>(seen == 0 ? 0.0 : stream.sums[i] / stream.weights);
    }
  };
  for (std::int64_t b = 0; b < qs.batch; ++b) {
    for (std::int64_t h = 0; h < qs.heads; ++h) {
      for (std::int64_t t = 0; t < qs.tokens; ++t) attend_one(b, h, t);
    }
  }
  return {};
}

}  // namespace

Status attend(const Rope& rope, const ConstHeads& q, const ConstHeads& k, const ConstHeads& v,
              const Heads& out, const AttentionOptions& options) {
  if (Status status = impl::check_attention(rope, q, k, v, out, options); !status.ok()) return status;
  if (impl::empty(out.shape)) return {};
  return q.shape.dtype == DType::f64 ? attend_as<double>(rope, q, k, v, out, options)
                                     : attend_as<float>(rope, q, k, v, out, options);
}

}  // namespace rotary
