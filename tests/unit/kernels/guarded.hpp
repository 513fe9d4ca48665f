// SPDX-License-Identifier: Apache-2.0
// Memory with an unreadable page before and after it: a read or write of one byte too many ends the test.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>

enum class Against { start, end };  ///< which guard page the bytes touch

class Guarded {
 public:
  Guarded(std::size_t bytes, Against side) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = (bytes + page - 1) / page * page;
    mapped_ = inner + 2 * page;
    base_ = static_cast<std::byte*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::runtime_error("mmap failed");
    if (inner > 0 && mprotect(base_ + page, inner, PROT_READ | PROT_WRITE) != 0) {
      throw std::runtime_error("mprotect failed");
    }
    data_ = base_ + page + (side == Against::end ? inner - bytes : 0);
  }
  Guarded(std::span<const std::byte> content, Against side) : Guarded(content.size(), side) {
    std::memcpy(data_, content.data(), content.size());
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(base_, mapped_); }

  std::byte* data() noexcept { return data_; }
  std::span<const std::byte> bytes() const noexcept { return {data_, bytes_}; }

 private:
  std::size_t bytes_, mapped_;
  std::byte *base_, *data_;
};
