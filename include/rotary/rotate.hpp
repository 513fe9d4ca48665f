// SPDX-License-Identifier: Apache-2.0
/// @file
/// The rotation, planned once or planned on the way.
///
///     rope.rotate(angles, q, k).value();                    // in place, q and k in one call
///     rope.rotate(angles, {q, q_out}, {k, k_out}).value();  // out of place; operand.hpp has the rest
///
///     auto plan = rope.plan(q.shape, k.shape).value();      // validates and chooses the kernel
///     plan.run(angles, q, k).value();                       // allocates nothing
///
///     half_split, pairs = 4      x0 x1 x2 x3 y0 y1 y2 y3    pair i is (i, i + 4)
///     interleaved                x0 y0 x1 y1 x2 y2 x3 y3    pair i is (2i, 2i + 1)
///
///     (x, y) -> A (x cos - y sin, x sin + y cos), computed in f32 (f64 for f64) in the form
///     fma(x, c, -(y s)), fma(y, c, x s), and rounded once to the element type: the same bits on every
///     target, whatever the batch, the strides, the threads or the chunking.
///
/// Lanes outside the rotary window are not touched in place, and copied bit for bit out of place.
#pragma once

#include <cstdint>
#include <memory>
#include <rotary/angles.hpp>
#include <rotary/executor.hpp>
#include <rotary/export.hpp>
#include <rotary/operand.hpp>
#include <rotary/status.hpp>
#include <string_view>
#include <utility>

namespace rotary {

struct RotateOptions {
  std::string_view kernel = {};  ///< by name (kernels.hpp); empty: the first that accepts
  Executor* executor = nullptr;  ///< null: the caller's thread; must outlive the plan
};

namespace impl {
struct Kernel;
struct RopeState;
struct RotateWork;
struct Store;
}  // namespace impl

/// A validated rotation of one pair of shapes: which kernel, and how the work is split. Immutable, small to
/// copy, may be run by several threads at once on different data.
class ROTARY_API RotatePlan {
 public:
  /// Moving is copying: there is no plan without a rope.
  RotatePlan(const RotatePlan&) noexcept = default;
  RotatePlan& operator=(const RotatePlan&) noexcept = default;
  ~RotatePlan() = default;

  /// Rotates, with the norm and the scale that each operand brings. Errors: angles of another spectrum or policy,
  /// too few tokens or rows, an output that overlaps an input without being the same view, a null pointer or one
  /// not aligned to its elements, options out of range. Nothing is written then.
  Status run(const Angles& angles, const Operand& q, const Operand& k = {}) const noexcept;

  /// The name of the kernel that run() calls.
  std::string_view kernel() const noexcept;
  const OperandShape& q() const noexcept { return q_; }
  const OperandShape& k() const noexcept { return k_; }

 private:
  friend class Rope;
  friend struct impl::RotateWork;
  friend struct impl::Store;
  RotatePlan(std::shared_ptr<const impl::RopeState> rope, const OperandShape& q,
             const OperandShape* k) noexcept
      : rope_(std::move(rope)), q_(q), k_(k != nullptr ? *k : OperandShape()), has_k_(k != nullptr) {}
  /// Of q and k together, as a number that a stride of 0 cannot overflow.
  double token_lanes() const noexcept;
  void share_out(Executor& executor) noexcept;
  /// Written elsewhere than read, this is more than the caches hold.
  bool leaves_the_caches() const noexcept;
  bool same_shapes(const Operand& q, const Operand& k) const noexcept;
  bool plainly_fits(const Angles& angles, const Operand& q, const Operand& k) const noexcept;
  Status run_planned(const Angles& angles, const Operand& q, const Operand& k, bool plain) const noexcept;
  Status check_angles(const Angles& angles) const noexcept;
  Status check(const Operand& q, const Operand& k) const noexcept;
  void work(const Positions& positions, const float* held, const Operand& q, const Operand& k,
            bool plain) const noexcept;
  std::string_view name_of(int operand) const noexcept { return operand != 0 ? "k" : stores_ ? "x" : "q"; }

  /// Bytes from an operand's data to the lowest that is written, and past the highest.
  struct Reach {
    std::int64_t low = 0, high = 0;
  };
  /// Elements from a token to the next and from a head to the next; 0 where there is but one.
  struct Steps {
    std::int64_t in_token = 0, in_head = 0, out_token = 0, out_head = 0;
  };

  std::shared_ptr<const impl::RopeState> rope_;
  OperandShape q_, k_;
  bool has_k_ = false;
  bool stores_ = false;                              // store(): nothing turns
  bool in_adjacent_ = false, out_adjacent_ = false;  // which lanes form a pair where it is read and written
  bool conjugate_ = false, divide_ = false;          // the direction: turn back; divide rows by their length
  bool plain_ = false;                               // in place, something to do, and the reaches are known
  Reach q_reach_, k_reach_;
  Steps q_steps_, k_steps_;
  std::int64_t tokens_per_task_ = 1, tasks_per_row_ = 0;
  std::int64_t element_size_ = 0;
  const impl::Kernel* kernel_ = nullptr;
  Executor* executor_ = nullptr;
  std::int64_t alone_ = 0;  // nanoseconds in one thread, at least
};

}  // namespace rotary
