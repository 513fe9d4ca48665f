// SPDX-License-Identifier: Apache-2.0
// Ten fixed pieces of work whose instructions scripts/check_instructions.py counts:
//
//     counted NAME      runs one of them; what is counted happens inside counted_work()
#include <cstdio>
#include <functional>
#include <rotary/rotary.hpp>
#include <string_view>
#include <vector>

namespace {

using namespace rotary;

using Work = std::function<void()>;

struct Tensors {
  std::int64_t tokens;
  std::int64_t heads = 32, kv_heads = 8;
  DType dtype = DType::f32;
  Pairing pairing = Pairing::half_split;
  Layout layout = Layout::thd;
};

/// One call of `rotate` over memory of its own, with a plan that is kept or made on the way.
Work rotation(const Tensors& t, bool kept = true) {
  const std::int64_t dim = 128;
  static std::vector<double> memory(8 << 17, 1.0);
  const auto shape = [&](std::int64_t heads) {
    return HeadsShape::contiguous(t.layout, t.dtype, 1, t.tokens, heads, dim);
  };
  auto* const data = reinterpret_cast<std::byte*>(memory.data());
  const Heads q{data, shape(t.heads)};
  const Heads k{data + t.tokens * t.heads * dim * static_cast<std::int64_t>(size_of(t.dtype)),
                shape(t.kv_heads)};
  const Rope rope =
      Rope::make({.spectrum = Spectrum::make({.rotary_dim = dim}).value(), .pairing = t.pairing}).value();
  const Angles angles = rope.angles(Positions::range(1000, 1000 + t.tokens)).value();
  constexpr std::string_view kernel = "avx2";  // valgrind knows no AVX-512
  if (!kept) return [=] { rope.rotate(angles, q, k, {.kernel = kernel}).value(); };
  const RotatePlan plan = rope.plan(q.shape, k.shape, {.kernel = kernel}).value();
  return [=] { plan.run(angles, q, k).value(); };
}

Work rows(AnglePolicy policy, std::int64_t tokens) {
  const Rope rope =
      Rope::make({.spectrum = Spectrum::make({.rotary_dim = 128, .base = 10000}).value(), .policy = policy})
          .value();
  return [angles = rope.angles(Positions::range(0, tokens)).value(), tokens]() mutable {
    angles.refill(Positions::range(5000, 5000 + tokens)).value();
  };
}

struct Case {
  std::string_view name;
  std::function<Work()> make;
};
const Case cases[] = {
    {"plan_run_smallest", [] { return rotation({.tokens = 1, .heads = 1, .kv_heads = 1}); }},
    {"rotate_smallest", [] { return rotation({.tokens = 1, .heads = 1, .kv_heads = 1}, false); }},
    {"f32_half_split_decode", [] { return rotation({.tokens = 1}); }},
    {"f32_half_split", [] { return rotation({.tokens = 64}); }},
    {"f32_interleaved", [] { return rotation({.tokens = 64, .pairing = Pairing::interleaved}); }},
    {"f32_head_major", [] { return rotation({.tokens = 64, .layout = Layout::bhtd}); }},
    {"bf16_half_split", [] { return rotation({.tokens = 64, .dtype = DType::bf16}); }},
    {"f16_interleaved",
     [] { return rotation({.tokens = 64, .dtype = DType::f16, .pairing = Pairing::interleaved}); }},
    {"rows_exact", [] { return rows(AnglePolicy::exact, 64); }},
    {"rows_fp32", [] { return rows(AnglePolicy::fp32, 64); }},
};

}  // namespace

extern "C" __attribute__((noinline)) void counted_work(const Work& work) { work(); }

int main(int argc, char** argv) {
  for (const Case& each : cases) {
    if (argc < 2) std::puts(each.name.data());
    if (argc < 2 || each.name != argv[1]) continue;
    const Work work = each.make();
    work();  // what happens once: kernels are listed, pages touched
    counted_work(work);
    return 0;
  }
  return argc < 2 ? 0 : 2;
}
