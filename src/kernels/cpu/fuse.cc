// SPDX-License-Identifier: Apache-2.0
// Norm, rotation, scale and cast of a head in registers, from memory to memory.
#include "kernels/fuse_args.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fuse.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#if HWY_NATIVE_FMA && !HWY_HAVE_SCALABLE

// Each uses those before it.
// clang-format off
#include "kernels/cpu/convert-inl.h"
#include "kernels/cpu/halves-inl.h"
#include "kernels/cpu/adjacent-inl.h"
#include "kernels/cpu/narrow-inl.h"
#include "kernels/cpu/norm-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The lanes of one head on their way. A copy, whose members the compiler can hold in registers: what it would take from
/// memory might wait for the stores before.
template <class Element, class As>
struct HeadPass {
  using Stored = typename As::Stored;
  using Full = hn::ScalableTag<float>;

  /// Lanes that keep their values.
  template <int n, class D>
  HWY_INLINE void keep_some(D d, std::int64_t at) const {
    Group<D, float> x[n];
    take(d, at, x);
    put(d, x, at);
  }
  /// Pairs from `i` on of halves, by a row that knows the direction.
  template <int n, class D>
  HWY_INLINE void turn_halves(D d, std::int64_t i) const {
    Group<D, float> x[n], y[n];
    take(d, i, x);
    take(d, apart + i, y);
    for (int j = 0; j < n; ++j) {
      const std::int64_t at = i + j * static_cast<int>(hn::MaxLanes(D()));
      turn_pairs(x[j].v[0], y[j].v[0], load(d, cos + at), load(d, cos + apart + at));
    }
    put(d, x, i);
    put(d, y, apart + i);
  }
  /// Lanes from `i` on of adjacent pairs, by an AdjacentRow.
  template <int n, class D>
  HWY_INLINE void turn_adjacent(D d, std::int64_t i) const {
    Group<D, float> x[n];
    take(d, i, x);
    for (int j = 0; j < n; ++j) {
      const std::int64_t at = i + j * static_cast<int>(hn::MaxLanes(D()));
      auto& v = x[j].v[0];
      v = hn::MulAdd(v, hn::LoadU(d, cos + at), hn::Mul(hn::Shuffle2301(v), hn::LoadU(d, cos + apart + at)));
    }
    put(d, x, i);
  }

  /// The same from a lane on.
  HWY_INLINE HeadPass from(std::int64_t lane) const {
    HeadPass pass = *this;
    pass.in += lane;
    pass.out += lane;
    if (weight != nullptr) pass.weight += lane;
    return pass;
  }

  As as;
  const Element* in;
  Stored* out;
  const float* cos;
  std::int64_t apart;  // the sines from the cosines; of halves also y from x
  bool norm, scaled;
  const float* weight;
  float r, scale;

 private:
  template <int n, class D>
  HWY_INLINE void take(D d, std::int64_t at, Group<D, float> (&x)[n]) const {
    constexpr int lanes = hn::MaxLanes(D());
    for (int j = 0; j < n; ++j) x[j].v[0] = load(d, in + at + j * lanes);
    if (!norm) return;
    for (int j = 0; j < n; ++j) x[j].v[0] = hn::Mul(x[j].v[0], hn::Set(d, r));
    if (weight == nullptr) return;
    for (int j = 0; j < n; ++j) x[j].v[0] = hn::Mul(x[j].v[0], hn::LoadU(d, weight + at + j * lanes));
  }
  template <int n, class D>
  HWY_INLINE void put(D d, Group<D, float> (&x)[n], std::int64_t at) const {
    if (scaled) {
      for (int j = 0; j < n; ++j) x[j].v[0] = hn::Mul(x[j].v[0], hn::Set(d, scale));
    }
    if constexpr (n == 4) {
      store_four(as, d, x, out + at);
    } else {
      as(d, x[0].v[0], out + at);
    }
  }
};

/// What to do with some lanes or pairs.
enum class Does { keep, halves, adjacent };

template <Does does, int n, class Pass, class D>
HWY_INLINE void pass_some(const Pass& pass, D d, std::int64_t at) {
  if constexpr (does == Does::keep) pass.template keep_some<n>(d, at);
  if constexpr (does == Does::halves) pass.template turn_halves<n>(d, at);
  if constexpr (does == Does::adjacent) pass.template turn_adjacent<n>(d, at);
}

/// From `at` to `end` in vectors of at most `cap` lanes, then of half as many.
template <Does does, std::size_t cap, class Pass>
HWY_INLINE void pass_rest(const Pass& pass, std::int64_t at, std::int64_t end) {
  const hn::CappedTag<float, cap> d;
  constexpr std::int64_t step = hn::MaxLanes(hn::CappedTag<float, cap>());
  for (; at + step <= end; at += step) pass_some<does, 1>(pass, d, at);
  if constexpr (cap > (does == Does::adjacent ? 2 : 1)) {
    if (at < end) pass_rest<does, cap / 2>(pass, at, end);
  }
}
/// Rare, and kept away from the loops over heads.
template <Does does, class Pass>
HWY_NOINLINE void pass_end(Pass pass, std::int64_t at, std::int64_t end) {
  pass_rest<does, hn::MaxLanes(typename Pass::Full())>(pass, at, end);
}

/// Some heads of a token, whose norms are found together: a root and two quotients take as long for one as for all.
struct SomeHeads {
  static constexpr std::int64_t most = 8;
  std::int64_t token, head, count;
};

/// The heads of a call in the order of memory.
class HeadsInOrder {
 public:
  HWY_INLINE explicit HeadsInOrder(const FuseArgs& args)
      : tokens_(args.tokens),
        heads_(args.heads),
        // Where the tokens of a head lie together, all tokens of some heads.
        block_(args.tokens > 1 && std::abs(args.in_head_stride) > std::abs(args.in_token_stride)
                   ? 4
                   : args.heads) {}
  HWY_INLINE SomeHeads first() const { return some(0, 0, 0); }
  /// Without heads: that was the last.
  HWY_INLINE SomeHeads after(const SomeHeads& now) const {
    const std::int64_t block = now.head / block_ * block_, head = now.head + now.count;
    if (head < std::min(block + block_, heads_)) return some(now.token, block, head);
    if (now.token + 1 < tokens_) return some(now.token + 1, block, block);
    return some(0, block + block_, block + block_);
  }

 private:
  HWY_INLINE SomeHeads some(std::int64_t token, std::int64_t block, std::int64_t head) const {
    return {token, head, std::min(SomeHeads::most, std::min(block + block_, heads_) - head)};
  }
  std::int64_t tokens_, heads_, block_;
};

template <class Element>
HWY_INLINE void find_norms(const FuseArgs& args, const Element* in, std::int64_t count, float* norms) {
  for (std::int64_t i = 0; i < count; ++i, in += args.in_head_stride) {
    norms[i] = sum_of_squares(in, args.head_dim);
  }
  norms_of_sums(norms, static_cast<int>(count), args.head_dim, args.epsilon);
}

/// The row of a token as heads turn by it, in memory where it has to be made.
HWY_INLINE const float* row_of(const FuseArgs& args, std::int64_t token, float* memory) {
  const float *cos = args.rows + token * 2 * args.pairs, *sin = cos + args.pairs;
  if (args.lanes == Lanes::adjacent) {
    RotateArgs direction{};
    direction.conjugate = args.conjugate;
    static_cast<void>(AdjacentRow<float>(direction, cos, sin, args.pairs, memory));
    return memory;
  }
  if (!args.conjugate) return cos;
  for (std::int64_t i = 0; i < args.pairs; ++i) {
    memory[i] = cos[i];
    memory[args.pairs + i] = -sin[i];
  }
  return memory;
}

/// From one head of some to the next.
struct Steps {
  std::int64_t in, out, scale;
};

/// A function of its own, whose loop over heads has all registers.
template <Does does, class Pass>
HWY_NOINLINE void pass_heads(const Pass& first, const Steps& steps, const float* scales, const float* norms,
                             std::int64_t count, std::int64_t lanes) {
  constexpr std::int64_t step = 4 * hn::MaxLanes(typename Pass::Full());
  Pass pass = first;
  const Steps by = steps;
  for (; count > 0; --count) {
    pass.scale = *scales;
    pass.r = *norms++;
    std::int64_t i = 0;
    for (; i + step <= lanes; i += step) pass_some<does, 4>(pass, typename Pass::Full(), i);
    if (HWY_UNLIKELY(i < lanes)) pass_end<does>(pass, i, lanes);
    pass.in += by.in;
    pass.out += by.out;
    scales += by.scale;
  }
}

template <class Element, class As>
HWY_NOINLINE void fuse_heads(const FuseArgs& args, As as) {
  HWY_ALIGN float row[4 * max_fused_pairs];
  HWY_ALIGN float norms[norm_sums] = {};
  const std::int64_t window = args.rotary_offset, end = window + 2 * args.pairs;
  const Steps steps{args.in_head_stride, args.out_head_stride, args.scale_stride};
  const bool adjacent = args.lanes == Lanes::adjacent;
  HeadPass<Element, As> pass{as,
                             nullptr,
                             nullptr,
                             nullptr,
                             adjacent ? in_lines<float>(2 * args.pairs) : args.pairs,
                             args.norm,
                             args.scale_stride != 0 || *args.scales != 1,
                             args.weight,
                             1,
                             1};
  const HeadsInOrder order(args);
  std::int64_t found = -1;  // the token whose row this is
  for (SomeHeads now = order.first(); now.count > 0; now = order.after(now)) {
    pass.in = static_cast<const Element*>(args.in) + now.token * args.in_token_stride + now.head * steps.in;
    pass.out = static_cast<typename As::Stored*>(args.out) + now.token * args.out_token_stride +
               now.head * steps.out;
    if (args.norm) find_norms(args, pass.in, now.count, norms);
    if (args.pairs != 0 && now.token != found) pass.cos = row_of(args, found = now.token, row);
    const float* scales = args.scales + now.head * steps.scale;
    if (window != 0) pass_heads<Does::keep>(pass, steps, scales, norms, now.count, window);
    if (end < args.head_dim) {
      pass_heads<Does::keep>(pass.from(end), steps, scales, norms, now.count, args.head_dim - end);
    }
    if (args.pairs == 0) continue;
    if (adjacent) {
      pass_heads<Does::adjacent>(pass.from(window), steps, scales, norms, now.count, 2 * args.pairs);
    } else {
      pass_heads<Does::halves>(pass.from(window), steps, scales, norms, now.count, args.pairs);
    }
  }
}

template <class As>
HWY_INLINE void fuse_as(const FuseArgs& args, const As& as) {
  switch (args.in_dtype) {
    case DType::f32:
      return fuse_heads<float>(args, as);
    case DType::f16:
      return fuse_heads<f16>(args, as);
    default:
      return fuse_heads<bf16>(args, as);
  }
}

void fuse(const FuseArgs& args) noexcept {
  with_stored(args.out_dtype, args.overflow, [&](const auto& as) { fuse_as(args, as); });
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
void fuse_packing_bf16(const FuseArgs& args) noexcept {
  args.out_dtype == DType::bf16 ? fuse_as(args, AsPackedBf16()) : fuse(args);
}
#endif

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
