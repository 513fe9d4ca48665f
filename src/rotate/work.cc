// SPDX-License-Identifier: Apache-2.0
#include "rotate/work.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/kernel_list.hpp"
#include "rotate/rope_state.hpp"
#include "rotate/shape.hpp"
#include "rotate/stage.hpp"
#include "rotate/stream.hpp"

namespace rotary::impl {
namespace {

/// Divides a row by its own squared length, which turns A into 1 / A and undoes any table.
template <class Real>
void divide_rows(Real* rows, std::int64_t tokens, std::int64_t pairs) noexcept {
  for (std::int64_t t = 0; t < tokens; ++t, rows += 2 * pairs) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double c = static_cast<double>(rows[i]), s = static_cast<double>(rows[pairs + i]);
      const double square = c * c + s * s;
      rows[i] = static_cast<Real>(c / square);
      rows[pairs + i] = static_cast<Real>(s / square);
    }
  }
}

}  // namespace

/// Out of place, the lanes outside the window go over as they are.
void RotateWork::copy_outside(const Operand& x, std::int64_t row, std::int64_t token,
                              std::int64_t count) const noexcept {
  const std::int64_t size = plan.element_size_;
  const std::int64_t rotary_offset = plan.rope_->rotary_offset, head_dim = plan.rope_->head_dim;
  const std::int64_t rotary_end = rotary_offset + 2 * plan.rope_->source->pairs();
  const std::int64_t windows[2][2] = {{0, rotary_offset}, {rotary_end, head_dim}};
  const HeadsShape &from = x.in.shape, &to = x.out.shape;
  const bool dense = from.lane_stride == 1 && to.lane_stride == 1;
  for (const auto& [begin, end] : windows) {
    if (begin == end) continue;
    for (std::int64_t t = token; t < token + count; ++t) {
      for (std::int64_t h = 0; h < from.heads; ++h) {
        const std::byte* in = at(x.in.data, from, size, row, t, begin) + h * from.head_stride * size;
        std::byte* out = at(x.out.data, to, size, row, t, begin) + h * to.head_stride * size;
        if (dense) {
          std::memcpy(out, in, static_cast<std::size_t>((end - begin) * size));
          continue;
        }
        for (std::int64_t lane = 0; lane < end - begin; ++lane) {
          std::memcpy(out + lane * to.lane_stride * size, in + lane * from.lane_stride * size,
                      static_cast<std::size_t>(size));
        }
      }
    }
  }
}

/// Rows of cos and sin: held ones as they lie, others in the scratch.
const void* RotateWork::rows(std::int64_t row, std::int64_t token, std::int64_t count,
                             double* scratch) const noexcept {
  const AngleSource& source = *plan.rope_->source;
  const std::int64_t pairs = source.pairs();
  const std::int64_t angle_row = positions.batch() == 1 ? 0 : row;
  if (plan.q_.in.dtype == DType::f64) {
    source.fill(positions, angle_row, token, count, scratch);
    if (plan.divide_) divide_rows(scratch, count, pairs);
    return scratch;
  }
  const float* there = nullptr;
  if (held != nullptr) {
    there = held + (angle_row * positions.tokens() + token) * 2 * pairs;
    if (!plan.divide_) return there;
  }
  float* made = reinterpret_cast<float*>(scratch);
  if (held != nullptr) {
    std::memcpy(made, there, static_cast<std::size_t>(count * 2 * pairs) * sizeof(float));
  } else {
    source.fill(positions, angle_row, token, count, made);
  }
  if (plan.divide_) divide_rows(made, count, pairs);
  return made;
}

void RotateWork::run(std::int64_t first_task, std::int64_t last_task) const noexcept {
  alignas(64) double scratch[scratch_numbers];
  RotateArgs args;
  args.operands = operands;
  args.dtype = plan.q_.in.dtype;
  args.in_lanes = plan.in_adjacent_ ? Lanes::adjacent : Lanes::halves;
  args.out_lanes = plan.out_adjacent_ ? Lanes::adjacent : Lanes::halves;
  args.conjugate = plan.conjugate_;
  args.pairs = plan.rope_->source->pairs();
  std::int64_t heads = 0;
  for (std::int32_t i = 0; i < operands; ++i) {
    const RotatePlan::Steps& by = *steps[i];
    args.operand[i].heads = operand[i]->in.shape.heads;
    heads += args.operand[i].heads;
    args.operand[i].in_token_stride = by.in_token;
    args.operand[i].in_head_stride = by.in_head;
    args.operand[i].in_lane_stride = operand[i]->in.shape.lane_stride;
    args.operand[i].out_token_stride = by.out_token;
    args.operand[i].out_head_stride = by.out_head;
    args.operand[i].out_lane_stride = operand[i]->out.shape.lane_stride;
  }
  args.bytes = plan.q_.in.batch * plan.q_.in.tokens * heads * 2 * args.pairs * plan.element_size_;
  std::int64_t row = 0, token = 0, left = plan.tasks_per_row_;  // tasks of the batch row
  if (first_task != 0) {
    row = first_task / plan.tasks_per_row_;
    left -= first_task % plan.tasks_per_row_;
    token = (plan.tasks_per_row_ - left) * plan.tokens_per_task_;
  }
  const std::int64_t offset = plan.rope_->rotary_offset;
  // Where nothing is made or copied on the way a call takes as many tasks as a batch row has left.
  const bool joined =
      in_place && held != nullptr && !plan.divide_ && plan.q_.in.dtype != DType::f64 && staged_operands == 0;
  for (std::int64_t task = first_task; task < last_task;) {
    const std::int64_t tasks = joined ? std::min(last_task - task, left) : 1;
    args.tokens = std::min(tasks * plan.tokens_per_task_, plan.q_.in.tokens - token);
    task += tasks;
    left -= tasks;
    for (std::int32_t i = 0; i < operands; ++i) {
      const Operand& x = *operand[i];
      std::byte* const out = at(x.out.data, x.out.shape, plan.element_size_, row, token, offset);
      args.operand[i].out = out;
      args.operand[i].in = out;
      if (!in_place) {
        if (!same_view(x)) copy_outside(x, row, token, args.tokens);
        args.operand[i].in = at(x.in.data, x.in.shape, plan.element_size_, row, token, offset);
      }
    }
    if (args.pairs != 0) args.rows = rows(row, token, args.tokens, scratch);
    if (args.pairs != 0 && operands != 0) {
      streams ? rotate_past_caches(*plan.kernel_, args) : plan.kernel_->rotate(args);
    }
    for (std::int32_t i = 0; i < staged_operands; ++i) {
      rotate_staged(*plan.kernel_, args, plan.rope_->rotary_offset, {*staged[i], row, token});
    }
    token += args.tokens;
    if (left == 0) {
      left = plan.tasks_per_row_;
      token = 0;
      ++row;
    }
  }
}

}  // namespace rotary::impl
