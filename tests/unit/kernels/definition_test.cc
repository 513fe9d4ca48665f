// SPDX-License-Identifier: Apache-2.0
// The bits of the scalar kernel against MPFR: out_x = fma(x, c, -(y s)), out_y = fma(y, c, x s), the inner
// product rounded, then one rounding to 16 bits.
#include <mpfr.h>

#include <limits>

#include "unit/kernels/kernel_case.hpp"

namespace rotary::impl {
namespace {

/// A binary format: precision and the exponents of MPFR, whose significands lie in [1/2, 1).
struct Format {
  mpfr_prec_t precision;
  mpfr_exp_t smallest, largest;
};
constexpr Format binary64{53, -1073, 1024}, binary32{24, -148, 128}, half{11, -23, 16}, brain{8, -132, 128};

template <class Element>
constexpr Format format_of = binary64;
template <>
constexpr Format format_of<float> = binary32;
template <>
constexpr Format format_of<f16> = half;
template <>
constexpr Format format_of<bf16> = brain;

/// A number that every operation rounds to `format`, subnormals and infinities as IEEE 754 has them.
class Number {
 public:
  explicit Number(const Format& format) {
    mpfr_init2(value_, format.precision);
    mpfr_set_emin(format.smallest);
    mpfr_set_emax(format.largest);
  }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  ~Number() { mpfr_clear(value_); }

  void product(double a, double b) {
    Exact x(a), y(b);
    finish(mpfr_mul(value_, x.value, y.value, MPFR_RNDN));
  }
  void fused(double a, double b, double c) {
    Exact x(a), y(b), z(c);
    finish(mpfr_fma(value_, x.value, y.value, z.value, MPFR_RNDN));
  }
  void rounded(double a) {
    Exact x(a);
    finish(mpfr_set(value_, x.value, MPFR_RNDN));
  }
  double get() const {
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    return mpfr_get_d(value_, MPFR_RNDN);
  }

 private:
  struct Exact {
    explicit Exact(double number) {
      mpfr_init2(value, 53);
      // Outside the exponents of a narrow format, so set in the widest.
      const auto least = mpfr_get_emin(), most = mpfr_get_emax();
      mpfr_set_emin(mpfr_get_emin_min());
      mpfr_set_emax(mpfr_get_emax_max());
      mpfr_set_d(value, number, MPFR_RNDN);
      mpfr_set_emin(least);
      mpfr_set_emax(most);
    }
    ~Exact() { mpfr_clear(value); }
    mpfr_t value;
  };
  void finish(int ternary) {
    ternary = mpfr_check_range(value_, ternary, MPFR_RNDN);
    mpfr_subnormalize(value_, ternary, MPFR_RNDN);
  }

  mpfr_t value_;
};

double product(const Format& format, double a, double b) {
  Number result(format);
  result.product(a, b);
  return result.get();
}
double fused(const Format& format, double a, double b, double c) {
  Number result(format);
  result.fused(a, b, c);
  return result.get();
}
double rounded(const Format& format, double a) {
  Number result(format);
  result.rounded(a);
  return result.get();
}

/// The values of a type where faults show, and some ordinary ones.
template <class Element>
std::vector<double> telling_values() {
  const Format format = format_of<Element>;
  const double least = std::ldexp(1.0, static_cast<int>(format.smallest) - 1);
  const double normal = std::ldexp(least, static_cast<int>(format.precision) - 1);
  const double step = std::ldexp(1.0, 1 - static_cast<int>(format.precision));
  const double most = std::ldexp(2.0 - step, static_cast<int>(format.largest) - 1);
  std::vector<double> values = {0.0,
                                least,
                                normal - least,
                                normal,
                                1.0,
                                1.0 + step,
                                0.7071067811865476,
                                1.5,
                                most,
                                most / 2,
                                std::numeric_limits<double>::infinity()};
  const auto count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  values.push_back(std::numeric_limits<double>::quiet_NaN());
  std::mt19937 random(1);
  std::normal_distribution<double> normals;
  for (int i = 0; i < 8; ++i) values.push_back(normals(random));
  return values;
}

template <class Element>
void expect_definition() {
  using Wide = WideOf<Element>;
  const Format wide = format_of<Wide>;
  const auto lanes = telling_values<Element>();
  const auto numbers = telling_values<Wide>();
  const Kernel& scalar = *find_kernel("scalar");
  for (const double x_value : lanes) {
    for (const double y_value : lanes) {
      // One pair for each (cos, sin): as many tokens, all reading the same two lanes.
      Element in[2];
      set(in[0], x_value);
      set(in[1], y_value);
      std::vector<Wide> rows;
      for (const double c : numbers) {
        for (const double s : numbers) {
          rows.push_back(static_cast<Wide>(c));
          rows.push_back(static_cast<Wide>(s));
        }
      }
      const auto tokens = static_cast<std::int64_t>(rows.size() / 2);
      std::vector<Element> out(rows.size());
      RotateArgs args{};
      args.operand[0] = {in, out.data(), 1, 0, 0, 1, 2, 2, 1};
      args.operands = 1;
      args.dtype = dtype_of<Element>;
      args.in_lanes = args.out_lanes = Lanes::halves;
      args.tokens = tokens;
      args.pairs = 1;
      args.rows = rows.data();
      scalar.rotate(args);
      const double x = to_double(in[0]), y = to_double(in[1]);
      for (std::size_t i = 0; i < rows.size(); i += 2) {
        const double c = rows[i], s = rows[i + 1];
        const double want[] = {fused(wide, x, c, -product(wide, y, s)),
                               fused(wide, y, c, product(wide, x, s))};
        for (const int part : {0, 1}) {
          const double narrow = rounded(format_of<Element>, want[part]), got = to_double(out[i + part]);
          ASSERT_TRUE(same(got, narrow))
              << name(dtype_of<Element>) << ": x " << x << " y " << y << " cos " << c << " sin " << s
              << " part " << part << ": got " << got << ", expected " << narrow;
        }
      }
    }
  }
}

TEST(Definition, HoldsInF64) { expect_definition<double>(); }
TEST(Definition, HoldsInF32) { expect_definition<float>(); }
TEST(Definition, HoldsInF16) { expect_definition<f16>(); }
TEST(Definition, HoldsInBf16) { expect_definition<bf16>(); }

}  // namespace
}  // namespace rotary::impl
