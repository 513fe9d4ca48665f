// SPDX-License-Identifier: Apache-2.0
// One row maker for each target, and the list of them.
#include "kernels/row_maker.hpp"

#include <array>

#include "kernels/reference/scalar_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/row_makers.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/rows-inl.h"
#include "kernels/cpu/runs-inl.h"

// Highway's own scalar fallback would only repeat the scalar maker.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

static void of_distance(std::uint64_t distance, const std::uint64_t* fraction, const std::uint64_t* guard,
                        std::int64_t count, const RowOut& out) noexcept {
  if (is_plain(out))
    return make_row<widest>(OfDistance<Put<true>>{distance, fraction, guard, {out}}, 0, count);
  make_row<widest>(OfDistance<Put<false>>{distance, fraction, guard, {out}}, 0, count);
}
static void of_run(const RowRun& run, const PairTurns& turns, const RowOut& first) noexcept {
  make_row<widest>(OfRun{run, turns, first}, 0, turns.count);
}
static void of_phases(const std::uint64_t* phase, std::int64_t count, const RowOut& out) noexcept {
  if (is_plain(out)) return make_row<widest>(OfPhases<Put<true>>{phase, {out}}, 0, count);
  make_row<widest>(OfPhases<Put<false>>{phase, {out}}, 0, count);
}
static void of_radians(const float* radians, std::int64_t count, const RowOut& out) noexcept {
  make_row<widest>(OfRadians{radians, out}, 0, count);
}
static void wide_of_phases(const std::uint64_t* phase, std::int64_t count, const WideRowOut& out) noexcept {
  make_row<widest>(WideOfPhases{phase, out}, 0, count);
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// Runs on every processor, so it is compiled for none in particular.
#include "kernels/cpu/target_name.hpp"
namespace rotary::impl::HWY_NAMESPACE {

static constexpr auto row_maker_name = target_name(HWY_STR(HWY_NAMESPACE));
[[maybe_unused]] static constexpr RowMaker row_maker = {
    row_maker_name.data(), is_supported<HWY_TARGET>, of_distance, of_run, of_phases, of_radians,
    wide_of_phases};

}  // namespace rotary::impl::HWY_NAMESPACE

#endif

#if HWY_ONCE
namespace rotary::impl {
namespace {

// Null where a target is not compiled.
constexpr const RowMaker* by_target[] = {HWY_CHOOSE_TARGET_LIST(row_maker)};

struct List {
  std::array<RowMaker, std::size(by_target) + 1> makers{};
  std::size_t count = 0;
};

}  // namespace

std::span<const RowMaker> row_makers() noexcept {
  static const List list = [] {
    List all;
    for (const RowMaker* maker : by_target) {
      if (maker) all.makers[all.count++] = *maker;
    }
    all.makers[all.count++] = scalar_row_maker;
    return all;
  }();
  return {list.makers.data(), list.count};
}

const RowMaker& best_row_maker() noexcept {
  for (const RowMaker& maker : row_makers()) {
    if (maker.available()) return maker;
  }
  return scalar_row_maker;
}

}  // namespace rotary::impl
#endif
