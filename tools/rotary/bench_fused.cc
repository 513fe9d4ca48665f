// SPDX-License-Identifier: Apache-2.0
#include "bench_fused.hpp"

#include <memory>
#include <random>

#include "bench_memory.hpp"

namespace rotary::tool {
namespace {

constexpr std::int64_t heads = 32, kv_heads = 8, head_dim = 128;

/// Heads of their own.
class Block {
 public:
  Block(DType dtype, std::int64_t tokens, std::int64_t count)
      : shape_(HeadsShape::contiguous(Layout::thd, dtype, 1, tokens, count, head_dim)) {
    memory_ = bench_memory(bytes());
    std::minstd_rand random(1);
    std::uniform_real_distribution<float> lanes(-2, 2);
    std::vector<float> row(static_cast<std::size_t>(count * head_dim));
    for (auto& lane : row) lane = lanes(random);
    for (std::int64_t t = 0; t < tokens; ++t) {
      Heads to{memory_.get() + t * bytes() / tokens, shape_};
      to.shape.tokens = 1;
      store({thd(row.data(), 1, count, head_dim), to}).value();
    }
  }
  Heads all() const { return {memory_.get(), shape_}; }
  /// Heads of a packed tensor.
  Heads part(std::int64_t first, std::int64_t count) const {
    Heads some = all();
    some.data = static_cast<std::byte*>(some.data) +
                first * head_dim * static_cast<std::int64_t>(size_of(shape_.dtype));
    some.shape.heads = count;
    return some;
  }
  std::int64_t bytes() const {
    return shape_.tokens * shape_.heads * head_dim * static_cast<std::int64_t>(size_of(shape_.dtype));
  }

 private:
  HeadsShape shape_;
  std::shared_ptr<std::byte> memory_;
};

struct Setting {
  DType dtype;
  std::int64_t tokens;
  Rope rope = Rope::make({.spectrum = Spectrum::make({.rotary_dim = head_dim}).value()}).value();
  Angles angles = rope.angles(Positions::range(1000, 1000 + tokens)).value();
  std::vector<float> weight = std::vector<float>(head_dim, 0.5f);

  Block block(std::int64_t count) const { return Block(dtype, tokens, count); }
};

FusedRun norm(const Setting& s) {
  const Block q = s.block(heads), k = s.block(kv_heads), q2 = s.block(heads), k2 = s.block(kv_heads);
  const auto options = [](const Setting& of) {
    return OperandOptions{.norm = RmsNorm(of.weight.data(), 1e-6f)};
  };
  return {2 * (q.bytes() + k.bytes()),
          [=] {
            s.rope.rotate(s.angles, {q.all(), q.all(), options(s)}, {k.all(), k.all(), options(s)}).value();
          },
          [=] {
            store({q2.all(), q2.all(), options(s)}).value();
            store({k2.all(), k2.all(), options(s)}).value();
            s.rope.rotate(s.angles, q2.all(), k2.all()).value();
          }};
}

FusedRun scale(const Setting& s) {
  const Block q = s.block(heads), q2 = s.block(heads);
  const OperandOptions options{.scale = 0.99999f};
  return {2 * q.bytes(),
          [=] {
            s.rope.rotate(s.angles, {q.all(), q.all(), options}).value();
          },
          [=] {
            s.rope.rotate(s.angles, q2.all()).value();
            store({q2.all(), q2.all(), options}).value();
          }};
}

FusedRun cache(const Setting& s, DType to) {
  const Block k = s.block(kv_heads), k2 = s.block(kv_heads);
  const Block cached(to, s.tokens, kv_heads), cached2(to, s.tokens, kv_heads);
  return {k.bytes() + cached.bytes(),
          [=] {
            s.rope.rotate(s.angles, {k.all(), cached.all()}).value();
          },
          [=] {
            s.rope.rotate(s.angles, k2.all()).value();
            store({k2.all(), cached2.all()}).value();
          }};
}

FusedRun split(const Setting& s) {
  const Block qkv = s.block(heads + 2 * kv_heads), q = s.block(heads), k = s.block(kv_heads),
              v = s.block(kv_heads);
  const Block q2 = s.block(heads), k2 = s.block(kv_heads), v2 = s.block(kv_heads);
  const auto of = [qkv](int which) {
    return which == 0 ? qkv.part(0, heads) : qkv.part(heads + (which - 1) * kv_heads, kv_heads);
  };
  return {2 * qkv.bytes(),
          [=] {
            s.rope.rotate(s.angles, {of(0), q.all()}, {of(1), k.all()}).value();
            store({of(2), v.all()}).value();
          },
          [=] {
            store({of(0), q2.all()}).value();
            store({of(1), k2.all()}).value();
            store({of(2), v2.all()}).value();
            s.rope.rotate(s.angles, q2.all(), k2.all()).value();
          }};
}

}  // namespace

std::vector<FusedCase> fused_cases() {
  std::vector<FusedCase> cases;
  const auto add = [&](DType dtype, const std::string& what, auto make) {
    for (const std::int64_t tokens : {1, 256, 4096}) {
      cases.push_back({std::string(rotary::name(dtype)) + ' ' + what + " tokens=" + std::to_string(tokens),
                       tokens, [=] { return make(Setting{.dtype = dtype, .tokens = tokens}); }});
    }
  };
  for (const DType dtype : {DType::f32, DType::bf16}) {
    add(dtype, "norm, rotate", norm);
    add(dtype, "rotate, scale", scale);
    add(dtype, "split qkv, rotate", split);
    for (const DType to : {DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8}) {
      if (to == dtype) continue;
      add(dtype, "rotate, store as " + std::string(rotary::name(to)),
          [=](const Setting& s) { return cache(s, to); });
    }
  }
  return cases;
}

}  // namespace rotary::tool
