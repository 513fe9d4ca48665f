// SPDX-License-Identifier: Apache-2.0
#include "bench_memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace rotary::tool {

void FreeMemory::operator()(std::byte* memory) const noexcept { std::free(memory); }

BenchMemory bench_memory(std::int64_t bytes) {
  constexpr std::size_t page = std::size_t{2} << 20;
  const auto size = (static_cast<std::size_t>(bytes) + page - 1) / page * page;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(page, size));
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE  // of Linux alone; a wish, which the system may refuse
  static_cast<void>(madvise(memory, size, MADV_HUGEPAGE));
#endif
  return BenchMemory(memory);
}

}  // namespace rotary::tool
