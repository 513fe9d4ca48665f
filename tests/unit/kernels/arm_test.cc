// SPDX-License-Identifier: Apache-2.0
// Which targets the list has on Arm, against what the kernel of the system says of the processor.
#if defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "unit/kernels/kernel_case.hpp"

namespace rotary::impl {
namespace {

TEST(KernelList, KnowsTheTargetsOfArm) {
  std::vector<std::string_view> names;
  for (const Kernel& kernel : kernel_list()) names.push_back(kernel.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"sve2_128", "sve_256", "sve2", "sve", "neon", "scalar",
                                                  "reference"}));
}

TEST(KernelList, HasTheTargetsOfThisArm) {
  const bool sve = (getauxval(AT_HWCAP) & HWCAP_SVE) != 0, sve2 = (getauxval(AT_HWCAP2) & HWCAP2_SVE2) != 0;
  const int vector_bytes = sve ? prctl(PR_SVE_GET_VL) & PR_SVE_VL_LEN_MASK : 0;
  const std::pair<const char*, bool> expected[] = {{"neon", true},
                                                   {"sve", sve},
                                                   {"sve2", sve2},
                                                   {"sve_256", sve && vector_bytes == 32},
                                                   {"sve2_128", sve2 && vector_bytes == 16}};
  for (const auto& [name, there] : expected) {
    EXPECT_EQ(find_kernel(name)->unavailable(), there ? "" : "this processor lacks it") << name;
  }
}

}  // namespace
}  // namespace rotary::impl
#endif
