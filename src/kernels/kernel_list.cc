// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_list.hpp"

#include "kernels/reference/reference.hpp"

namespace rotary::impl {
namespace {

std::string_view always_available() noexcept {
  return {};
}
std::string_view declines_nothing(const KernelQuery&) noexcept {
  return {};
}

constexpr Kernel kernels[] = {
    {"scalar", "portable C++, any strides: the definition of the bits", always_available, declines_nothing,
     rotate_scalar},
    {"reference", "computed in double, rounded once: the oracle", always_available, declines_nothing,
     rotate_reference},
};

}  // namespace

std::span<const Kernel> kernel_list() noexcept {
  return kernels;
}

const Kernel* find_kernel(std::string_view name) noexcept {
  for (const Kernel& kernel : kernel_list()) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

}  // namespace rotary::impl
