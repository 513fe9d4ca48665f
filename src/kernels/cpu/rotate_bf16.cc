// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rotate_bf16.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/rotate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {
#if HWY_NATIVE_FMA
void rotate_bf16(const RotateArgs& args) noexcept { rotate<bf16>(args); }
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
void rotate_packed_bf16(const RotateArgs& args) noexcept { rotate<PackedBf16>(args); }
#endif
#endif
}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
