// SPDX-License-Identifier: Apache-2.0
/// @file
/// The rotation kernels of this build, in order of preference, and why each would or would not be taken.
///
///     for (const auto& kernel : rotary::kernels()) std::cout << kernel.name << ' ' << kernel.reason << '\n';
///     rope.rotate(angles, q, k, {.kernel = "reference"}).value();  // force one by name
#pragma once

#include <rotary/export.hpp>
#include <rotary/rope.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rotary {

/// One kernel, and the verdict on it.
struct KernelVerdict {
  std::string_view name;         ///< "avx3", "avx2", ..., "scalar", "reference"
  std::string_view description;  ///< a line for people
  bool accepted = false;
  std::string reason;  ///< why it was passed over, or empty
};

/// Every kernel of this build; accepted: this machine can run it.
ROTARY_API std::vector<KernelVerdict> kernels();

/// Every kernel of this build for this work; the first accepted one is what plan() takes.
ROTARY_API std::vector<KernelVerdict> explain_kernels(const Rope& rope, const OperandShape& q,
                                                      const OperandShape& k = {});

}  // namespace rotary
