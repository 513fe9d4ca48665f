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

/// Vectors that pass at once.
using Full = hn::ScalableTag<float>;
using Four = Group<Full, float>[4];
inline constexpr std::int64_t vector_lanes = hn::MaxLanes(Full()), four_lanes = 4 * vector_lanes;
static_assert(four_lanes == HWY_MAX_BYTES, "Kernel::fused_lanes");

/// What to do with heads: to keep the places of their lanes, or to turn pairs.
enum class Does { keep, halves, adjacent };

/// The lanes of one head on their way. A copy, whose members the compiler can hold in registers: what it would take from
/// memory might wait for the stores before.
template <class Element, class As>
struct HeadPass {
  using Stored = typename As::Stored;

  /// What four vectors turn by; a row of double_row() where pairs are adjacent.
  struct Row {
    HWY_INLINE Row() {}
    hn::Vec<Full> cos[4], sin[4];
  };
  template <Does does>
  HWY_INLINE Row row(std::int64_t at) const {
    Row row;
    for (int j = 0; does != Does::keep && j < 4; ++j) {
      row.cos[j] = load(Full(), cos + at + j * vector_lanes);
      row.sin[j] = load(Full(), cos + apart + at + j * vector_lanes);
    }
    return row;
  }
  /// Four vectors of lanes from `at` on; of halves also those of their partners.
  template <Does does>
  HWY_INLINE void some(std::int64_t at, const Row& by) const {
    Four x, y;
    take(at, x);
    if constexpr (does == Does::halves) take(apart + at, y);
    for (int j = 0; j < 4; ++j) {
      auto& v = x[j].v[0];
      if constexpr (does == Does::halves) turn_pairs(v, y[j].v[0], by.cos[j], by.sin[j]);
      if constexpr (does == Does::adjacent) {
        v = hn::MulAdd(v, by.cos[j], hn::Mul(hn::Shuffle2301(v), by.sin[j]));
      }
    }
    put(x, at);
    if constexpr (does == Does::halves) put(y, apart + at);
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
  HWY_INLINE void take(std::int64_t at, Four& x) const {
    for (int j = 0; j < 4; ++j) x[j].v[0] = load(Full(), in + at + j * vector_lanes);
    if (!norm) return;
    for (auto& each : x) each.v[0] = hn::Mul(each.v[0], hn::Set(Full(), r));
    if (weight == nullptr) return;
    for (int j = 0; j < 4; ++j) {
      x[j].v[0] = hn::Mul(x[j].v[0], hn::LoadU(Full(), weight + at + j * vector_lanes));
    }
  }
  HWY_INLINE void put(Four& x, std::int64_t at) const {
    if (scaled) {
      for (auto& each : x) each.v[0] = hn::Mul(each.v[0], hn::Set(Full(), scale));
    }
    store_four(as, Full(), x, out + at);
  }
};

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
    double_row(cos, sin, args.pairs, args.conjugate ? -0.0f : 0.0f, memory,
               memory + in_lines<float>(2 * args.pairs));
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
  Pass pass = first;
  const Steps by = steps;
  const auto next = [&]() HWY_ATTR {
    pass.in += by.in;
    pass.out += by.out;
    scales += by.scale;
  };
  if (does != Does::keep && lanes == four_lanes) {  // the row stays in registers
    const auto row = pass.template row<does>(0);
    for (; count > 0; --count, next()) {
      pass.scale = *scales;
      pass.r = *norms++;
      pass.template some<does>(0, row);
    }
  }
  for (; count > 0; --count, next()) {
    pass.scale = *scales;
    pass.r = *norms++;
    for (std::int64_t i = 0; i < lanes; i += four_lanes) {
      pass.template some<does>(i, pass.template row<does>(i));
    }
  }
}

template <class Element, class As>
HWY_NOINLINE void fuse_heads(const FuseArgs& args, As as) {
  HWY_ALIGN float row[4 * max_fused_pairs];
  HWY_ALIGN float norms[norm_sums] = {};
  const Steps steps{args.in_head_stride, args.out_head_stride, args.scale_stride};
  const bool adjacent = args.lanes == Lanes::adjacent;
  const std::int64_t apart = adjacent ? in_lines<float>(2 * args.pairs) : args.pairs;
  const bool scaled = args.scale_stride != 0 || *args.scales != 1;
  HeadPass<Element, As> pass{as, nullptr, nullptr, nullptr, apart, args.norm, scaled, args.weight, 1, 1};
  const HeadsInOrder order(args);
  std::int64_t found = -1;  // the token whose row this is
  for (SomeHeads now = order.first(); now.count > 0; now = order.after(now)) {
    pass.in = static_cast<const Element*>(args.in) + now.token * args.in_token_stride + now.head * steps.in;
    pass.out = static_cast<typename As::Stored*>(args.out) + now.token * args.out_token_stride +
               now.head * steps.out;
    if (args.norm) find_norms(args, pass.in, now.count, norms);
    if (args.pairs != 0 && now.token != found) pass.cos = row_of(args, found = now.token, row);
    const float* scales = args.scales + now.head * steps.scale;
    if (args.pairs == 0) {
      pass_heads<Does::keep>(pass, steps, scales, norms, now.count, args.head_dim);
    } else if (adjacent) {
      pass_heads<Does::adjacent>(pass, steps, scales, norms, now.count, args.head_dim);
    } else {
      pass_heads<Does::halves>(pass, steps, scales, norms, now.count, args.pairs);
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
