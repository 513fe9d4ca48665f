// SPDX-License-Identifier: Apache-2.0
#include "support/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {
thread_local std::size_t count = 0, bytes = 0;
thread_local bool refused = false;
// Where malloc itself would fail, sanitizers stop the program.
constexpr std::size_t largest = std::size_t{1} << 40;

bool allowed(std::size_t size) noexcept {
  ++count;
  bytes += size;
  return size <= largest && !refused;
}
void* counted(std::size_t size) noexcept {
  return allowed(size) ? std::malloc(size != 0 ? size : 1) : nullptr;
}
}  // namespace

namespace rotary::testing {
std::size_t allocations() noexcept { return count; }
std::size_t allocated_bytes() noexcept { return bytes; }
NoMemory::NoMemory() noexcept { refused = true; }
NoMemory::~NoMemory() { refused = false; }
}  // namespace rotary::testing

void* operator new(std::size_t size) {
  void* memory = counted(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto line = static_cast<std::size_t>(alignment);
  void* memory = allowed(size) ? std::aligned_alloc(line, (size / line + 1) * line) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// The standard library's own takes memory from the one above, a sanitizer's does not.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
