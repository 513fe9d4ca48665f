// SPDX-License-Identifier: Apache-2.0
#include "bench_limit.hpp"

#include <cstdint>
#include <cstring>

namespace rotary::tool {
namespace {

typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));
typedef float Four __attribute__((vector_size(16), may_alias));
typedef float FourAnywhere __attribute__((vector_size(16), aligned(4), may_alias));
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

template <bool streaming>
inline __attribute__((always_inline)) void copy_any(const std::byte* in, std::byte* out, std::int64_t bytes) {
  constexpr std::int64_t width = sizeof(Vector);
  std::int64_t i = 0;
#if defined(__x86_64__)
  if constexpr (streaming) {
    const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out) % width);
    for (; i < bytes && past != 0 && i < width - past; ++i) out[i] = in[i];
    for (; i + width <= bytes; i += width) {
      for (std::int64_t part = 0; part < width; part += 16) {
        asm("movntps %1, %0"
            : "=m"(*reinterpret_cast<Four*>(out + i + part))
            : "x"(*reinterpret_cast<const FourAnywhere*>(in + i + part)));
      }
    }
    __builtin_ia32_sfence();
  }
#endif
  for (; i + width <= bytes; i += width) {
    *reinterpret_cast<Vector*>(out + i) = *reinterpret_cast<const Vector*>(in + i);
  }
  for (; i < bytes; ++i) out[i] = in[i];
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void copy_avx512(const std::byte* in, std::byte* out, std::int64_t bytes) {
  copy_any<false>(in, out, bytes);
}
__attribute__((target("avx2"))) void copy_avx2(const std::byte* in, std::byte* out, std::int64_t bytes) {
  copy_any<false>(in, out, bytes);
}
#endif

void copy_vectors(const std::byte* in, std::byte* out, std::int64_t bytes, bool streaming) {
  if (streaming) return copy_any<true>(in, out, bytes);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return copy_avx512(in, out, bytes);
  if (__builtin_cpu_supports("avx2")) return copy_avx2(in, out, bytes);
#endif
  copy_any<false>(in, out, bytes);
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

void copy(const ByteRuns& from, const ByteRuns& to, CopyWay way) {
  for (std::int64_t run = 0; run < from.count; ++run) {
    const std::byte* in = from.first + run * from.stride;
    std::byte* out = to.first + run * to.stride;
    if (way == CopyWay::library) {
      std::memcpy(out, in, static_cast<std::size_t>(from.bytes));
    } else {
      copy_vectors(in, out, from.bytes, way == CopyWay::streaming);
    }
  }
}

}  // namespace rotary::tool
