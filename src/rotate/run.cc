// SPDX-License-Identifier: Apache-2.0
// Running a plan: what only the pointers and the angles can tell is checked here, then blocks of tokens go to
// the kernel. Nothing here allocates unless it fails.
#include <algorithm>
#include <cstring>

#include "base/message.hpp"
#include "kernels/kernel_list.hpp"
#include "rotate/overlap.hpp"
#include "rotate/rope_state.hpp"

namespace rotary {
namespace {

/// Tokens whose rows are made at once: their rows stay in the first-level cache while the heads pass by.
constexpr std::int64_t block_tokens = 32;
/// Rows made on the way live on the stack.
constexpr std::int64_t scratch_doubles = Rope::max_rotary_dim;
/// Below this the hand-over to other threads costs more than it saves.
constexpr std::int64_t serial_bytes = 64 * 1024;

bool same_view(const Operand& x) noexcept { return x.in.data == x.out.data && x.in.shape == x.out.shape; }

bool empty(const HeadsShape& s) noexcept {
  return s.batch == 0 || s.tokens == 0 || s.heads == 0 || s.head_dim == 0;
}

const std::byte* at(const void* data, const HeadsShape& s, std::int64_t row, std::int64_t token,
                    std::int64_t lane) noexcept {
  const std::int64_t elements = row * s.batch_stride + token * s.token_stride + lane * s.lane_stride;
  return static_cast<const std::byte*>(data) + elements * static_cast<std::int64_t>(size_of(s.dtype));
}
std::byte* at(void* data, const HeadsShape& s, std::int64_t row, std::int64_t token,
              std::int64_t lane) noexcept {
  return const_cast<std::byte*>(at(static_cast<const void*>(data), s, row, token, lane));
}

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

/// One call's work, cut into tasks of up to block_tokens tokens of one batch row.
struct Work {
  const impl::AngleSource* source;
  const Positions* positions;
  const float* held;  // null: rows are made on the way
  impl::RotateArgs args;
  const impl::Kernel* kernel;
  const Operand* operand[2];
  std::int64_t head_dim, rotary_offset;
  std::int64_t tokens, tokens_per_task, tasks_per_row;
  bool divide;

  void run(std::int64_t first_task, std::int64_t last_task) const noexcept;
  void copy_outside(const Operand& x, std::int64_t row, std::int64_t token,
                    std::int64_t count) const noexcept;
};

/// Out of place, the lanes outside the window go over as they are.
void Work::copy_outside(const Operand& x, std::int64_t row, std::int64_t token,
                        std::int64_t count) const noexcept {
  const auto size = static_cast<std::int64_t>(size_of(x.in.shape.dtype));
  const std::int64_t rotary_end = rotary_offset + 2 * source->pairs();
  const std::int64_t windows[2][2] = {{0, rotary_offset}, {rotary_end, head_dim}};
  const HeadsShape &from = x.in.shape, &to = x.out.shape;
  const bool dense = from.lane_stride == 1 && to.lane_stride == 1;
  for (const auto& [begin, end] : windows) {
    if (begin == end) continue;
    for (std::int64_t t = token; t < token + count; ++t) {
      for (std::int64_t h = 0; h < from.heads; ++h) {
        const std::byte* in = at(x.in.data, from, row, t, begin) + h * from.head_stride * size;
        std::byte* out = at(x.out.data, to, row, t, begin) + h * to.head_stride * size;
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

void Work::run(std::int64_t first_task, std::int64_t last_task) const noexcept {
  alignas(64) double scratch[scratch_doubles];
  const std::int64_t pairs = source->pairs();
  const std::int64_t angle_row = positions->batch() == 1 ? 0 : 1;
  impl::RotateArgs block = args;
  for (std::int64_t task = first_task; task < last_task; ++task) {
    const std::int64_t row = task / tasks_per_row;
    const std::int64_t token = (task % tasks_per_row) * tokens_per_task;
    block.tokens = std::min(tokens_per_task, tokens - token);
    for (int i = 0; i < block.operands; ++i) {
      const Operand& x = *operand[i];
      if (!same_view(x)) copy_outside(x, row, token, block.tokens);
      if (pairs == 0) continue;
      block.operand[i].in = at(x.in.data, x.in.shape, row, token, rotary_offset);
      block.operand[i].out = at(x.out.data, x.out.shape, row, token, rotary_offset);
    }
    if (pairs == 0) continue;
    if (args.dtype == DType::f64) {
      source->fill(*positions, row * angle_row, token, block.tokens, scratch);
      if (divide) divide_rows(scratch, block.tokens, pairs);
      block.rows = scratch;
    } else {
      const float* rows = nullptr;
      if (held != nullptr) rows = held + (row * angle_row * positions->tokens() + token) * 2 * pairs;
      if (held == nullptr || divide) {
        float* made = reinterpret_cast<float*>(scratch);
        if (held == nullptr) {
          source->fill(*positions, row * angle_row, token, block.tokens, made);
        } else {
          std::memcpy(made, rows, static_cast<std::size_t>(block.tokens * 2 * pairs) * sizeof(float));
        }
        if (divide) divide_rows(made, block.tokens, pairs);
        rows = made;
      }
      block.rows = rows;
    }
    kernel->rotate(block);
  }
}

Status check_pointers(std::string_view operand, const Operand& x) {
  if (x.in.data == nullptr || x.out.data == nullptr) return impl::invalid(operand, ": null pointer");
  if (!impl::aligned(x.in) || !impl::aligned(x.out)) {
    return impl::invalid(operand, ": pointer is not a multiple of the ", size_of(x.in.shape.dtype),
                         " bytes of ", name(x.in.shape.dtype));
  }
  if (!same_view(x) && impl::overlap(x.in, x.out)) {
    return impl::invalid(operand, ": output overlaps the input without being the same view");
  }
  return {};
}

Status check_shapes(std::string_view operand, const Operand& x, const OperandShape& planned) {
  if (x.in.shape == planned.in && x.out.shape == planned.out) return {};
  return impl::invalid(operand, ": shape or strides differ from the planned ones");
}

/// The stride of an axis of one element means nothing and may be any number, too large to step by even once.
impl::RotateArgs::Operand strides(const Operand& x) noexcept {
  const HeadsShape &in = x.in.shape, &out = x.out.shape;
  const bool steps_tokens = in.tokens > 1, steps_heads = in.heads > 1;
  return {.in = nullptr,
          .out = nullptr,
          .heads = in.heads,
          .in_token_stride = steps_tokens ? in.token_stride : 0,
          .in_head_stride = steps_heads ? in.head_stride : 0,
          .in_lane_stride = in.lane_stride,
          .out_token_stride = steps_tokens ? out.token_stride : 0,
          .out_head_stride = steps_heads ? out.head_stride : 0,
          .out_lane_stride = out.lane_stride};
}

}  // namespace

Status RotatePlan::run(const Angles& angles, const Operand& q, const Operand& k) const noexcept {
  using impl::invalid;
  if (angles.source_ != rope_->source && !angles.source_->equals(*rope_->source)) {
    return invalid("angles of another rope: policy ", name(angles.policy()), " and ", angles.pairs(),
                   " pairs, expected this rope's ", name(rope_->source->policy()), " and ",
                   rope_->source->pairs(), " pairs with the same frequencies");
  }
  const std::int64_t batch = q_.in.batch, tokens = q_.in.tokens;
  if (angles.tokens() < tokens) return invalid("angles have ", angles.tokens(), " tokens, q has ", tokens);
  if (angles.batch() != 1 && angles.batch() != batch) {
    return invalid("angles have ", angles.batch(), " batch rows, expected 1 or q's ", batch);
  }
  if (Status status = check_shapes("q", q, q_); !status.ok()) return status;
  if (has_k_) {
    if (Status status = check_shapes("k", k, k_); !status.ok()) return status;
  } else if (k.in.data != nullptr || k.out.data != nullptr) {
    return invalid("k: the plan was made without it");
  }

  Work work;  // every member is set below; zeroing them first would cost as much as a small head
  work.source = rope_->source.get();
  work.positions = &angles.positions_;
  work.held = angles.rows_ == Rows::held ? angles.held_.data() : nullptr;
  work.kernel = kernel_;
  work.head_dim = rope_->head_dim;
  work.rotary_offset = rope_->rotary_offset;
  work.tokens = tokens;
  work.divide = divide_ && (work.source->policy() == AnglePolicy::table ||
                            work.source->spectrum().attention_factor() != 1);
  work.args.operands = 0;
  work.args.dtype = q_.in.dtype;
  work.args.in_lanes = in_adjacent_ ? impl::Lanes::adjacent : impl::Lanes::halves;
  work.args.out_lanes = out_adjacent_ ? impl::Lanes::adjacent : impl::Lanes::halves;
  work.args.conjugate = conjugate_;
  work.args.pairs = work.source->pairs();

  std::int64_t elements = 0;
  const Operand* given[] = {&q, has_k_ ? &k : nullptr};
  constexpr std::string_view names[] = {"q", "k"};
  for (int i = 0; i < 2; ++i) {
    if (given[i] == nullptr || empty(given[i]->in.shape)) continue;
    if (Status status = check_pointers(names[i], *given[i]); !status.ok()) return status;
    elements += batch * tokens * given[i]->in.shape.heads * rope_->head_dim;
    work.args.operand[work.args.operands] = strides(*given[i]);
    work.operand[work.args.operands++] = given[i];
  }
  if (work.args.operands == 0) return {};
  if (work.args.operands == 2) {
    const Operand &a = *work.operand[0], &b = *work.operand[1];
    if (impl::overlap(a.out, b.out) || (!same_view(b) && impl::overlap(a.out, b.in)) ||
        (!same_view(a) && impl::overlap(a.in, b.out))) {
      return invalid("q and k overlap");
    }
  }

  const std::int64_t row_numbers = std::max<std::int64_t>(2 * work.args.pairs, 1);
  work.tokens_per_task = std::clamp<std::int64_t>(scratch_doubles / row_numbers, 1, block_tokens);
  work.tasks_per_row = (tokens - 1) / work.tokens_per_task + 1;
  const std::int64_t tasks = batch * work.tasks_per_row;
  const auto bytes = elements * static_cast<std::int64_t>(size_of(q_.in.dtype));
  if (executor_ == nullptr || tasks == 1 || bytes < serial_bytes || executor_->workers() < 2 ||
      executor_->inside()) {
    work.run(0, tasks);
  } else {
    executor_->run(
        tasks,
        [](void* context, std::int64_t begin, std::int64_t end) noexcept {
          static_cast<const Work*>(context)->run(begin, end);
        },
        &work);
  }
  return {};
}

Executor::~Executor() = default;

}  // namespace rotary
