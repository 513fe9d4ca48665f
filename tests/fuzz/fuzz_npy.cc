// SPDX-License-Identifier: Apache-2.0
#include <rotary/formats/npy.hpp>

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;  // NOLINT
  const auto file = rotary::formats::Npy::from_bytes(bytes(data, size), "fuzz");
  if (!file) return demand_reason(file.status()), 0;
  const auto& tensor = file->tensor();
  touch(tensor.bytes);
  std::size_t expected = rotary::size_of(tensor.dtype);
  for (const auto extent : tensor.shape) expected *= static_cast<std::size_t>(extent);
  demand(tensor.bytes.size() == expected);
  return 0;
}
