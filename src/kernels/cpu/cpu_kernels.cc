// SPDX-License-Identifier: Apache-2.0
// Once for each target: the kernel's name, whether this processor has it, and the way to its element types.
// Nothing here is compiled for a target, since it runs on every processor.
#include "kernels/cpu/cpu_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "kernels/cpu/target_name.hpp"
#include "kernels/reference/reference.hpp"
#include "kernels/reference/stage.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/cpu_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef ROTARY_KERNELS_CPU_KERNELS_ONCE
#define ROTARY_KERNELS_CPU_KERNELS_ONCE
namespace rotary::impl {
namespace {

template <std::int64_t target>
std::string_view unavailable() noexcept {
  return is_supported<target>() ? "" : "this processor lacks it";
}

std::string_view declines(const KernelQuery& query) noexcept {
  return query.unit_lane_strides ? "" : "lane stride is not 1";
}

#if HWY_ARCH_X86
std::string_view unavailable_packed_bf16() noexcept {
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has ? unavailable<HWY_AVX3>() : "this processor lacks it";
}
#endif

}  // namespace
}  // namespace rotary::impl
#endif

namespace rotary::impl::HWY_NAMESPACE {

#if HWY_NATIVE_FMA
void rotate_f64(const RotateArgs& args) noexcept;
void rotate_f32(const RotateArgs& args) noexcept;
void rotate_f16(const RotateArgs& args) noexcept;
void rotate_bf16(const RotateArgs& args) noexcept;
void load(const LoadArgs& args) noexcept;
void store(const StoreArgs& args) noexcept;
#if HWY_HAVE_SCALABLE
[[maybe_unused]] static constexpr FuseFunction fuse = nullptr;
#else
void fuse(const FuseArgs& args) noexcept;
#endif

static void rotate(const RotateArgs& args) noexcept {
  switch (args.dtype) {
    case DType::f64:
      return rotate_f64(args);
    case DType::f32:
      return rotate_f32(args);
    case DType::f16:
      return rotate_f16(args);
    case DType::bf16:
      return rotate_bf16(args);
    default:
      return;
  }
}
static constexpr auto description = "SIMD by Highway, lane stride 1";
#else
void turn_unfused(const float* cos, const float* sin, bool conjugate, std::int64_t pairs, float* x,
                  float* y) noexcept;

[[maybe_unused]] static void rotate(const RotateArgs& args) noexcept { rotate_scalar_by(turn_unfused, args); }
[[maybe_unused]] static constexpr auto description = "as scalar, floats turn by SIMD, lane stride 1";
[[maybe_unused]] static constexpr LoadFunction load = load_scalar;
[[maybe_unused]] static constexpr StoreFunction store = store_scalar;
[[maybe_unused]] static constexpr FuseFunction fuse = nullptr;
#endif

/// Four vectors of floats.
[[maybe_unused]] static constexpr std::int64_t fused_lanes = HWY_MAX_BYTES;

#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX3
void rotate_packed_bf16(const RotateArgs& args) noexcept;
void store_packing_bf16(const StoreArgs& args) noexcept;
void fuse_packing_bf16(const FuseArgs& args) noexcept;
static void rotate_packing_bf16(const RotateArgs& args) noexcept {
  args.dtype == DType::bf16 ? rotate_packed_bf16(args) : rotate(args);
}
static constexpr Kernel packing_bf16 = {"avx3_bf16",
                                        "as avx3, and the processor packs bf16",
                                        unavailable_packed_bf16,
                                        declines,
                                        rotate_packing_bf16,
                                        load,
                                        store_packing_bf16,
                                        fuse_packing_bf16,
                                        fused_lanes};

void rotate_f16_by_eight(const RotateArgs& args) noexcept;
static void rotate_for_zen4(const RotateArgs& args) noexcept {
  args.dtype == DType::f16 ? rotate_f16_by_eight(args) : rotate_packing_bf16(args);
}
static constexpr Kernel zen4 = [] {
  Kernel kernel = packing_bf16;
  kernel.name = "avx3_zen4";
  kernel.description = "as avx3_bf16, f16 in halves by vectors of 32 bytes";
  kernel.rotate = rotate_for_zen4;
  return kernel;
}();
#endif

static constexpr auto name = target_name(HWY_STR(HWY_NAMESPACE));
[[maybe_unused]] static constexpr Kernel kernel = {
    name.data(), description, unavailable<HWY_TARGET>, declines, rotate, load, store, fuse, fused_lanes};

}  // namespace rotary::impl::HWY_NAMESPACE

#if HWY_ONCE
namespace rotary::impl {
namespace {

// Null where a target is not compiled.
constexpr const Kernel* by_target[] = {
#if HWY_ARCH_X86 && (HWY_TARGETS & HWY_AVX3)
    &N_AVX3::zen4, &N_AVX3::packing_bf16,
#endif
    HWY_CHOOSE_TARGET_LIST(kernel)};
constexpr auto is_compiled = [](const Kernel* kernel) { return kernel != nullptr; };

constexpr auto for_zen4 = [] {
  std::array<Kernel, std::ranges::count_if(by_target, is_compiled)> list{};
  auto next = list.begin();
  for (const Kernel* kernel : by_target) {
    if (kernel) *next++ = *kernel;
  }
  return list;
}();

}  // namespace

std::span<const Kernel> cpu_kernels() noexcept {
#if HWY_ARCH_X86 && (HWY_TARGETS & HWY_AVX3)
  // Measured: Zen 4 turns f16 a seventh faster in vectors of 32 bytes, which are its own; it converts those of 64 in more
  // steps than two halves. Zen 5 and Sapphire Rapids convert them whole.
  static const auto kernels = [] {
    auto list = for_zen4;
    if (!__builtin_cpu_is("amdfam19h")) std::swap(list[0], list[1]);
    return list;
  }();
  return kernels;
#else
  return for_zen4;
#endif
}

}  // namespace rotary::impl
#endif
