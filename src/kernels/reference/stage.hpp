// SPDX-License-Identifier: Apache-2.0
// Loading and storing for any machine, any type and any stride: the definition of the bits.
#pragma once

#include "kernels/stage_args.hpp"

namespace rotary::impl {

void load_scalar(const LoadArgs& args) noexcept;
void store_scalar(const StoreArgs& args) noexcept;

}  // namespace rotary::impl
