// SPDX-License-Identifier: Apache-2.0
// The kernels of this build in order of preference. The first that accepts is taken; the scalar one accepts
// everything, and the reference comes last.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/fuse_args.hpp"
#include "kernels/rotate_args.hpp"
#include "kernels/stage_args.hpp"

namespace rotary::impl {

/// What a kernel may decline: everything in it is known when planning.
struct KernelQuery {
  DType dtype;
  Lanes in_lanes, out_lanes;
  std::int64_t pairs;
  bool unit_lane_strides;
};

struct Kernel {
  std::string_view name;
  std::string_view description;
  /// Empty if this machine can run it, else why not.
  std::string_view (*unavailable)() noexcept;
  /// Empty if it takes this work, else why not.
  std::string_view (*declines)(const KernelQuery&) noexcept;
  RotateFunction rotate;
  /// Around it, where heads go through a stage; any lane stride.
  LoadFunction load;
  StoreFunction store;
  /// All in one, of heads that fill so many lanes; null: always through a stage.
  FuseFunction fuse = nullptr;
  std::int64_t fused_lanes = 0;
};

/// In order of preference; never empty.
std::span<const Kernel> kernel_list() noexcept;
/// The first that this machine has and that takes this work.
const Kernel& best_kernel(const KernelQuery& query) noexcept;
/// Null if there is none of that name.
const Kernel* find_kernel(std::string_view name) noexcept;

}  // namespace rotary::impl
