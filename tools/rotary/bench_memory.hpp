// SPDX-License-Identifier: Apache-2.0
// Memory of tensors that are timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rotary::tool {

struct FreeMemory {
  void operator()(std::byte* memory) const noexcept;
};
using BenchMemory = std::unique_ptr<std::byte, FreeMemory>;

/// In pages of 2 MiB where the system gives them: small ones lie wherever they come from, and which lines of a cache they
/// share then differs from run to run.
BenchMemory bench_memory(std::int64_t bytes);

}  // namespace rotary::tool
