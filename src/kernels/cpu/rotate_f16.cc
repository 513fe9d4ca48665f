// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rotate_f16.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/rotate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {
#if HWY_NATIVE_FMA
void rotate_f16(const RotateArgs& args) noexcept { rotate<f16>(args); }
#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX3
/// Halves in vectors of eight numbers.
void rotate_f16_by_eight(const RotateArgs& args) noexcept {
  if (args.in_lanes != Lanes::halves || args.out_lanes != Lanes::halves) return rotate<f16>(args);
  rotate_by<f16, HalvesRow<f16, hn::CappedTag<float, 8>>>(args);
}
#endif
#endif
}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
