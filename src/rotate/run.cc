// SPDX-License-Identifier: Apache-2.0
// Running a plan: what only the pointers and the angles can tell is checked here, then blocks of tokens go to
// the kernel. Nothing here allocates unless it fails.
#include <algorithm>

#include "base/message.hpp"
#include "kernels/kernel_list.hpp"
#include "rotate/check.hpp"
#include "rotate/overlap.hpp"
#include "rotate/rope_state.hpp"
#include "rotate/shape.hpp"
#include "rotate/work.hpp"

namespace rotary {
namespace {

Status check_shapes(std::string_view operand, const Operand& x, const OperandShape& planned) {
  if (x.in.shape == planned.in && x.out.shape == planned.out) return {};
  return impl::invalid(operand, ": shape or strides differ from the planned ones");
}

/// By what the two differ first.
Status another_rope(const impl::AngleSource& given, const impl::AngleSource& expected) {
  const auto refusal = [](const auto&... words) {
    return impl::invalid("angles of another rope: ", words...);
  };
  if (given.policy() != expected.policy() || given.pairs() != expected.pairs()) {
    return refusal("policy ", name(given.policy()), " and ", given.pairs(), " pairs, expected this rope's ",
                   name(expected.policy()), " and ", expected.pairs(), " pairs");
  }
  const Spectrum &theirs = given.spectrum(), &ours = expected.spectrum();
  for (std::size_t i = 0; i < ours.inv_freq().size(); ++i) {
    if (theirs.inv_freq()[i] != ours.inv_freq()[i]) {
      return refusal("pair ", i, " turns ", theirs.inv_freq()[i],
                     " radians a position, expected this rope's ", ours.inv_freq()[i]);
    }
  }
  if (theirs.attention_factor() != ours.attention_factor()) {
    return refusal("A is ", theirs.attention_factor(), ", expected this rope's ", ours.attention_factor());
  }
  return refusal("the frequencies are this rope's, the axes, the scaling, the table or xPos are not");
}

}  // namespace

bool RotatePlan::same_shapes(const Operand& q, const Operand& k) const noexcept {
  return impl::same_shape(q.in.shape, q_.in) && impl::same_shape(q.out.shape, q_.out) &&
         (!has_k_ || (impl::same_shape(k.in.shape, k_.in) && impl::same_shape(k.out.shape, k_.out)));
}

/// True of what nearly every call brings; the shapes are the planned ones. Whatever it accepts check() accepts,
/// and the rest is left to that.
bool RotatePlan::plainly_fits(const Angles& angles, const Operand& q, const Operand& k) const noexcept {
  if (!plain_ || !q.options.empty() || !k.options.empty()) return false;
  if (std::max(q.options.overflow, k.options.overflow) > Overflow::special) return false;
  if (angles.source_ != rope_->source || angles.tokens() < q_.in.tokens ||
      (angles.batch() != 1 && angles.batch() != q_.in.batch)) {
    return false;
  }
  const auto q_address = reinterpret_cast<std::uintptr_t>(q.in.data);
  const auto k_address = reinterpret_cast<std::uintptr_t>(k.in.data);
  const auto misaligned = static_cast<std::uint64_t>(element_size_) - 1;
  if (q.in.data == nullptr || q.in.data != q.out.data || (q_address & misaligned) != 0) return false;
  if (!has_k_) return k.in.data == nullptr && k.out.data == nullptr;
  if (k.in.data == nullptr || k.in.data != k.out.data || (k_address & misaligned) != 0) return false;
  const auto from = [](std::uint64_t address, std::int64_t bytes) {
    return address + static_cast<std::uint64_t>(bytes);
  };
  return from(q_address, q_reach_.high) <= from(k_address, k_reach_.low) ||
         from(k_address, k_reach_.high) <= from(q_address, q_reach_.low);
}

Status RotatePlan::check_angles(const Angles& angles) const noexcept {
  using impl::invalid;
  if (angles.source_ != rope_->source && !angles.source_->equals(*rope_->source)) {
    return another_rope(*angles.source_, *rope_->source);
  }
  const std::int64_t batch = q_.in.batch, tokens = q_.in.tokens;
  if (angles.tokens() < tokens) return invalid("angles have ", angles.tokens(), " tokens, q has ", tokens);
  if (angles.batch() != 1 && angles.batch() != batch) {
    return invalid("angles have ", angles.batch(), " batch rows, expected 1 or q's ", batch);
  }
  return {};
}

Status RotatePlan::check(const Operand& q, const Operand& k) const noexcept {
  using impl::invalid;
  if (Status status = check_shapes(name_of(0), q, q_); !status.ok()) return status;
  if (has_k_) {
    if (Status status = check_shapes("k", k, k_); !status.ok()) return status;
  } else if (k.in.data != nullptr || k.out.data != nullptr) {
    return invalid("k: the plan was made without it");
  }
  const Operand* given[] = {&q, has_k_ ? &k : nullptr};
  for (int i = 0; i < 2; ++i) {
    if (given[i] == nullptr || impl::empty(given[i]->in.shape)) continue;
    if (Status status = impl::check_pointers(name_of(i), *given[i]); !status.ok()) return status;
    if (Status status = impl::check_options(name_of(i), *given[i]); !status.ok()) return status;
  }
  for (int i = 0; i < 2; ++i) {
    if (given[i] == nullptr || impl::empty(given[i]->in.shape) || given[i]->options.empty()) continue;
    for (int j = 0; j < 2; ++j) {
      if (given[j] == nullptr || impl::empty(given[j]->in.shape)) continue;
      const Status status = impl::check_overwritten(name_of(i), *given[i], name_of(j), given[j]->out);
      if (!status.ok()) return status;
    }
  }
  if (has_k_ && !impl::empty(q.in.shape) && !impl::empty(k.in.shape) &&
      (impl::overlap(q.out, k.out) || (!impl::same_view(k) && impl::overlap(q.out, k.in)) ||
       (!impl::same_view(q) && impl::overlap(q.in, k.out)))) {
    return invalid("q and k overlap");
  }
  return {};
}

Status RotatePlan::run(const Angles& angles, const Operand& q, const Operand& k) const noexcept {
  return run_planned(angles, q, k, same_shapes(q, k) && plainly_fits(angles, q, k));
}

Status RotatePlan::run_planned(const Angles& angles, const Operand& q, const Operand& k,
                               bool plain) const noexcept {
  if (!plain) {
    if (Status status = check_angles(angles); !status.ok()) return status;
    if (Status status = check(q, k); !status.ok()) return status;
  }
  work(angles.positions_, angles.rows_ == Rows::held ? angles.held_.data() : nullptr, q, k, plain);
  return {};
}

void RotatePlan::work(const Positions& positions, const float* held, const Operand& q, const Operand& k,
                      bool plain) const noexcept {
  impl::RotateWork work{*this,          positions, held, {&q, &k}, {&q_steps_, &k_steps_},
                        has_k_ ? 2 : 1, {},        0,    plain,    !plain && leaves_the_caches()};
  if (!plain) {
    work.operands = 0;
    for (const Operand* x : {&q, has_k_ ? &k : nullptr}) {
      if (x == nullptr || impl::empty(x->in.shape)) continue;
      if (impl::is_staged(*x)) {
        work.staged[work.staged_operands++] = x;
      } else {
        work.steps[work.operands] = x == &q ? &q_steps_ : &k_steps_;
        work.operand[work.operands++] = x;
      }
    }
    if (work.operands + work.staged_operands == 0) return;
  }
  const std::int64_t tasks = q_.in.batch * tasks_per_row_;
  if (executor_ == nullptr || tasks == 1 || executor_->inside() || executor_->delay() > alone_) {
    return work.run(0, tasks);
  }
  executor_->run(
      tasks,
      [](void* context, std::int64_t begin, std::int64_t end) noexcept {
        static_cast<const impl::RotateWork*>(context)->run(begin, end);
      },
      &work);
}

Executor::~Executor() = default;
std::int64_t Executor::delay() noexcept { return 0; }

}  // namespace rotary
