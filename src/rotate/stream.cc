// SPDX-License-Identifier: Apache-2.0
#include "rotate/stream.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace rotary::impl {
namespace {

/// As much as turns before it goes on, and the most that a head may take. Small, so that what is read for one part comes
/// from memory while another goes there.
constexpr std::int64_t part_bytes = 2048, stage_bytes = 4 * part_bytes;
/// Parts that are fetched ahead: the processor's own look-ahead is thrown off by the writes between.
constexpr std::int64_t parts_ahead = 2;

#if defined(__SSE2__)
typedef float Four __attribute__((vector_size(16), may_alias));
#endif

/// Whole lines to an aligned place, and as many fetched from `ahead`, which may lie anywhere.
void stream(const std::byte* from, std::byte* to, std::int64_t bytes, std::uintptr_t ahead) noexcept {
#if defined(__SSE2__)
  for (std::int64_t i = 0; i < bytes; i += stream_line) {
    __builtin_prefetch(reinterpret_cast<const void*>(ahead + static_cast<std::uintptr_t>(i)));
    for (std::int64_t j = i; j < i + stream_line; j += 16) {
      asm("movntps %1, %0"
          : "=m"(*reinterpret_cast<Four*>(to + j))
          : "x"(*reinterpret_cast<const Four*>(from + j)));
    }
  }
#else
  static_cast<void>(ahead);
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}

/// Other threads may look at the output after the call.
void finish_streams() noexcept {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace

bool fills_lines(const HeadsShape& out, std::int64_t element_size) noexcept {
  const auto whole = [&](std::int64_t extent, std::int64_t stride) {
    return step(extent, stride) % (stream_line / element_size) == 0;
  };
  return out.lane_stride == 1 && whole(2, out.head_dim) && whole(out.batch, out.batch_stride) &&
         whole(out.tokens, out.token_stride) && whole(out.heads, out.head_stride);
}

void rotate_past_caches(const Kernel& kernel, const RotateArgs& args) noexcept {
  alignas(stream_line) std::byte stage[stage_bytes];
  const auto size = static_cast<std::int64_t>(size_of(args.dtype));
  const std::int64_t width = 2 * args.pairs, row = width * size;
  const std::int64_t fit = row > stage_bytes ? 0 : std::max<std::int64_t>(part_bytes / row, 1);
  const std::int64_t number = args.dtype == DType::f64 ? 8 : 4;
  RotateArgs part = args;
  part.operands = 1;
  for (std::int32_t n = 0; n < args.operands; ++n) {
    const RotateArgs::Operand& whole = args.operand[n];
    if (whole.in == whole.out || fit == 0 || reinterpret_cast<std::uintptr_t>(whole.out) % stream_line != 0) {
      part.tokens = args.tokens;
      part.rows = args.rows;
      part.operand[0] = whole;
      kernel.rotate(part);
      continue;
    }
    // A few tokens of a few heads where the tokens of a head lie together, else heads of a token.
    const bool head_major = std::abs(whole.out_head_stride) > std::abs(whole.out_token_stride);
    const std::int64_t heads = std::min(whole.heads, head_major ? std::min<std::int64_t>(fit, 4) : fit);
    const std::int64_t tokens = head_major ? std::min(args.tokens, fit / heads) : 1;
    for (std::int64_t t = 0; t < args.tokens; t += tokens) {
      part.tokens = std::min(tokens, args.tokens - t);
      part.rows = static_cast<const std::byte*>(args.rows) + t * width * number;
      for (std::int64_t h = 0; h < whole.heads; h += heads) {
        RotateArgs::Operand& some = part.operand[0] = whole;
        some.heads = std::min(heads, whole.heads - h);
        some.in = static_cast<const std::byte*>(whole.in) +
                  (t * whole.in_token_stride + h * whole.in_head_stride) * size;
        some.out = stage;
        some.out_lane_stride = 1;
        some.out_token_stride = head_major ? width : heads * width;
        some.out_head_stride = head_major ? tokens * width : width;
        kernel.rotate(part);
        const std::int64_t further =
            parts_ahead * (head_major ? tokens * whole.in_token_stride : heads * whole.in_head_stride);
        std::byte* const out = static_cast<std::byte*>(whole.out) +
                               (t * whole.out_token_stride + h * whole.out_head_stride) * size;
        for (std::int64_t i = 0; i < part.tokens; ++i) {
          for (std::int64_t j = 0; j < some.heads; ++j) {
            const std::int64_t ahead = further + i * whole.in_token_stride + j * whole.in_head_stride;
            stream(stage + (i * some.out_token_stride + j * some.out_head_stride) * size,
                   out + (i * whole.out_token_stride + j * whole.out_head_stride) * size, row,
                   reinterpret_cast<std::uintptr_t>(some.in) + static_cast<std::uintptr_t>(ahead * size));
          }
        }
      }
    }
  }
  finish_streams();
}

}  // namespace rotary::impl
