// SPDX-License-Identifier: Apache-2.0
#include <rotary/formats/gguf.hpp>

#include "fuzz/fuzz_model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;  // NOLINT
  const auto file = rotary::formats::Gguf::from_bytes(bytes(data, size), "fuzz");
  if (!file) return demand_reason(file.status()), 0;
  for (const auto& key : file->keys()) {
    demand(file->find(key.name) == &key.value);
    const bool number = file->number(key.name).has_value(), text = file->text(key.name).has_value();
    demand(number + text + file->numbers(key.name).has_value() <= 1);
  }
  for (const auto& tensor : file->tensors()) {
    demand(file->find_tensor(tensor.name) == &tensor);
    demand(tensor.offset <= size && tensor.bytes.size() <= size - tensor.offset);
    touch(tensor.bytes);
  }
  demand_sound(rotary::Model::from_gguf(*file, "fuzz"));
  return 0;
}
