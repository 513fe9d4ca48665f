// SPDX-License-Identifier: Apache-2.0
// What one pass over memory saves against two: each fused form and its steps one after the other, in turn.
#pragma once

#include <cstdint>
#include <functional>
#include <rotary/rotary.hpp>
#include <string>
#include <vector>

namespace rotary::tool {

/// Memory of its own, made ready.
struct FusedRun {
  std::int64_t bytes = 0;                   ///< that the fused form reads and writes
  std::function<void()> fused, one_by_one;  ///< the steps work on memory of their own
};

/// 32 query heads and 8 key heads of 128 lanes, thd.
struct FusedCase {
  std::string name;
  std::int64_t tokens;
  std::function<FusedRun()> make;
};

std::vector<FusedCase> fused_cases();

}  // namespace rotary::tool
