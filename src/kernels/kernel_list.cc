// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_list.hpp"

#include <algorithm>
#include <array>

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/reference/reference.hpp"
#include "kernels/reference/stage.hpp"

namespace rotary::impl {
namespace {

std::string_view always_available() noexcept { return {}; }
std::string_view declines_nothing(const KernelQuery&) noexcept { return {}; }

constexpr Kernel any_machine[] = {
    {"scalar", "portable C++, any strides: the definition of the bits", always_available, declines_nothing,
     rotate_scalar, load_scalar, store_scalar},
    {"reference", "computed in double, rounded once: the oracle", always_available, declines_nothing,
     rotate_reference, load_scalar, store_scalar},
};

struct List {
  std::array<Kernel, 32> kernels{};  // more than there are targets
  std::size_t count = 0;

  void add(std::span<const Kernel> more) noexcept {
    std::ranges::copy(more, kernels.data() + count);
    count += more.size();
  }
};

List make_list() noexcept {
  List all;
  all.add(cpu_kernels());
  all.add(any_machine);
  return all;
}

List make_available() noexcept {
  List available;
  for (const Kernel& kernel : kernel_list()) {
    if (kernel.unavailable().empty()) available.add({&kernel, 1});
  }
  return available;
}

}  // namespace

std::span<const Kernel> kernel_list() noexcept {
  static const List list = make_list();
  return {list.kernels.data(), list.count};
}

const Kernel& best_kernel(const KernelQuery& query) noexcept {
  static const List available = make_available();
  const Kernel* kernel = available.kernels.data();
  while (!kernel->declines(query).empty()) ++kernel;  // the scalar one declines nothing
  return *kernel;
}

const Kernel* find_kernel(std::string_view name) noexcept {
  for (const Kernel& kernel : kernel_list()) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

}  // namespace rotary::impl
