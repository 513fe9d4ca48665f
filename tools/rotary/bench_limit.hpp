// SPDX-License-Identifier: Apache-2.0
// The least that the work could cost: passes that load, scale and store the same bytes, or copy them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rotary::tool {

/// Runs of bytes that are `stride` apart.
struct ByteRuns {
  std::byte* first = nullptr;
  std::int64_t count = 0, bytes = 0, stride = 0;
};

/// Bytes that a pass fetches ahead of itself.
inline constexpr int fetch_distances[] = {0, 2048, 4096, 8192};

/// Loads, scales by `factor` as floats and stores, with the widest vectors that this machine has.
void scale_in_place(const ByteRuns& runs, int fetch_distance, float factor);
/// Ways to copy: as the C library does, by vectors, by vectors that go past the caches.
enum class CopyWay { library, vectors, streaming };
inline constexpr CopyWay copy_ways[] = {CopyWay::library, CopyWay::vectors, CopyWay::streaming};
void copy(const ByteRuns& from, const ByteRuns& to, CopyWay way);

}  // namespace rotary::tool
