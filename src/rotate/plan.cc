// SPDX-License-Identifier: Apache-2.0
// Validation and the choice of a kernel. Whatever can be known without pointers is decided here.
#include <algorithm>

#include "base/caches.hpp"
#include "base/message.hpp"
#include "kernels/kernel_list.hpp"
#include "rotate/check.hpp"
#include "rotate/query.hpp"
#include "rotate/rope_state.hpp"
#include "rotate/shape.hpp"
#include "rotate/stream.hpp"
#include "rotate/work.hpp"

namespace rotary {
namespace {

Result<const impl::Kernel*> forced_kernel(const impl::KernelQuery& query, std::string_view forced) {
  const impl::Kernel* kernel = impl::find_kernel(forced);
  if (kernel == nullptr) {
    std::string known;
    for (const impl::Kernel& each : impl::kernel_list())
      impl::append(known += known.empty() ? "" : ", ", each.name);
    return impl::invalid("kernel ", forced, ": this build has ", known);
  }
  std::string_view reason = kernel->unavailable();
  if (reason.empty()) reason = kernel->declines(query);
  if (!reason.empty()) return impl::failure(StatusCode::unsupported, "kernel ", forced, ": ", reason);
  return kernel;
}

/// Without the cost of counting one owner more: for a plan that ends before the rope does.
std::shared_ptr<const impl::RopeState> borrowed(
    const std::shared_ptr<const impl::RopeState>& state) noexcept {
  return {std::shared_ptr<void>(), state.get()};
}

}  // namespace

double RotatePlan::token_lanes() const noexcept {
  double lanes = 0;
  for (const HeadsShape* shape : {&q_.in, &k_.in}) {
    if (impl::empty(*shape)) continue;
    lanes += static_cast<double>(shape->heads) * static_cast<double>(shape->head_dim);
  }
  return lanes;
}

void RotatePlan::share_out(Executor& executor) noexcept {
  const double tokens = static_cast<double>(q_.in.batch) * static_cast<double>(q_.in.tokens);
  const double each_token = token_lanes(), lanes = tokens * each_token;
  const int workers = executor.workers();
  if (workers <= 1 || lanes < impl::shared_lanes) return;
  executor_ = &executor;
  alone_ = static_cast<std::int64_t>(std::min(lanes / impl::lanes_a_nanosecond, 1e18));
  const double each = tokens / static_cast<double>(impl::tasks_per_worker * workers);
  const double least = impl::least_task_lanes / each_token + 1;
  tokens_per_task_ =
      static_cast<std::int64_t>(std::min(static_cast<double>(tokens_per_task_), std::max(each, least)));
}

bool RotatePlan::leaves_the_caches() const noexcept {
  // 16 bits are bound by arithmetic, f64 is not measured. The system is asked for its caches by large calls alone.
  if (q_.in.dtype != DType::f32 || 2 * rope_->source->pairs() != rope_->head_dim) return false;
  const auto streams = [&](const OperandShape& shape) {
    return impl::empty(shape.in) || impl::fills_lines(shape.out, element_size_);
  };
  const double moved = 2 * static_cast<double>(q_.in.batch) * static_cast<double>(q_.in.tokens) *
                       token_lanes() * static_cast<double>(element_size_);
  return moved >= 1 << 20 && streams(q_) && (!has_k_ || streams(k_)) &&
         moved >= static_cast<double>(impl::last_level_cache());
}

Status Rope::prepare(RotatePlan& plan, const RotateOptions& options) const {
  const OperandShape &q = plan.q_, &k = plan.k_;
  const bool plain_q = impl::plainly_good(q, head_dim());
  if (!plain_q) {
    if (Status status = impl::check_shape(plan.name_of(0), q, head_dim()); !status.ok()) return status;
  }
  if (plan.has_k_ && xpos()) {
    return impl::invalid("k: this rope stretches ", xpos()->keys ? "keys" : "queries",
                         " as xPos does; rotate q and k apart, each by a rope of its own (Xpos::keys)");
  }
  const bool plain_k = plan.has_k_ && impl::plainly_good(k, head_dim());
  if (plan.has_k_) {
    if (!plain_k) {
      if (Status status = impl::check_shape("k", k, head_dim()); !status.ok()) return status;
    }
    if (k.in.dtype != q.in.dtype || k.in.batch != q.in.batch || k.in.tokens != q.in.tokens) {
      const bool swapped = k.in.tokens != q.in.tokens && k.in.heads == q.in.heads;
      return impl::invalid("k: ", name(k.in.dtype), " with batch ", k.in.batch, " and tokens ", k.in.tokens,
                           ", expected ", name(q.in.dtype), " with batch ", q.in.batch, " and tokens ",
                           q.in.tokens, " as q",
                           swapped ? "; are tokens and heads swapped (bthd, bhtd)?" : "");
    }
  }
  const impl::KernelQuery query = impl::kernel_query(*this, q, plan.has_k_ ? &k : nullptr);
  if (options.kernel.empty()) {
    plan.kernel_ = &impl::best_kernel(query);
  } else {
    auto kernel = forced_kernel(query, options.kernel);
    if (!kernel) return kernel.status();
    plan.kernel_ = *kernel;
  }
  plan.in_adjacent_ = query.in_lanes == impl::Lanes::adjacent;
  plan.out_adjacent_ = query.out_lanes == impl::Lanes::adjacent;
  plan.conjugate_ = direction_ == Direction::gradient || direction_ == Direction::inverse;
  plan.divide_ = (direction_ == Direction::inverse || direction_ == Direction::inverse_gradient) &&
                 (policy() == AnglePolicy::table || spectrum().attention_factor() != 1 || xpos());

  const auto size = static_cast<std::int64_t>(size_of(q.in.dtype));
  plan.element_size_ = size;
  const auto reach = [&](const HeadsShape& shape) {
    const impl::Reach elements = impl::reach_of(shape);
    return RotatePlan::Reach{elements.low * size, elements.high * size};
  };
  const auto steps = [](const OperandShape& shape) {
    using impl::step;
    const HeadsShape &in = shape.in, &out = shape.out;
    return RotatePlan::Steps{step(in.tokens, in.token_stride), step(in.heads, in.head_stride),
                             step(out.tokens, out.token_stride), step(out.heads, out.head_stride)};
  };
  plan.q_steps_ = steps(q);
  if (plan.has_k_) plan.k_steps_ = steps(k);
  const auto in_place = [](const OperandShape& shape) {
    return impl::same_shape(shape.in, shape.out) && !impl::empty(shape.in);
  };
  plan.plain_ = (plain_q || in_place(q)) && (!plan.has_k_ || plain_k || in_place(k));
  if (plan.plain_) {
    plan.q_reach_ = reach(q.out);
    if (plan.has_k_) plan.k_reach_ = reach(k.out);
  }
  // Tasks of up to so many tokens of one batch row, whose rows of angles fit the scratch of a task.
  const std::int64_t row_numbers = std::max<std::int64_t>(2 * pairs(), 1);
  const bool fits = row_numbers * impl::block_tokens <= impl::scratch_numbers;
  plan.tokens_per_task_ =
      fits ? impl::block_tokens : std::max<std::int64_t>(impl::scratch_numbers / row_numbers, 1);
  if (options.executor != nullptr) plan.share_out(*options.executor);
  // No division for a decode step.
  plan.tasks_per_row_ =
      q.in.tokens <= plan.tokens_per_task_ ? q.in.tokens != 0 : (q.in.tokens - 1) / plan.tokens_per_task_ + 1;
  return {};
}

Result<RotatePlan> Rope::plan(const OperandShape& q, const RotateOptions& options) const {
  RotatePlan plan(state_, q, nullptr);
  if (Status status = prepare(plan, options); !status.ok()) return status;
  return plan;
}

Result<RotatePlan> Rope::plan(const OperandShape& q, const OperandShape& k,
                              const RotateOptions& options) const {
  RotatePlan plan(state_, q, &k);
  if (Status status = prepare(plan, options); !status.ok()) return status;
  return plan;
}

Status Rope::rotate(const Angles& angles, const Operand& q, const RotateOptions& options) const noexcept {
  RotatePlan plan(borrowed(state_), {q.in.shape, q.out.shape}, nullptr);
  if (Status status = prepare(plan, options); !status.ok()) return status;
  return plan.run_planned(angles, q, {}, plan.plainly_fits(angles, q, {}));
}

Status Rope::rotate(const Angles& angles, const Operand& q, const Operand& k,
                    const RotateOptions& options) const noexcept {
  const OperandShape k_shape(k.in.shape, k.out.shape);
  RotatePlan plan(borrowed(state_), {q.in.shape, q.out.shape}, &k_shape);
  if (Status status = prepare(plan, options); !status.ok()) return status;
  return plan.run_planned(angles, q, k, plan.plainly_fits(angles, q, k));
}

std::string_view RotatePlan::kernel() const noexcept { return kernel_->name; }

}  // namespace rotary
