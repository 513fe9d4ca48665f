// SPDX-License-Identifier: Apache-2.0
// Heads that do not turn are turned by a rope without pairs, which needs no angles.
#include <rotary/rope.hpp>
#include <rotary/store.hpp>

#include "rotate/rope_state.hpp"
#include "rotate/shape.hpp"

namespace rotary {
namespace impl {
namespace {

class NoAngles final : public AngleSource {
 public:
  NoAngles() : AngleSource(AnglePolicy::exact, Spectrum()) {}
  Status check(const Positions& /*positions*/) const override { return {}; }
  void fill(const Positions& /*positions*/, std::int64_t /*batch_row*/, std::int64_t /*token*/,
            std::int64_t /*count*/, float* /*rows*/) const noexcept override {}
  void fill(const Positions& /*positions*/, std::int64_t /*batch_row*/, std::int64_t /*token*/,
            std::int64_t /*count*/, double* /*rows*/) const noexcept override {}
};

}  // namespace

struct Store {
  static Status run(const Operand& x, const RotateOptions& options) noexcept {
    static const NoAngles no_angles;
    const RopeState state{{std::shared_ptr<void>(), &no_angles}, x.in.shape.head_dim, 0};
    const Rope rope({std::shared_ptr<void>(), &state}, Pairing::half_split, Direction::forward);
    RotatePlan plan(rope.state_, {x.in.shape, x.out.shape}, nullptr);
    plan.stores_ = true;
    if (Status status = rope.prepare(plan, options); !status.ok()) return status;
    if (Status status = plan.check(x, {}); !status.ok()) return status;
    plan.work(Positions(), nullptr, x, {}, false);
    return {};
  }
};

}  // namespace impl

Status store(const Operand& x, const RotateOptions& options) noexcept { return impl::Store::run(x, options); }

}  // namespace rotary
