// SPDX-License-Identifier: Apache-2.0
// The SIMD kernels: one for each target that this build knows.
#pragma once

#include <span>

#include "kernels/kernel_list.hpp"

namespace rotary::impl {

/// The best target first.
std::span<const Kernel> cpu_kernels() noexcept;

}  // namespace rotary::impl
