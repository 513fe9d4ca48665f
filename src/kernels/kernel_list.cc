// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_list.hpp"

#include <algorithm>
#include <array>

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/reference/reference.hpp"

namespace rotary::impl {
namespace {

std::string_view always_available() noexcept { return {}; }
std::string_view declines_nothing(const KernelQuery&) noexcept { return {}; }

constexpr Kernel any_machine[] = {
    {"scalar", "portable C++, any strides: the definition of the bits", always_available, declines_nothing,
     rotate_scalar},
    {"reference", "computed in double, rounded once: the oracle", always_available, declines_nothing,
     rotate_reference},
};

struct List {
  std::array<Kernel, 32> kernels{};  // more than there are targets
  std::size_t count = 0;

  void add(std::span<const Kernel> more) noexcept {
    std::ranges::copy(more, kernels.data() + count);
    count += more.size();
  }
};

}  // namespace

std::span<const Kernel> kernel_list() noexcept {
  static const List list = [] {
    List all;
    all.add(cpu_kernels());
    all.add(any_machine);
    return all;
  }();
  return {list.kernels.data(), list.count};
}

const Kernel* find_kernel(std::string_view name) noexcept {
  for (const Kernel& kernel : kernel_list()) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

}  // namespace rotary::impl
