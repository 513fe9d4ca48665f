// SPDX-License-Identifier: Apache-2.0
// Each fused form against its steps one after the other, through f32 tensors, bit for bit and for every kernel; and
// against the formula in double.
#include <gtest/gtest.h>

#include <cmath>
#include <rotary/executors/thread_pool.hpp>
#include <rotary/kernels.hpp>
#include <rotary/rope.hpp>
#include <rotary/store.hpp>

#include "support/allocations.hpp"
#include "support/status_matchers.hpp"
#include "support/tensor.hpp"

namespace rotary::testing {
namespace {

constexpr DType ins[] = {DType::f64, DType::f32, DType::f16, DType::bf16};
constexpr DType outs[] = {DType::f64,     DType::f32,     DType::f16, DType::bf16,
                          DType::f8_e4m3, DType::f8_e5m2, DType::i8};

struct Head {
  std::int64_t head_dim, rotary_dim, rotary_offset;
};

Rope rope_of(Pairing pairing, Head head) {
  return Rope::make({.spectrum = Spectrum::make({.rotary_dim = head.rotary_dim}).value(),
                     .pairing = pairing,
                     .head_dim = head.head_dim,
                     .rotary_offset = head.rotary_offset})
      .value();
}

/// An element of any type.
double value_at(const Tensor& x, HeadIndex h, std::int64_t lane) {
  const std::byte* at = x.at(h, lane);
  switch (x.shape.dtype) {
    case DType::f8_e4m3:
      return to_float(f8_e4m3{static_cast<std::uint8_t>(*at)});
    case DType::f8_e5m2:
      return to_float(f8_e5m2{static_cast<std::uint8_t>(*at)});
    case DType::i8:
      return static_cast<std::int8_t>(*at);
    default:
      return x.get(h, lane);
  }
}

/// Half a step of the type at a value.
double half_step(DType dtype, double value) {
  const auto of = [&](int fraction, int least) {
    return std::ldexp(0.5, std::max(std::ilogb(std::fmax(std::fabs(value), 1e-300)), least) - fraction);
  };
  switch (dtype) {
    case DType::f64:
      return of(52, -1022);
    case DType::f32:
      return of(23, -126);
    case DType::f16:
      return of(10, -14);
    case DType::bf16:
      return of(7, -126);
    case DType::f8_e4m3:
      return of(3, -6);
    case DType::f8_e5m2:
      return of(2, -14);
    default:
      return 0.5;
  }
}

struct Way {
  const char* name;
  bool norm, weighted, plus, scale, scales;
};
constexpr Way ways[] = {{"plain", false, false, false, false, false},
                        {"norm", true, true, false, false, false},
                        {"norm 1 + w", true, true, true, false, false},
                        {"norm without weight, scale", true, false, false, true, false},
                        {"scale", false, false, false, true, false},
                        {"norm, scale a head", true, true, false, false, true}};

/// q of two rows, nine tokens and three heads, more than the stage takes at once where heads are wide: normed, turned,
/// scaled, cast.
struct Fusion {
  Fusion(const Rope& of, Head head, DType in, DType out, const Way& way, bool by_head)
      : rope(of), how(way), x(random_tensor(shape(head, in, by_head), 11)), to(shape(head, out, !by_head)) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < head.head_dim; ++i) {
      const float w = 1 + normal(random) / 4;
      weight.push_back(w);
      narrow_weight.push_back(to_bf16(w));
    }
    const bool narrow = in == DType::bf16;  // as the data, or f32
    if (way.norm) {
      const auto kind = way.plus ? RmsNorm::one_plus_weight : RmsNorm::as_given;
      options.norm = !way.weighted ? RmsNorm::without_weight(1e-5f)
                     : narrow      ? RmsNorm(narrow_weight.data(), 1e-5f, kind)
                                   : RmsNorm(weight.data(), 1e-5f, kind);
      if (narrow) {
        for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = to_float(narrow_weight[i]);
      }
    }
    if (way.scale) options.scale = 3.3f;
    if (way.scales) options.head_scales = scales;
  }
  static HeadsShape shape(Head head, DType dtype, bool by_head) {
    return HeadsShape::contiguous(by_head ? Layout::bhtd : Layout::bthd, dtype, 2, 9, 3, head.head_dim);
  }
  Angles angles() const { return rope.angles(Positions::range(2000, 2009)).value(); }

  Tensor fused(std::string_view kernel) const {
    Tensor out = to;
    EXPECT_SUCCEEDS(rope.rotate(angles(), {x.heads(), out.heads(), options}, {.kernel = kernel}));
    EXPECT_TRUE(guards_untouched(to, out));
    return out;
  }

  /// Widened, normed, turned by the plain rotation, scaled and narrowed, each a call of its own.
  Tensor one_by_one(std::string_view kernel) const {
    const DType wide = x.shape.dtype == DType::f64 ? DType::f64 : DType::f32;
    Tensor y(dense(wide, 2, 9, 3, x.shape.head_dim)), out = to;
    const RotateOptions by{.kernel = kernel};
    EXPECT_SUCCEEDS(rotary::store({x.heads(), y.heads()}, by));
    if (options.norm) {
      EXPECT_SUCCEEDS(rotary::store({y.heads(), y.heads(), {.norm = options.norm}}, by));
    }
    EXPECT_SUCCEEDS(rope.rotate(angles(), y.heads(), by));
    EXPECT_SUCCEEDS(
        store({y.heads(),
               out.heads(),
               {.scale = options.scale, .head_scales = options.head_scales, .overflow = options.overflow}},
              by));
    return out;
  }

  /// How many of the allowed errors the worst element is off the formula in double.
  double worst(const Tensor& out) const {
    double off = 0;
    for_each_head(x.shape, [&](HeadIndex h) {
      const auto n = static_cast<std::size_t>(x.shape.head_dim);
      std::vector<double> v(n), y(n);
      double squares = 0;
      for (std::size_t i = 0; i < n; ++i)
        squares += std::pow(v[i] = x.get(h, static_cast<std::int64_t>(i)), 2);
      const double r =
          how.norm ? 1 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(1e-5f)) : 1;
      for (std::size_t i = 0; i < n; ++i) {
        v[i] *= r * (how.weighted ? weight[i] + (how.plus ? 1.0 : 0.0) : 1.0);
      }
      y = v;
      for (std::int64_t i = 0; i < rope.pairs(); ++i) {
        const auto from = lanes_read(rope, i), at = lanes_written(rope, i);
        const long double angle =
            static_cast<long double>(2000 + h.token) *
            static_cast<long double>(rope.spectrum().inv_freq()[static_cast<std::size_t>(i)]);
        const auto turned =
            std::complex<double>(v[static_cast<std::size_t>(from.x)], v[static_cast<std::size_t>(from.y)]) *
            std::complex<double>(static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle)));
        y[static_cast<std::size_t>(at.x)] = turned.real();
        y[static_cast<std::size_t>(at.y)] = turned.imag();
      }
      const double scale =
          how.scales ? static_cast<double>(scales[h.head]) : static_cast<double>(options.scale);
      // In what is computed; epsilon and scale are floats in f64 too.
      const double computed = x.shape.dtype == DType::f64 ? 0x1p-47 : 0x1p-19;
      double length = 0;
      for (const double value : y) length = std::fmax(length, std::fabs(value * scale));
      for (std::size_t i = 0; i < n; ++i) {
        const double want = y[i] * scale, got = value_at(out, h, static_cast<std::int64_t>(i));
        off = std::fmax(off, std::fabs(got - want) / (half_step(out.shape.dtype, want) + computed * length));
      }
    });
    return off;
  }

  const Rope& rope;
  Way how;
  Tensor x, to;
  OperandOptions options;
  std::vector<float> weight;
  std::vector<bf16> narrow_weight;
  float scales[3] = {0.25f, 5.5f, -1.7f};
};

/// Every pairing, direction, head, type, layout and kernel. A kernel for each test: they run side by side.
using Fused = ::testing::TestWithParam<std::string>;
std::vector<std::string> accepted_kernels() {
  std::vector<std::string> names;
  for (const KernelVerdict& kernel : kernels()) {
    if (kernel.accepted) names.emplace_back(kernel.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Kernels, Fused, ::testing::ValuesIn(accepted_kernels()),
                         [](const auto& each) { return each.param; });

template <class Test>
void for_each_fusion(const Test& test) {
  for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved, Pairing::interleaved_to_half}) {
    for (const Head head : {Head{128, 128, 0}, Head{27, 14, 6}, Head{200, 150, 24}}) {
      const Rope rope = rope_of(pairing, head);
      for (const Rope& turned : {rope, rope.inverse()}) {
        for (const DType in : ins) {
          for (const DType out : outs) {
            for (const Way& way : ways) {
              const bool by_head = (static_cast<int>(in) + static_cast<int>(out)) % 2 == 0;
              test(Fusion(turned, head, in, out, way, by_head));
              if (::testing::Test::HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

std::string words(const Fusion& f) {
  return std::string(name(f.x.shape.dtype)) + " to " + std::string(name(f.to.shape.dtype)) + ", " +
         f.how.name + ", " + std::string(name(f.rope.pairing())) + ", " +
         std::string(name(f.rope.direction())) + ", head_dim " + std::to_string(f.x.shape.head_dim);
}

TEST_P(Fused, HasTheBitsOfTheStepsOneByOne) {
  for_each_fusion([&](const Fusion& f) {
    // The plain rotation of the reference rounds once from double.
    if (GetParam() == "reference" && f.options.empty() && f.x.shape.dtype == f.to.shape.dtype) return;
    const Tensor fused = f.fused(GetParam());
    ASSERT_TRUE(same_bits(fused, f.one_by_one(GetParam()))) << words(f);
    if (GetParam() != "reference") {
      ASSERT_TRUE(same_bits(fused, f.fused("scalar"))) << words(f);
    }
  });
}

/// More heads than are normed together, by a scale each; of one layout and the other.
TEST_P(Fused, AllOfManyHeadsAreTurned) {
  std::vector<float> scales, weight(128, 0.75f);
  for (int i = 0; i < 19; ++i) scales.push_back(0.5f + static_cast<float>(i));
  for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
    const Rope rope = rope_of(pairing, {128, 128, 0});
    const Angles angles = rope.angles(Positions::range(700, 705)).value();
    for (const Layout layout : {Layout::bthd, Layout::bhtd}) {
      for (const bool norm : {false, true}) {
        const Tensor x = random_tensor(HeadsShape::contiguous(layout, DType::bf16, 1, 5, 19, 128), 3);
        OperandOptions options{.head_scales = scales};
        if (norm) options.norm = RmsNorm(weight.data(), 1e-6f);
        const auto turned = [&](std::string_view kernel) {
          Tensor to(HeadsShape::contiguous(layout, DType::i8, 1, 5, 19, 128));
          EXPECT_SUCCEEDS(rope.rotate(angles, {x.heads(), to.heads(), options}, {.kernel = kernel}));
          return to;
        };
        if (GetParam() != "reference") {
          ASSERT_TRUE(same_bits(turned(GetParam()), turned("scalar"))) << name(layout) << " norm " << norm;
        }
      }
    }
  }
}

TEST(Fusion, IsTheFormulaInDouble) {
  for_each_fusion([&](const Fusion& f) {
    if (f.rope.direction() == Direction::inverse) return;  // its bits are those of the plain rotation
    ASSERT_LE(f.worst(f.fused("scalar")), 1) << words(f);
  });
}

}  // namespace
}  // namespace rotary::testing
