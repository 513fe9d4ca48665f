// SPDX-License-Identifier: Apache-2.0
#include <rotary/kernels.hpp>

#include "kernels/kernel_list.hpp"
#include "rotate/query.hpp"

namespace rotary {
namespace {

KernelVerdict verdict(const impl::Kernel& kernel, std::string_view reason) {
  return {kernel.name, kernel.description, reason.empty(), std::string(reason)};
}

}  // namespace

std::vector<KernelVerdict> kernels() {
  std::vector<KernelVerdict> verdicts;
  for (const impl::Kernel& kernel : impl::kernel_list())
    verdicts.push_back(verdict(kernel, kernel.unavailable()));
  return verdicts;
}

std::vector<KernelVerdict> explain_kernels(const Rope& rope, const OperandShape& q, const OperandShape& k) {
  const bool has_k = k.in.head_dim != 0;
  const impl::KernelQuery query = impl::kernel_query(rope, q, has_k ? &k : nullptr);
  std::vector<KernelVerdict> verdicts;
  for (const impl::Kernel& kernel : impl::kernel_list()) {
    const std::string_view reason = kernel.unavailable();
    verdicts.push_back(verdict(kernel, reason.empty() ? kernel.declines(query) : reason));
  }
  return verdicts;
}

}  // namespace rotary
