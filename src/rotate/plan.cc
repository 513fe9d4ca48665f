// SPDX-License-Identifier: Apache-2.0
// Validation and the choice of a kernel. Whatever can be known without pointers is decided here.
#include "base/message.hpp"
#include "kernels/kernel_list.hpp"
#include "rotate/overlap.hpp"
#include "rotate/query.hpp"
#include "rotate/rope_state.hpp"

namespace rotary {
namespace {

Status check_extents(std::string_view operand, const HeadsShape& shape, const HeadsShape& in,
                     std::int64_t head_dim) {
  using impl::invalid;
  if (!is_rotatable(shape.dtype)) {
    return invalid(operand, ": dtype ", name(shape.dtype), ", expected f64, f32, f16 or bf16");
  }
  if (shape.batch < 0 || shape.tokens < 0 || shape.heads < 0) {
    return invalid(operand, ": batch ", shape.batch, ", tokens ", shape.tokens, ", heads ", shape.heads,
                   ": none may be negative");
  }
  if (shape.head_dim != head_dim)
    return invalid(operand, ": head_dim ", shape.head_dim, ", expected ", head_dim);
  if (shape.dtype != in.dtype || shape.batch != in.batch || shape.tokens != in.tokens ||
      shape.heads != in.heads) {
    return invalid(operand, ": output of ", name(shape.dtype), " [", shape.batch, ", ", shape.tokens, ", ",
                   shape.heads, "], expected ", name(in.dtype), " [", in.batch, ", ", in.tokens, ", ",
                   in.heads, "] as the input");
  }
  const bool empty = shape.batch == 0 || shape.tokens == 0 || shape.heads == 0 || shape.head_dim == 0;
  if (!empty && !impl::addressable(shape)) {
    return invalid(operand, ": batch ", shape.batch, ", tokens ", shape.tokens, ", heads ", shape.heads,
                   " with these strides reach beyond 2^63 bytes");
  }
  return {};
}

Status check_operand(std::string_view operand, const OperandShape& shape, std::int64_t head_dim) {
  if (Status status = check_extents(operand, shape.in, shape.in, head_dim); !status.ok()) return status;
  if (!(shape.out == shape.in)) {
    if (Status status = check_extents(operand, shape.out, shape.in, head_dim); !status.ok()) return status;
  }
  if (impl::overlaps_itself(shape.out)) {
    return impl::invalid(operand, ": output strides (batch ", shape.out.batch_stride, ", token ",
                         shape.out.token_stride, ", head ", shape.out.head_stride, ", lane ",
                         shape.out.lane_stride, ") make elements overlap");
  }
  return {};
}

Result<const impl::Kernel*> choose(const impl::KernelQuery& query, std::string_view forced) {
  if (!forced.empty()) {
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
  for (const impl::Kernel& kernel : impl::kernel_list()) {
    if (kernel.unavailable().empty() && kernel.declines(query).empty()) return &kernel;
  }
  return impl::failure(StatusCode::internal, "no kernel accepts this work");
}

}  // namespace

Status Rope::prepare(RotatePlan& plan, const RotateOptions& options) const {
  const OperandShape &q = plan.q_, &k = plan.k_;
  if (Status status = check_operand("q", q, head_dim()); !status.ok()) return status;
  if (plan.has_k_) {
    if (Status status = check_operand("k", k, head_dim()); !status.ok()) return status;
    if (k.in.dtype != q.in.dtype || k.in.batch != q.in.batch || k.in.tokens != q.in.tokens) {
      return impl::invalid("k: ", name(k.in.dtype), " with batch ", k.in.batch, " and tokens ", k.in.tokens,
                           ", expected ", name(q.in.dtype), " with batch ", q.in.batch, " and tokens ",
                           q.in.tokens, " as q",
                           q.in.tokens == k.in.tokens ? "" : "; are tokens and heads swapped (bthd, bhtd)?");
    }
  }
  const impl::KernelQuery query = impl::kernel_query(*this, q, plan.has_k_ ? &k : nullptr);
  auto kernel = choose(query, options.kernel);
  if (!kernel) return kernel.status();
  plan.in_adjacent_ = query.in_lanes == impl::Lanes::adjacent;
  plan.out_adjacent_ = query.out_lanes == impl::Lanes::adjacent;
  plan.conjugate_ = direction_ == Direction::gradient || direction_ == Direction::inverse;
  plan.divide_ = direction_ == Direction::inverse || direction_ == Direction::inverse_gradient;
  plan.kernel_ = *kernel;
  plan.executor_ = options.executor;
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
  RotatePlan plan(borrowed_state(), {q.in.shape, q.out.shape}, nullptr);
  if (Status status = prepare(plan, options); !status.ok()) return status;
  return plan.run(angles, q);
}

Status Rope::rotate(const Angles& angles, const Operand& q, const Operand& k,
                    const RotateOptions& options) const noexcept {
  const OperandShape k_shape(k.in.shape, k.out.shape);
  RotatePlan plan(borrowed_state(), {q.in.shape, q.out.shape}, &k_shape);
  if (Status status = prepare(plan, options); !status.ok()) return status;
  return plan.run(angles, q, k);
}

std::shared_ptr<const impl::RopeState> Rope::borrowed_state() const noexcept {
  return {std::shared_ptr<void>(), state_.get()};
}

std::string_view RotatePlan::kernel() const noexcept { return kernel_->name; }

}  // namespace rotary
