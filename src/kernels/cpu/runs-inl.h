// SPDX-License-Identifier: Apache-2.0
// Rows of a run, a vector of pairs at a time through all of them: run.hpp says how and why.
#if defined(ROTARY_KERNELS_CPU_RUNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_CPU_RUNS_INL_H_
#undef ROTARY_KERNELS_CPU_RUNS_INL_H_
#else
#define ROTARY_KERNELS_CPU_RUNS_INL_H_
#endif

#include "kernels/cpu/rows-inl.h"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

/// A vector of one row alone: seldom, and out of the loop's registers.
template <class D>
HWY_NOINLINE void make_alone(D d, std::uint64_t distance, const PairTurns& turns, std::int64_t i,
                             const RowOut& out) {
  const OfDistance<Put<false>> alone{distance, turns.fraction, turns.guard, {out}};
  if (!alone(d, i)) alone.define(i, static_cast<std::int64_t>(hn::Lanes(d)));
}

struct OfRun {
  template <class D>
  HWY_INLINE bool operator()(D d, std::int64_t i) const {
    const Words<D> words;
    const Floats<D> floats;
    hn::Vec<D> cos, sin;
    sines_of_phase(d,
                   phase_of(d, hn::Set(words, run.distance), hn::LoadU(words, turns.fraction + i),
                            hn::LoadU(words, turns.guard + i)),
                   cos, sin);
    const auto factor = hn::Set(d, first.factor), mirror = hn::Set(d, first.mirrored ? -0.0 : 0.0);
    cos = hn::Mul(cos, factor);
    sin = hn::Mul(sin, factor);
    const auto mirrored_cos = hn::Xor(cos, mirror), mirrored_sin = hn::Xor(sin, mirror);
    const auto cos_error = hn::Mul(factor, hn::Set(d, run_error));
    const auto sin_error =
        hn::MulAdd(hn::Abs(sin), hn::Set(d, run_error), hn::Mul(factor, hn::LoadU(d, turns.slack + i)));
    const auto no_cos_error = hn::Neg(cos_error), no_sin_error = hn::Neg(sin_error);
    for (std::int64_t t = 0; t < run.rows; ++t) {
      const double* const step = turns.steps + (2 * t * turns.count + i);
      const std::int64_t at = t * run.stride + i;
      const auto c = hn::LoadU(d, step), s = hn::LoadU(d, step + turns.count);
      const auto cos_low = hn::MulAdd(cos, c, hn::NegMulAdd(sin, s, no_cos_error));
      const auto cos_high = hn::MulAdd(cos, c, hn::NegMulAdd(sin, s, cos_error));
      const auto sin_low = hn::MulAdd(mirrored_cos, s, hn::MulAdd(mirrored_sin, c, no_sin_error));
      const auto sin_high = hn::MulAdd(mirrored_cos, s, hn::MulAdd(mirrored_sin, c, sin_error));
      const auto to_cos = hn::DemoteTo(floats, cos_high), to_sin = hn::DemoteTo(floats, sin_high);
      if (HWY_UNLIKELY(!is_zero(d, hn::Or(apart(d, cos_low, to_cos), apart(d, sin_low, to_sin))))) {
        make_alone(d, run.distance + static_cast<std::uint64_t>(t), turns, i, from(first, at - i));
        continue;
      }
      hn::StoreU(to_cos, floats, first.cos + at);
      hn::StoreU(to_sin, floats, first.sin + at);
    }
    return true;
  }
  void define(std::int64_t, std::int64_t) const {}
  RowRun run;
  PairTurns turns;
  RowOut first;
};

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
#endif
