// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rotate_f64.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/rotate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {
#if HWY_NATIVE_FMA
void rotate_f64(const RotateArgs& args) noexcept { rotate<double>(args); }
#endif
}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
