// SPDX-License-Identifier: Apache-2.0
// Rows of cos and sin for one SIMD target: the operations of scalar_rows.cc, or none that shows, a vector at a time, in vectors
// that grow narrower towards the end of a row.
#if defined(ROTARY_KERNELS_CPU_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_CPU_ROWS_INL_H_
#undef ROTARY_KERNELS_CPU_ROWS_INL_H_
#else
#define ROTARY_KERNELS_CPU_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/reference/scalar_rows.hpp"
#include "kernels/row_maker.hpp"
#include "kernels/sine_series.hpp"
#include "kernels/wide_sines.hpp"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using Words = hn::Rebind<std::uint64_t, D>;
template <class D>
using Floats = hn::Rebind<float, D>;
template <class D>
using FloatBits = hn::Rebind<std::uint32_t, D>;

/// k[0] + z (k[1] + z (...)).
template <class D, class V, std::size_t count>
HWY_INLINE V series(D d, V z, const double (&k)[count]) {
  auto sum = hn::Set(d, k[count - 1]);
  for (std::size_t i = count - 1; i-- > 0;) sum = hn::MulAdd(z, sum, hn::Set(d, k[i]));
  return sum;
}

/// Of r, in the unit of the series, at most an eighth of a turn.
template <class D>
HWY_INLINE void sines(D d, hn::Vec<D> r, const sine_series::Series& of, hn::Vec<D>& cos, hn::Vec<D>& sin) {
  const auto z = hn::Mul(r, r);
  sin = hn::Mul(r, series(d, z, of.sin));
  cos = series(d, z, of.cos);
}

/// The signs need no quarters: the sine has that of the half turn which the phase is in, as two's complement has it, and
/// the cosine that of a quarter further.
template <class D>
HWY_INLINE void sines_of_phase(D d, hn::Vec<Words<D>> phase, hn::Vec<D>& cos, hn::Vec<D>& sin) {
  const Words<D> words;
  const hn::Rebind<std::int64_t, D> whole;
  const auto rest = hn::ConvertTo(d, hn::BitCast(whole, hn::ShiftLeft<2>(phase)));
  hn::Vec<D> of_cos, of_sin;
  sines(d, rest, sine_series::of_phase, of_cos, of_sin);
  const auto next = hn::Set(words, std::uint64_t{1} << 62);
  const auto quarter = hn::Add(phase, hn::Set(words, std::uint64_t{1} << 61));
  const auto swap = hn::RebindMask(d, hn::TestBit(quarter, next));
  cos = hn::CopySign(hn::IfThenElse(swap, of_sin, of_cos), hn::BitCast(d, hn::Add(phase, next)));
  sin = hn::CopySign(hn::IfThenElse(swap, of_cos, of_sin), hn::BitCast(d, phase));
}

/// Zero where it rounds to that float.
template <class D>
HWY_INLINE hn::Vec<FloatBits<D>> apart(D /*tag*/, hn::Vec<D> number, hn::Vec<Floats<D>> rounded) {
  const FloatBits<D> bits;
  return hn::Xor(hn::BitCast(bits, hn::DemoteTo(Floats<D>(), number)), hn::BitCast(bits, rounded));
}
template <class D>
HWY_INLINE bool is_zero(D /*tag*/, hn::Vec<FloatBits<D>> bits) {
  const FloatBits<D> words;
  return hn::AllTrue(words, hn::Eq(bits, hn::Zero(words)));
}

/// Rounds a row's numbers. False where these may not be the floats of the definition: where a fused operation takes two,
/// a number is off by some 2^-52 of itself, and one in 2^20 lies within 2^-45 of where two floats part.
template <class D>
HWY_INLINE bool round(D d, hn::Vec<D> cos, hn::Vec<D> sin, hn::Vec<Floats<D>>& to_cos,
                      hn::Vec<Floats<D>>& to_sin) {
  const Floats<D> floats;
  if constexpr (HWY_NATIVE_FMA) {
    to_cos = hn::DemoteTo(floats, cos);
    to_sin = hn::DemoteTo(floats, sin);
    return true;
  } else {
    const auto less = hn::Set(d, 1 - 0x1p-45), more = hn::Set(d, 1 + 0x1p-45);
    to_cos = hn::DemoteTo(floats, hn::Mul(cos, more));
    to_sin = hn::DemoteTo(floats, hn::Mul(sin, more));
    return is_zero(d, hn::Or(apart(d, hn::Mul(cos, less), to_cos), apart(d, hn::Mul(sin, less), to_sin)));
  }
}

/// distance * (fraction + guard / 2^32).
template <class D>
HWY_INLINE hn::Vec<Words<D>> phase_of(D /*tag*/, hn::Vec<Words<D>> distance, hn::Vec<Words<D>> fraction,
                                      hn::Vec<Words<D>> guard) {
  const hn::Repartition<std::uint32_t, D> halves;
  const auto times = [&](hn::Vec<Words<D>> word) HWY_ATTR {
    return hn::MulEven(hn::BitCast(halves, distance), hn::BitCast(halves, word));
  };
  const auto of_guard = hn::ShiftRight<32>(times(guard));
  if constexpr (HWY_TARGET <= HWY_AVX3) {
    return hn::Add(hn::Mul(distance, fraction), of_guard);
  } else {  // by halves of 32 bits, of which the distance has one
    const auto upper = hn::ShiftLeft<32>(times(hn::ShiftRight<32>(fraction)));
    return hn::Add(hn::Add(times(fraction), upper), of_guard);
  }
}

/// The row from i on.
inline RowOut from(const RowOut& out, std::int64_t i) {
  return {out.cos + i, out.sin + i, out.factor, out.mirrored};
}

/// Whether a row's numbers are written as they are.
inline bool is_plain(const RowOut& out) { return out.factor == 1 && !out.mirrored; }

/// Writes numbers, times the factor unless is_plain. False: nothing is written.
template <bool plain>
struct Put {
  template <class D>
  HWY_INLINE bool operator()(D d, hn::Vec<D> cos, hn::Vec<D> sin, std::int64_t i) const {
    const Floats<D> floats;
    if constexpr (!plain) {
      cos = hn::Mul(cos, hn::Set(d, out.factor));
      sin = hn::Mul(sin, hn::Set(d, out.mirrored ? -out.factor : out.factor));
    }
    hn::Vec<Floats<D>> to_cos, to_sin;
    if (!round(d, cos, sin, to_cos, to_sin)) return false;
    hn::StoreU(to_cos, floats, out.cos + i);
    hn::StoreU(to_sin, floats, out.sin + i);
    return true;
  }
  RowOut out;
};

template <class Put>
struct OfDistance {
  template <class D>
  HWY_INLINE bool operator()(D d, std::int64_t i) const {
    const Words<D> words;
    hn::Vec<D> cos, sin;
    sines_of_phase(
        d, phase_of(d, hn::Set(words, distance), hn::LoadU(words, fraction + i), hn::LoadU(words, guard + i)),
        cos, sin);
    return put(d, cos, sin, i);
  }
  void define(std::int64_t i, std::int64_t count) const {
    scalar_row_maker.of_distance(distance, fraction + i, guard + i, count, from(put.out, i));
  }
  std::uint64_t distance;
  const std::uint64_t *fraction, *guard;
  Put put;
};

template <class Put>
struct OfPhases {
  template <class D>
  HWY_INLINE bool operator()(D d, std::int64_t i) const {
    hn::Vec<D> cos, sin;
    sines_of_phase(d, hn::LoadU(Words<D>(), phase + i), cos, sin);
    return put(d, cos, sin, i);
  }
  void define(std::int64_t i, std::int64_t count) const {
    scalar_row_maker.of_phases(phase + i, count, from(put.out, i));
  }
  const std::uint64_t* phase;
  Put put;
};

template <class D>
HWY_INLINE void sines_of_radians(D d, hn::Vec<Floats<D>> radians, hn::Vec<D>& cos, hn::Vec<D>& sin) {
  namespace s = sine_series;
  const Words<D> words;
  const auto x = hn::PromoteTo(d, radians);
  const auto to_whole = hn::Set(d, s::to_whole);
  const auto shifted = hn::Add(hn::Mul(x, hn::Set(d, s::quarters_a_radian)), to_whole);
  const auto quarters = hn::Sub(shifted, to_whole);
  auto r = hn::NegMulAdd(quarters, hn::Set(d, s::quarter_1), x);
  r = hn::NegMulAdd(quarters, hn::Set(d, s::quarter_2), r);
  r = hn::Sub(r, hn::Mul(quarters, hn::Set(d, s::quarter_3)));
  hn::Vec<D> of_cos, of_sin;
  sines(d, r, s::of_radians, of_cos, of_sin);
  const auto quarter = hn::ShiftLeft<62>(hn::BitCast(words, shifted));
  const auto top = hn::Set(words, std::uint64_t{1} << 63), next = hn::Set(words, std::uint64_t{1} << 62);
  const auto swap = hn::RebindMask(d, hn::TestBit(quarter, next));
  const auto cos_sign = hn::And(hn::Add(quarter, next), top), sin_sign = hn::And(quarter, top);
  cos = hn::Xor(hn::IfThenElse(swap, of_sin, of_cos), hn::BitCast(d, cos_sign));
  sin = hn::Xor(hn::IfThenElse(swap, of_cos, of_sin), hn::BitCast(d, sin_sign));
}

struct OfRadians {
  template <class D>
  HWY_INLINE bool operator()(D d, std::int64_t i) const {
    const Floats<D> floats;
    hn::Vec<D> cos, sin;
    sines_of_radians(d, hn::LoadU(floats, radians + i), cos, sin);
    hn::Vec<Floats<D>> to_cos, to_sin;
    if (!round(d, cos, sin, to_cos, to_sin)) return false;
    const auto factor = hn::Set(floats, static_cast<float>(out.factor));
    hn::StoreU(hn::Mul(to_cos, factor), floats, out.cos + i);
    hn::StoreU(hn::Mul(to_sin, factor), floats, out.sin + i);
    return true;
  }
  void define(std::int64_t i, std::int64_t count) const {
    scalar_row_maker.of_radians(radians + i, count, from(out, i));
  }
  const float* radians;
  RowOut out;
};

/// sincos_of_phase, a vector at a time.
struct WideOfPhases {
  template <class D, std::size_t count>
  static HWY_INLINE hn::Vec<D> series(D d, hn::Vec<D> z, const double (&terms)[count]) {
    auto sum = hn::Set(d, terms[count - 1]);
    for (std::size_t i = count - 1; i-- > 0;) sum = hn::Add(hn::Set(d, terms[i]), hn::Mul(z, sum));
    return sum;
  }
  template <class D>
  HWY_INLINE bool operator()(D d, std::int64_t i) const {
    namespace w = wide_sines;
    const Words<D> words;
    const hn::Rebind<std::int64_t, D> whole;
    const auto at = hn::LoadU(words, phase + i);
    const auto top = hn::Set(words, std::uint64_t{1} << 63), next = hn::Set(words, std::uint64_t{1} << 62);
    const auto quarter = hn::Add(at, hn::Set(words, w::to_quarter));
    const auto rest =
        hn::Sub(hn::Add(at, hn::Set(words, std::uint64_t{1} << 31)), hn::And(quarter, hn::Or(top, next)));
    const auto high = hn::ConvertTo(d, hn::ShiftRight<32>(hn::BitCast(whole, rest)));
    const auto low = hn::ConvertTo(d, hn::ShiftRight<32>(hn::BitCast(whole, hn::ShiftLeft<32>(at))));

    const auto exact = hn::Mul(high, hn::Set(d, w::step));
    const auto more =
        hn::Add(hn::Mul(high, hn::Set(d, w::step_tail)), hn::Mul(low, hn::Set(d, w::small_step)));
    const auto r = hn::Add(exact, more);
    const auto tail = hn::Sub(more, hn::Sub(r, exact));
    const auto z = hn::Mul(r, r), one = hn::Set(d, 1.0);
    const auto of_sin = hn::Mul(z, series(d, z, w::sin)),
               of_cos = hn::Mul(hn::Mul(z, z), series(d, z, w::cos));
    const auto half = hn::Mul(hn::Set(d, 0.5), z), less = hn::Sub(one, half);
    const auto s = hn::Add(r, hn::Add(hn::Mul(r, of_sin), hn::Mul(tail, less)));
    const auto c =
        hn::Add(less, hn::Add(hn::Sub(hn::Sub(one, less), half), hn::Sub(of_cos, hn::Mul(r, tail))));

    const auto swap = hn::RebindMask(d, hn::TestBit(quarter, next));
    const auto cos_sign = hn::BitCast(d, hn::And(hn::Add(quarter, next), top));
    const auto sin_sign = hn::BitCast(d, hn::And(quarter, top));
    const auto factor = hn::Set(d, out.factor);
    hn::StoreU(hn::Mul(hn::Xor(hn::IfThenElse(swap, s, c), cos_sign), factor), d, out.cos + i);
    hn::StoreU(hn::Mul(hn::Xor(hn::IfThenElse(swap, c, s), sin_sign), factor), d, out.sin + i);
    return true;
  }
  void define(std::int64_t, std::int64_t) const {}
  const std::uint64_t* phase;
  WideRowOut out;
};

/// Numbers from i on in vectors of at most `cap` lanes, then of half as many; what no vector is sure of, by definition.
template <std::size_t cap, class Make>
HWY_INLINE void make_row(const Make& make, std::int64_t i, std::int64_t count) {
  const hn::CappedTag<double, cap> d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + step <= count; i += step) {
    if (!make(d, i)) make.define(i, step);
  }
  if constexpr (cap > 1) {
    if (i < count) make_row<cap / 2>(make, i, count);
  }
}

constexpr std::size_t widest = HWY_MAX_BYTES / sizeof(double);

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
#endif
