// SPDX-License-Identifier: Apache-2.0
// The code of docs/formats.md.
//
//     page_formats MODEL.gguf
#include <cstdio>
#include <filesystem>
#include <rotary/formats/gguf.hpp>
#include <rotary/formats/npy.hpp>
#include <rotary/formats/safetensors.hpp>
#include <vector>

namespace formats = rotary::formats;

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path path = "page_formats.safetensors", npy_path = "page_formats.npy";

  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const formats::FileTensor q = {"q", rotary::DType::f32, {2, 3}, std::as_bytes(std::span(numbers))};
  formats::save_safetensors(path.string(), {&q, 1}, {{"layout", "thd"}}).value();
  formats::save_npy(npy_path.string(), q).value();

  const auto file = formats::Safetensors::open(path.string()).value();
  for (const auto& tensor : file.tensors()) {
    std::printf("%s: %s, %zu axes, %zu bytes\n", tensor.name.c_str(), name(tensor.dtype).data(),
                tensor.shape.size(), tensor.bytes.size());
  }
  const auto npy = formats::Npy::open(npy_path.string()).value();
  std::printf("npy: %zu bytes\n", npy.tensor().bytes.size());

  const auto model = formats::Gguf::open(arguments[1]).value();
  std::printf("%s, base %g, %zu keys\n", model.text("general.architecture").value_or("").data(),
              model.number("gemma3.rope.freq_base").value_or(0), model.keys().size());

  const auto part = std::as_bytes(std::span("`\0\0\0\0\0\0\0{\"q\": ..."));
  std::printf("%s\n", formats::Safetensors::from_bytes(part, "part.safetensors").status().message().c_str());
  std::printf("%s\n", formats::Npy::open(path.string()).status().message().c_str());
  std::filesystem::remove(path);
  std::filesystem::remove(npy_path);
}
