// SPDX-License-Identifier: Apache-2.0
#include "rotate/stage.hpp"

#include <algorithm>
#include <cstdlib>

#include "rotate/shape.hpp"

namespace rotary::impl {
namespace {

/// Lanes at once, where a head has no more: with what is read and written beside them, half a first-level cache.
/// Memory is read from beginning to end, which processors fetch ahead by themselves.
constexpr std::int64_t block_lanes = 2048;

float float_at(const RmsNorm& norm, std::int64_t i) noexcept {
  if (norm.dtype == DType::f16) return to_float(static_cast<const f16*>(norm.weight)[i]);
  if (norm.dtype == DType::bf16) return to_float(static_cast<const bf16*>(norm.weight)[i]);
  return static_cast<const float*>(norm.weight)[i];
}

/// The weights of a norm as numbers of the stage: as they lie, or made in `room`. Null: none.
template <class Real>
const Real* weights(const Kernel& kernel, const RmsNorm& norm, std::int64_t head_dim, Real* room) noexcept {
  if (!norm.weighted) return nullptr;
  if (norm.dtype == dtype_of<Real> && norm.plus == RmsNorm::as_given)
    return static_cast<const Real*>(norm.weight);
  if (dtype_of<Real> == DType::f64 && norm.dtype != DType::f64) {  // rare: a number at a time
    for (std::int64_t i = 0; i < head_dim; ++i) room[i] = static_cast<Real>(float_at(norm, i));
  } else {
    LoadArgs load{};
    load.block = {1, 1, head_dim, 0, 0, 1, 0, 0};
    load.in = norm.weight;
    load.dtype = norm.dtype;
    load.stage = room;
    kernel.load(load);
  }
  if (norm.plus == RmsNorm::one_plus_weight) {
    for (std::int64_t i = 0; i < head_dim; ++i) room[i] += 1;
  }
  return room;
}

/// How many tokens and heads the stage takes at once: all heads of some tokens, or where the tokens of a head lie
/// together, all tokens of some heads.
void set_block(StageBlock& block, const HeadsShape& s, std::int64_t tokens, bool head_major) noexcept {
  const std::int64_t most = std::max<std::int64_t>(1, block_lanes / s.head_dim);
  std::int64_t &inner = head_major ? block.tokens : block.heads,
               &outer = head_major ? block.heads : block.tokens;
  const std::int64_t inner_all = head_major ? tokens : s.heads, outer_all = head_major ? s.heads : tokens;
  inner = std::min(inner_all, most);
  outer = inner == inner_all ? std::min(outer_all, most / inner) : 1;
}

template <class Real>
void rotate_through(const Kernel& kernel, const RotateArgs& args, std::int64_t rotary_offset,
                    const StagedTokens& tokens) noexcept {
  alignas(64) Real stage[stage_lanes];
  alignas(64) Real room[stage_lanes];
  const Operand& x = tokens.x;
  const HeadsShape &from = x.in.shape, &to = x.out.shape;
  LoadArgs load{};
  load.dtype = from.dtype;
  load.stage = stage;
  if (x.options.norm) {
    load.norm = true;
    load.weight = weights(kernel, *x.options.norm, from.head_dim, room);
    load.epsilon = x.options.norm->epsilon;
  }
  StoreArgs store{};
  store.dtype = to.dtype;
  store.stage = stage;
  store.wide = dtype_of<Real> == DType::f64;
  store.overflow = x.options.overflow;
  store.scale_stride = x.options.head_scales.data() != nullptr ? 1 : 0;
  const float* scales = store.scale_stride != 0 ? x.options.head_scales.data() : &x.options.scale;
  RotateArgs turn = args;
  turn.operands = 1;
  turn.dtype = dtype_of<Real>;

  const bool head_major = args.tokens > 1 && std::abs(from.head_stride) > std::abs(from.token_stride);
  // An output of the stage's own type is its own stage, and whole heads of it that only turn need no loading.
  const bool in_output = to.dtype == dtype_of<Real> && (to.lane_stride == 1 || to.head_dim <= 1);
  const bool load_apart = from.dtype != dtype_of<Real> || load.norm || 2 * args.pairs != from.head_dim;
  const bool store_apart = !in_output || x.options.scale != 1 || store.scale_stride != 0;
  StageBlock most{};
  set_block(most, from, args.tokens, head_major);
  for (std::int64_t token = 0; token < args.tokens; token += most.tokens) {
    for (std::int64_t head = 0; head < from.heads; head += most.heads) {
      StageBlock block = most;
      block.tokens = std::min(most.tokens, args.tokens - token);
      block.heads = std::min(most.heads, from.heads - head);
      block.head_dim = from.head_dim;
      const auto place = [&](auto* data, const HeadsShape& s) {
        block.token_stride = step(s.tokens, s.token_stride);
        block.head_stride = step(s.heads, s.head_stride);
        block.lane_stride = s.lane_stride;
        const auto size = static_cast<std::int64_t>(size_of(s.dtype));
        return at(data, s, size, tokens.row, tokens.token + token, 0) + head * block.head_stride * size;
      };
      store.out = place(x.out.data, to);
      store.block = block;
      load.in = place(x.in.data, from);
      load.block = block;
      Real* staged = stage;
      if (in_output) {
        staged = static_cast<Real*>(store.out);
        load.block.stage_token_stride = store.block.token_stride;
        load.block.stage_head_stride = store.block.head_stride;
      } else {
        load.block.stage_token_stride = (head_major ? 1 : block.heads) * from.head_dim;
        load.block.stage_head_stride = (head_major ? block.tokens : 1) * from.head_dim;
      }
      load.stage = staged;
      if (load_apart) kernel.load(load);
      if (args.pairs != 0) {
        const StageBlock& b = load.block;
        turn.tokens = block.tokens;
        turn.rows = static_cast<const Real*>(args.rows) + token * 2 * args.pairs;
        RotateArgs::Operand& heads = turn.operand[0];
        heads = {staged + rotary_offset, staged + rotary_offset, block.heads,
                 b.stage_token_stride,   b.stage_head_stride,    1,
                 b.stage_token_stride,   b.stage_head_stride,    1};
        if (!load_apart) {
          heads.in = load.in;
          heads.in_token_stride = b.token_stride;
          heads.in_head_stride = b.head_stride;
          heads.in_lane_stride = b.lane_stride;
        }
        kernel.rotate(turn);
      }
      if (!store_apart) continue;
      store.stage = staged;
      store.block.stage_token_stride = load.block.stage_token_stride;
      store.block.stage_head_stride = load.block.stage_head_stride;
      store.scales = scales + head * store.scale_stride;
      kernel.store(store);
    }
  }
}

/// In registers, where the kernel can.
bool rotate_fused(const Kernel& kernel, const RotateArgs& args, const StagedTokens& tokens) noexcept {
  const Operand& x = tokens.x;
  const HeadsShape &from = x.in.shape, &to = x.out.shape;
  const auto dense = [](const HeadsShape& s) {
    return s.dtype != DType::f64 && (s.lane_stride == 1 || s.head_dim <= 1);
  };
  const std::int64_t lanes =
      args.pairs == 0 || args.out_lanes == Lanes::adjacent ? from.head_dim : args.pairs;
  if (kernel.fuse == nullptr || lanes % kernel.fused_lanes != 0 || !dense(from) || !dense(to) ||
      args.pairs > max_fused_pairs ||
      (args.pairs != 0 && (2 * args.pairs != from.head_dim || args.in_lanes != args.out_lanes))) {
    return false;
  }
  alignas(64) float room[stage_lanes];
  FuseArgs fuse{};
  fuse.tokens = args.tokens;
  fuse.heads = from.heads;
  fuse.head_dim = from.head_dim;
  fuse.in_dtype = from.dtype;
  fuse.in = at(x.in.data, from, static_cast<std::int64_t>(size_of(from.dtype)), tokens.row, tokens.token, 0);
  fuse.in_token_stride = step(from.tokens, from.token_stride);
  fuse.in_head_stride = step(from.heads, from.head_stride);
  fuse.out_dtype = to.dtype;
  fuse.out = at(x.out.data, to, static_cast<std::int64_t>(size_of(to.dtype)), tokens.row, tokens.token, 0);
  fuse.out_token_stride = step(to.tokens, to.token_stride);
  fuse.out_head_stride = step(to.heads, to.head_stride);
  fuse.rows = static_cast<const float*>(args.rows);
  fuse.pairs = args.pairs;
  fuse.lanes = args.out_lanes;
  fuse.conjugate = args.conjugate;
  if (x.options.norm) {
    fuse.norm = true;
    fuse.weight = weights(kernel, *x.options.norm, from.head_dim, room);
    fuse.epsilon = x.options.norm->epsilon;
  }
  fuse.scale_stride = x.options.head_scales.data() != nullptr ? 1 : 0;
  fuse.scales = fuse.scale_stride != 0 ? x.options.head_scales.data() : &x.options.scale;
  fuse.overflow = x.options.overflow;
  kernel.fuse(fuse);
  return true;
}

}  // namespace

void rotate_staged(const Kernel& kernel, const RotateArgs& args, std::int64_t rotary_offset,
                   const StagedTokens& tokens) noexcept {
  if (rotate_fused(kernel, args, tokens)) return;
  if (tokens.x.in.shape.dtype == DType::f64)
    return rotate_through<double>(kernel, args, rotary_offset, tokens);
  rotate_through<float>(kernel, args, rotary_offset, tokens);
}

}  // namespace rotary::impl
