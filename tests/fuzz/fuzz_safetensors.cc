// SPDX-License-Identifier: Apache-2.0
#include <rotary/formats/safetensors.hpp>

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;  // NOLINT
  const auto file = rotary::formats::Safetensors::from_bytes(bytes(data, size), "fuzz");
  if (!file) return demand_reason(file.status()), 0;
  std::size_t covered = 0;
  for (const auto& tensor : file->tensors()) {
    touch(tensor.bytes);
    covered += tensor.bytes.size();
    demand(file->find(tensor.name) == &tensor);
  }
  demand(covered + 8 + 2 <= size);
  return 0;
}
