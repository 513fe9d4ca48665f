// SPDX-License-Identifier: Apache-2.0
// The row maker that every machine has: the definition of the bits.
#pragma once

#include "kernels/row_maker.hpp"

namespace rotary::impl {

extern const RowMaker scalar_row_maker;

}  // namespace rotary::impl
