// SPDX-License-Identifier: Apache-2.0
// One call's work, cut into tasks of up to block_tokens tokens of one batch row.
#pragma once

#include <rotary/rotate.hpp>

#include "kernels/rotate_args.hpp"

namespace rotary::impl {

/// Tokens whose rows are made at once: their rows stay in the first-level cache while the heads pass by.
inline constexpr std::int64_t block_tokens = 32;
/// Lanes of q and k from which on a call is shared out among threads: some six microseconds of one. Half of it already gains
/// where the others are awake, and waking one costs about as much.
inline constexpr std::int64_t shared_lanes = std::int64_t{1} << 17;
/// That one thread turns, where it turns most.
inline constexpr double lanes_a_nanosecond = 20;
/// So many for each of them, that whoever comes late finds some left; none smaller than this.
inline constexpr std::int64_t tasks_per_worker = 4, least_task_lanes = shared_lanes / 8;
/// Rows made on the way live on the stack, as so many numbers.
inline constexpr std::int64_t scratch_numbers = 2 * max_pairs;

struct RotateWork {
  const RotatePlan& plan;
  const Positions& positions;
  const float* held;                  ///< the rows of every position; null: they are made on the way
  const Operand* operand[2];          ///< that turn where they lie
  const RotatePlan::Steps* steps[2];  ///< of those
  std::int32_t operands;
  const Operand* staged[2];
  std::int32_t staged_operands;
  bool in_place;  ///< known of all; else each is looked at
  bool streams;   ///< outputs go past the caches

  void run(std::int64_t first_task, std::int64_t last_task) const noexcept;

 private:
  const void* rows(std::int64_t batch_row, std::int64_t token, std::int64_t count,
                   double* scratch) const noexcept;
  void copy_outside(const Operand& x, std::int64_t batch_row, std::int64_t token,
                    std::int64_t count) const noexcept;
};

}  // namespace rotary::impl
