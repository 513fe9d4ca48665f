// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/scalar_rows.hpp"

#include "kernels/reference/scalar_sines.hpp"
#include "kernels/wide_sines.hpp"

namespace rotary::impl {
namespace {

void put(const RowOut& out, std::int64_t i, SinesOf value) noexcept {
  out.cos[i] = static_cast<float>(value.cos * out.factor);
  out.sin[i] = static_cast<float>((out.mirrored ? -value.sin : value.sin) * out.factor);
}

void scalar_of_distance(std::uint64_t distance, const std::uint64_t* fraction, const std::uint64_t* guard,
                        std::int64_t count, const RowOut& out) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    put(out, i, sines_of_phase(distance * fraction[i] + ((distance * guard[i]) >> 32)));
  }
}

void scalar_of_run(const RowRun& run, const PairTurns& turns, const RowOut& first) noexcept {
  for (std::int64_t t = 0; t < run.rows; ++t) {
    const std::int64_t at = t * run.stride;
    scalar_of_distance(run.distance + static_cast<std::uint64_t>(t), turns.fraction, turns.guard, turns.count,
                       {first.cos + at, first.sin + at, first.factor, first.mirrored});
  }
}

void scalar_of_phases(const std::uint64_t* phase, std::int64_t count, const RowOut& out) noexcept {
  for (std::int64_t i = 0; i < count; ++i) put(out, i, sines_of_phase(phase[i]));
}

void scalar_of_radians(const float* radians, std::int64_t count, const RowOut& out) noexcept {
  const auto factor = static_cast<float>(out.factor);
  for (std::int64_t i = 0; i < count; ++i) {
    const SinesOf value = sines_of_radians(radians[i]);
    out.cos[i] = static_cast<float>(value.cos) * factor;
    out.sin[i] = static_cast<float>(value.sin) * factor;
  }
}

void scalar_wide_of_phases(const std::uint64_t* phase, std::int64_t count, const WideRowOut& out) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    const CosSin value = sincos_of_phase(phase[i]);
    out.cos[i] = value.cos * out.factor;
    out.sin[i] = value.sin * out.factor;
  }
}

}  // namespace

constinit const RowMaker scalar_row_maker = {
    "scalar",          []() noexcept { return true; }, scalar_of_distance, scalar_of_run, scalar_of_phases,
    scalar_of_radians, scalar_wide_of_phases};

}  // namespace rotary::impl
