// SPDX-License-Identifier: Apache-2.0
// The code of docs/errors.md.
#include <cstdio>
#include <rotary/rotary.hpp>
#include <vector>

namespace {

rotary::Result<rotary::Rope> make_rope(std::int64_t rotary_dim) {
  const auto spectrum = rotary::Spectrum::make({.rotary_dim = rotary_dim});
  if (!spectrum) return spectrum.status();
  return rotary::Rope::make({.spectrum = *spectrum, .head_dim = 128});
}

void print(const rotary::Status& status) {
  std::printf("%s: %s\n", name(status.code()).data(), status.message().c_str());
}

}  // namespace

int main() {
  print(make_rope(65).status());
  print(make_rope(256).status());

  try {
    make_rope(65).value();
  } catch (const rotary::Error& error) {
    std::printf("thrown: %s\n", error.what());
  }

  const auto rope = make_rope(128).value();
  const auto angles = rope.angles(rotary::Positions::range(0, 4)).value();
  std::vector<float> q(8 * 128), k(8 * 64);
  print(rope.rotate(angles, rotary::thd(q.data(), 8, 1, 128)));
  print(rope.rotate(angles, rotary::thd(q.data(), 4, 1, 128), rotary::thd(k.data(), 4, 1, 64)));
  print(rotary::Model::from_path("nowhere/config.json").status());
  print(rotary::Model::from_config(R"({"model_type": "bloom"})").status());
  print(rotary::Model::from_config(R"({"model_type": "llama", "head_dim": "wide"})").status());
}
