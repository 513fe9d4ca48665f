// SPDX-License-Identifier: Apache-2.0
// The textbook way: x cos + rotate_every_two(x) sin on adjacent lanes, [batch, tokens, dim], positions
// [batch, tokens]. Then one pair as a matrix, as a complex number and by the kernel.
#include <cmath>
#include <complex>
#include <cstdio>
#include <rotary/classic.hpp>
#include <vector>

namespace textbook = rotary::classic::textbook;

namespace {

constexpr int batch = 2, tokens = 2, dim = 8;

void print(const char* what, const float* lanes) {
  std::printf("%-12s", what);
  for (int i = 0; i < dim; ++i) std::printf(" %9.4f", static_cast<double>(lanes[i]));
  std::printf("\n");
}

}  // namespace

int main() {
  std::vector<float> x;
  for (int token = 0; token < batch * tokens; ++token) {
    for (int lane = 1; lane <= dim; ++lane) x.push_back(static_cast<float>(lane));
  }
  auto quarter = x;
  textbook::rotate_every_two(textbook::btd(quarter.data(), batch, tokens, dim)).value();
  print("x", x.data());
  print("quarter turn", quarter.data());

  // Each row of the batch has positions of its own.
  const std::vector<std::int64_t> ids = {0, 1000, 1, 1001};
  const auto positions = rotary::Positions::ids(ids, batch, tokens).value();
  const auto rope = textbook::RoPE::make(dim).value();
  auto out = x;
  rope(positions, textbook::btd(out.data(), batch, tokens, dim)).value();
  const char* const names[] = {"x at 0", "x at 1000", "x at 1", "x at 1001"};
  for (int i = 0; i < batch * tokens; ++i) print(names[i], out.data() + i * dim);

  // Pair 1 is (3, 4); at position 1000 it turns by 1000 * 10000^(-2/8) = 100 radians.
  const double angle = 1000 * std::pow(10000, -2.0 / dim), c = std::cos(angle), s = std::sin(angle);
  const double matrix[2][2] = {{c, -s}, {s, c}};
  std::printf("matrix       %9.4f %9.4f\n", matrix[0][0] * 3 + matrix[0][1] * 4,
              matrix[1][0] * 3 + matrix[1][1] * 4);
  const std::complex<double> turned = std::complex<double>(3, 4) * std::polar(1.0, angle);
  std::printf("complex      %9.4f %9.4f\n", turned.real(), turned.imag());
  std::printf("kernel       %9.4f %9.4f\n", static_cast<double>(out[dim + 2]),
              static_cast<double>(out[dim + 3]));

  // What code gives that subtracts where it should add: the inverse rotation.
  auto wrong = x;
  const auto angles = rope.rope().angles(positions).value();
  rope.rope().inverse().rotate(angles, textbook::btd(wrong.data(), batch, tokens, dim)).value();
  print("-, at 1000", wrong.data() + dim);
}
