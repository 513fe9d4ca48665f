// SPDX-License-Identifier: Apache-2.0
// Included by rotate-inl.h, once for each target.
//
// Memory is fetched some way ahead of the head that turns.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

#include "kernels/cpu/fetching.hpp"
#include "kernels/rotate_args.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// How far ahead of a head memory is fetched: so many tokens and heads, within the call. None: tokens is too
/// large.
struct Ahead {
  std::int64_t tokens, heads;
};

HWY_INLINE Ahead fetch_ahead(const RotateArgs& args, std::int64_t heads, std::int64_t element_bytes) {
  // Bytes. A pass over 16-bit elements moves fewer of them in the same time, and gains by looking farther.
  const std::int64_t distance = element_bytes == 2 ? 8192 : 4096;
  constexpr std::int64_t worthwhile = 65536;
  const std::int64_t head_bytes = 2 * args.pairs * element_bytes;
  if (args.tokens * heads * head_bytes < worthwhile || !fetching_pays()) return {args.tokens, 0};
  const std::int64_t count = (distance + head_bytes - 1) / head_bytes;
  return {count / heads, count % heads};
}

/// Fetches a head: of so many elements, or of any where that is 0.
template <int elements, class Element>
HWY_INLINE void fetch_head(const Element* head, std::int64_t pairs) {
  const auto* bytes = reinterpret_cast<const char*>(head);
#if HWY_ARCH_X86
  asm("" : "+r"(bytes));  // one register: g++ would hold the address of every line in one of its own
#endif
  if constexpr (elements != 0) {
    for (std::size_t at = 0; at < elements * sizeof(Element); at += 64) hwy::Prefetch(bytes + at);
  } else {
    const auto end = 2 * pairs * static_cast<std::int64_t>(sizeof(Element));
    for (std::int64_t at = 0; at < end; at += 64) hwy::Prefetch(bytes + at);
  }
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
