// SPDX-License-Identifier: Apache-2.0
// The doubles behind a row, on every target, to the bit: a float would hide another operation in all but one case of a
// hundred million. Where a fused operation takes two they are nearly the same, which `round` counts on.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include "kernels/reference/scalar_sines.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unit/kernels/sines_test.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/rows-inl.h"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
HWY_BEFORE_NAMESPACE();
namespace rotary::impl::HWY_NAMESPACE {

static void sines_of_phases(const std::uint64_t* phase, std::size_t count, double* cos, double* sin) {
  const hn::ScalableTag<double> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::Vec<decltype(d)> c, s;
    sines_of_phase(d, hn::LoadU(Words<decltype(d)>(), phase + i), c, s);
    hn::StoreU(c, d, cos + i);
    hn::StoreU(s, d, sin + i);
  }
}

static void sines_of_floats(const float* radians, std::size_t count, double* cos, double* sin) {
  const hn::ScalableTag<double> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::Vec<decltype(d)> c, s;
    sines_of_radians(d, hn::LoadU(Floats<decltype(d)>(), radians + i), c, s);
    hn::StoreU(c, d, cos + i);
    hn::StoreU(s, d, sin + i);
  }
}

}  // namespace rotary::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include "kernels/cpu/target_name.hpp"
namespace rotary::impl {
#ifndef ROTARY_SINES_TEST_ONCE
#define ROTARY_SINES_TEST_ONCE
struct Sines {
  std::string_view target;
  bool (*supported)() noexcept;
  void (*of_phases)(const std::uint64_t*, std::size_t, double*, double*);
  void (*of_floats)(const float*, std::size_t, double*, double*);
  bool fused;
};
#endif
namespace HWY_NAMESPACE {
[[maybe_unused]] static constexpr Sines sines_of_target = {
    HWY_STR(HWY_NAMESPACE), is_supported<HWY_TARGET>, sines_of_phases, sines_of_floats, HWY_NATIVE_FMA != 0};
}  // namespace HWY_NAMESPACE
}  // namespace rotary::impl
#endif

#if HWY_ONCE
namespace rotary::impl {
namespace {

constexpr const Sines* targets[] = {HWY_CHOOSE_TARGET_LIST(sines_of_target)};
constexpr std::size_t count = 1 << 20;

bool same(bool fused, double got, double want) {
  if (fused) return std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(want);
  return std::fabs(got - want) <= 0x1p-50 * std::fabs(want) && std::signbit(got) == std::signbit(want);
}

template <class In, class Vector, class Scalar>
void expect_scalar_bits(const std::vector<In>& in, const Vector& vector, const Scalar& scalar) {
  for (const Sines* target : targets) {
    if (target == nullptr || !target->supported()) continue;
    std::vector<double> cos(in.size()), sin(in.size());
    vector(*target, cos, sin);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const SinesOf want = scalar(in[i]);
      ASSERT_TRUE(same(target->fused, cos[i], want.cos)) << target->target << " " << in[i];
      ASSERT_TRUE(same(target->fused, sin[i], want.sin)) << target->target << " " << in[i];
    }
  }
}

TEST(Sines, OfPhasesHaveTheSameDoublesOnEveryTarget) {
  std::vector<std::uint64_t> phases;
  for (std::uint64_t eighth = 0; eighth < 8; ++eighth) {
    for (int bit = 0; bit < 64; ++bit) {
      for (const std::uint64_t near : {0, 1, -1}) {
        phases.push_back((eighth << 61) + (std::uint64_t{1} << bit) + near);
      }
    }
  }
  std::mt19937_64 random(8);
  while (phases.size() < count) phases.push_back(random());
  expect_scalar_bits(
      phases,
      [&](const Sines& by, auto& cos, auto& sin) {
        by.of_phases(phases.data(), count, cos.data(), sin.data());
      },
      sines_of_phase);
}

TEST(Sines, OfFloatsHaveTheSameDoublesOnEveryTarget) {
  std::vector<float> radians{0.0f, -0.0f, 1e-45f, max_radians, -max_radians};
  std::mt19937_64 random(9);
  std::uniform_int_distribution<std::uint32_t> bits(0, std::bit_cast<std::uint32_t>(max_radians));
  while (radians.size() < count) {
    const float x = std::bit_cast<float>(bits(random));
    radians.push_back(random() % 2 ? x : -x);
  }
  expect_scalar_bits(
      radians,
      [&](const Sines& by, auto& cos, auto& sin) {
        by.of_floats(radians.data(), count, cos.data(), sin.data());
      },
      sines_of_radians);
}

}  // namespace
}  // namespace rotary::impl
#endif
