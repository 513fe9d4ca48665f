// SPDX-License-Identifier: Apache-2.0
#include "bench_limit.hpp"

#include <cstring>

namespace rotary::tool {
namespace {

typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));
typedef float Number __attribute__((may_alias));

template <int distance>
inline __attribute__((always_inline)) void scale(const ByteRuns& runs, float factor) {
  for (std::int64_t run = 0; run < runs.count; ++run) {
    std::byte* at = runs.first + run * runs.stride;
    std::byte* const end = at + runs.bytes;
    constexpr std::ptrdiff_t width = sizeof(Vector), block = 4 * width;
    for (; end - at >= block; at += block) {
      for (std::ptrdiff_t line = 0; line < block; line += width) {
        if constexpr (distance != 0) __builtin_prefetch(at + line + distance);
        *reinterpret_cast<Vector*>(at + line) *= factor;
      }
    }
    for (; end - at >= width; at += width) *reinterpret_cast<Vector*>(at) *= factor;
    for (; end - at >= static_cast<std::ptrdiff_t>(sizeof(Number)); at += sizeof(Number)) {
      *reinterpret_cast<Number*>(at) *= factor;
    }
  }
}

inline __attribute__((always_inline)) void scale_any(const ByteRuns& runs, int distance, float factor) {
  switch (distance) {
    case 2048:
      return scale<2048>(runs, factor);
    case 4096:
      return scale<4096>(runs, factor);
    case 8192:
      return scale<8192>(runs, factor);
    default:
      return scale<0>(runs, factor);
  }
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void scale_avx512(const ByteRuns& runs, int distance, float factor) {
  scale_any(runs, distance, factor);
}
__attribute__((target("avx2"))) void scale_avx2(const ByteRuns& runs, int distance, float factor) {
  scale_any(runs, distance, factor);
}
#endif

}  // namespace

void scale_in_place(const ByteRuns& runs, int fetch_distance, float factor) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return scale_avx512(runs, fetch_distance, factor);
  if (__builtin_cpu_supports("avx2")) return scale_avx2(runs, fetch_distance, factor);
#endif
  scale_any(runs, fetch_distance, factor);
}

void copy(const ByteRuns& from, const ByteRuns& to) {
  for (std::int64_t run = 0; run < from.count; ++run) {
    std::memcpy(to.first + run * to.stride, from.first + run * from.stride,
                static_cast<std::size_t>(from.bytes));
  }
}

}  // namespace rotary::tool
