// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "unit/kernels/kernel_case.hpp"

namespace rotary::impl {
namespace {

TEST(KernelList, EndsWithScalarAndReference) {
  const auto kernels = kernel_list();
  ASSERT_GE(kernels.size(), 2u);
  EXPECT_EQ(kernels[kernels.size() - 2].name, "scalar");
  EXPECT_EQ(kernels.back().name, "reference");
}

TEST(KernelList, FindsEachByItsOwnName) {
  std::set<std::string_view> names;
  for (const Kernel& kernel : kernel_list()) {
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    EXPECT_EQ(find_kernel(kernel.name), &kernel);
    EXPECT_FALSE(kernel.description.empty());
  }
  EXPECT_EQ(find_kernel("AVX2"), nullptr);
  EXPECT_EQ(find_kernel(""), nullptr);
}

TEST(KernelList, EachRunnableKernelIsAFunctionOfItsOwn) {
  std::set<RotateFunction> functions;
  for (const auto& name : runnable_kernels())
    EXPECT_TRUE(functions.insert(find_kernel(name)->rotate).second) << name;
}

TEST(KernelList, SaysWhyAKernelCannotRun) {
  for (const Kernel& kernel : kernel_list()) {
    const auto why = kernel.unavailable();
    EXPECT_TRUE(why.empty() || why == "this processor lacks it") << why;
  }
}

#if defined(__x86_64__)
TEST(KernelList, KnowsTheTargetsOfX86) {
  std::vector<std::string_view> names;
  for (const Kernel& kernel : kernel_list()) names.push_back(kernel.name);
  if (names.front() == "avx3_dl") names.erase(names.begin());
  if (names.size() == 8) {
    EXPECT_EQ((std::set<std::string_view>{names[0], names[1]}),
              (std::set<std::string_view>{"avx3_bf16", "avx3_zen4"}));
    EXPECT_EQ(names, (std::vector<std::string_view>{names[0], names[1], "avx3", "avx2", "sse4", "ssse3",
                                                    "scalar", "reference"}));
  }
  for (const auto name : {"sse4", "ssse3"}) {  // all that run these tests have them
    if (const Kernel* kernel = find_kernel(name)) {
      EXPECT_EQ(kernel->unavailable(), "") << name;
    }
  }
  if (const Kernel* avx2 = find_kernel("avx2")) {
    EXPECT_EQ(avx2->unavailable().empty(), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  }
}
#endif

TEST(KernelList, DeclinesWithAReason) {
  for (const Kernel& kernel : kernel_list()) {
    for (const auto dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      for (const std::int64_t pairs : {1, 33, 4096}) {
        EXPECT_EQ(kernel.declines({dtype, Lanes::halves, Lanes::halves, pairs, true}), "");
        const bool any_strides = kernel.name == "scalar" || kernel.name == "reference";
        EXPECT_EQ(kernel.declines({dtype, Lanes::adjacent, Lanes::halves, pairs, false}),
                  any_strides ? "" : "lane stride is not 1");
      }
    }
  }
}

}  // namespace
}  // namespace rotary::impl
