// SPDX-License-Identifier: Apache-2.0
// Heads from the stage into memory: times a scale, rounded once to the element type.
#include "kernels/reference/stage.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/store.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <cstdint>

#if HWY_NATIVE_FMA

#include "kernels/cpu/convert-inl.h"
#include "kernels/cpu/narrow-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Lanes from i on in vectors of at most `cap` lanes, then of half as many.
template <std::size_t cap, class As>
HWY_INLINE void store_from(const As& as, const float* from, typename As::Stored* to, float scale,
                           std::int64_t i, std::int64_t lanes) {
  const hn::CappedTag<float, cap> d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const auto all = hn::Set(d, scale);
  for (; i + step <= lanes; i += step) as(d, hn::Mul(hn::LoadU(d, from + i), all), to + i);
  if constexpr (cap > 1) {
    if (i < lanes) store_from<cap / 2>(as, from, to, scale, i, lanes);
  }
}

template <class As>
HWY_INLINE void store_head(const As& as, const float* from, typename As::Stored* to, float scale,
                           std::int64_t lanes) {
  using D = hn::ScalableTag<float>;
  std::int64_t i = 0;
#if !HWY_HAVE_SCALABLE
  constexpr int width = hn::MaxLanes(D());
  const auto all = hn::Set(D(), scale);
  for (; i + 4 * width <= lanes; i += 4 * width) {
    Group<D, float> values[4];
    for (int j = 0; j < 4; ++j) values[j].v[0] = hn::Mul(hn::LoadU(D(), from + i + j * width), all);
    store_four(as, D(), values, to + i);
  }
#endif
  store_from<hn::MaxLanes(D())>(as, from, to, scale, i, lanes);
}

template <class As>
HWY_NOINLINE void store_heads(const StoreArgs& args, As as) {
  const StageBlock& b = args.block;
  for (std::int64_t token = 0; token < b.tokens; ++token) {
    auto* to = static_cast<typename As::Stored*>(args.out) + token * b.token_stride;
    const float* from = static_cast<const float*>(args.stage) + token * b.stage_token_stride;
    const float* scale = args.scales;
    for (std::int64_t head = 0; head < b.heads; ++head) {
      store_head(as, from, to, *scale, b.head_dim);
      from += b.stage_head_stride;
      to += b.head_stride;
      scale += args.scale_stride;
    }
  }
}

void store(const StoreArgs& args) noexcept {
  if (args.wide || args.dtype == DType::f64 || (args.block.lane_stride != 1 && args.block.head_dim > 1)) {
    return store_scalar(args);
  }
  with_stored(args.dtype, args.overflow, [&](const auto& as) { store_heads(args, as); });
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
void store_packing_bf16(const StoreArgs& args) noexcept {
  const bool packs = args.dtype == DType::bf16 && !args.wide && args.block.lane_stride == 1;
  packs ? store_heads(args, AsPackedBf16()) : store(args);
}
#endif

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
