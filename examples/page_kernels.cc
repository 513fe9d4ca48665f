// SPDX-License-Identifier: Apache-2.0
// The code of docs/kernels.md.
#include <cstdio>
#include <rotary/kernels.hpp>
#include <vector>

int main() {
  using namespace rotary;

  const Rope rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = 128}).value()}).value();
  const auto angles = rope.angles(Positions::range(131000, 131008)).value();
  const std::int64_t lanes = 8 * 4 * 128;
  std::vector<float> x(lanes), scalar(lanes), other(lanes);
  for (std::int64_t i = 0; i < lanes; ++i) x[i] = static_cast<float>(i % 257) / 16 - 8;

  const auto in = bthd(x.data(), 1, 8, 4, 128);
  rope.rotate(angles, {in, bthd(scalar.data(), 1, 8, 4, 128)}, {.kernel = "scalar"}).value();

  bool same = true;
  for (const auto& kernel : kernels()) {
    if (!kernel.accepted || kernel.name == "reference") continue;
    rope.rotate(angles, {in, bthd(other.data(), 1, 8, 4, 128)}, {.kernel = kernel.name}).value();
    same = same && other == scalar;
  }
  std::printf("every kernel gives the bits of scalar: %s\n", same ? "true" : "no");

  auto shape = in.shape;
  for (auto* stride : {&shape.token_stride, &shape.head_stride, &shape.lane_stride}) *stride *= 2;
  for (const auto& kernel : explain_kernels(rope, shape)) {
    if (!kernel.accepted) std::fprintf(stderr, "%s: %s\n", kernel.name.data(), kernel.reason.c_str());
  }
  std::printf("lane stride 2: %s\n", rope.plan(shape)->kernel().data());
}
