// SPDX-License-Identifier: Apache-2.0
// Whether strided views share memory. Exact where the outer strides agree (views cut from one packed tensor);
// elsewhere it may call disjoint views overlapping, never the reverse.
#pragma once

#include <rotary/tensor.hpp>

namespace rotary::impl {

/// Every element's offset in bytes, from the first, fits an int64, and the number of elements does.
bool addressable(const HeadsShape& shape) noexcept;
/// Two elements of one view share memory. The shape is addressable.
bool overlaps_itself(const HeadsShape& shape) noexcept;
/// The data may be read as elements: its address is a multiple of their size.
bool aligned(const ConstHeads& x) noexcept;
/// An element of a shares memory with an element of b. Both shapes are addressable.
bool overlap(const ConstHeads& a, const ConstHeads& b) noexcept;

}  // namespace rotary::impl
