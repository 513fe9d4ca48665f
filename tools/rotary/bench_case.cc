// SPDX-License-Identifier: Apache-2.0
#include "bench_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

namespace rotary::tool {
namespace {

volatile const float one = 1;  // the compiler cannot know

std::string word(std::string_view key, std::int64_t value) {
  return ' ' + std::string(key) + '=' + std::to_string(value);
}

RopeOptions rope_options(const BenchCase& c) {
  RopeOptions options;
  options.spectrum = Spectrum::make({.rotary_dim = c.rotary_dim, .base = 10000}).value();
  options.head_dim = c.head_dim;
  options.rotary_offset = c.rotary_offset;
  options.pairing = c.pairing;
  if (c.op == "inverse") options.direction = Direction::inverse;
  if (c.op == "gradient") options.direction = Direction::gradient;
  return options;
}

double element(const std::byte* at, DType dtype) {
  if (dtype == DType::f32) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return dtype == DType::f16 ? to_float(f16{bits}) : to_float(bf16{bits});
}

}  // namespace

std::string BenchCase::name() const {
  std::string text = std::string(rotary::name(dtype)) + ' ' + std::string(rotary::name(pairing)) + ' ' +
                     std::string(rotary::name(layout)) + word("tokens", tokens) + word("heads", heads) + '+' +
                     std::to_string(kv_heads) + word("head_dim", head_dim);
  if (rotary_dim != head_dim) text += word("rotary_dim", rotary_dim);
  if (rotary_offset != 0) text += word("rotary_offset", rotary_offset);
  if (threads != 1) text += word("threads", threads);
  if (op != "rotate") text += ' ' + std::string(op);
  return text;
}

std::vector<BenchCase> bench_cases(int threads, bool quick) {
  std::vector<BenchCase> cases;
  const auto add = [&](BenchCase c) {
    c.threads = threads;
    cases.push_back(c);
  };
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
      for (const std::int64_t tokens : {1, 256, 4096}) {
        add({.tokens = tokens, .dtype = dtype, .pairing = pairing});
      }
    }
  }
  for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
    for (const std::int64_t tokens : {256, 4096}) {
      add({.tokens = tokens, .pairing = pairing, .layout = Layout::bhtd});
    }
  }
  if (quick) return cases;
  for (const std::int64_t tokens : {256, 4096}) {
    add({.tokens = tokens, .pairing = Pairing::interleaved_to_half});
    add({.tokens = tokens, .op = "inverse"});
    add({.tokens = tokens, .op = "gradient"});
    add({.tokens = tokens, .op = "out_of_place"});
    add({.tokens = tokens, .dtype = DType::bf16, .layout = Layout::bhtd});
  }
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t width : {64, 80, 96, 192, 256, 512}) {
      add({.tokens = 256, .head_dim = width, .rotary_dim = width, .dtype = dtype});
    }
    add({.tokens = 256, .rotary_dim = 64, .dtype = dtype});
    add({.tokens = 256, .head_dim = 256, .rotary_dim = 64, .dtype = dtype});
    add({.tokens = 256, .head_dim = 96, .rotary_dim = 24, .dtype = dtype});
    add({.tokens = 256, .rotary_dim = 80, .rotary_offset = 16, .dtype = dtype});
    add({.tokens = 256, .kv_heads = 1, .dtype = dtype});
  }
  return cases;
}

void BenchRun::fill(std::byte* memory) const {
  std::minstd_rand random(1);
  std::uniform_real_distribution<float> lanes(-2, 2);
  // Some thousand numbers again and again: making them should not take longer than timing.
  std::vector<std::byte> pattern(8192 * size_of(case_.dtype));
  for (std::size_t i = 0; i < 8192; ++i) {
    const float value = lanes(random);
    if (case_.dtype == DType::f32) {
      std::memcpy(pattern.data() + 4 * i, &value, 4);
    } else {
      const std::uint16_t bits = case_.dtype == DType::f16 ? to_f16(value).bits : to_bf16(value).bits;
      std::memcpy(pattern.data() + 2 * i, &bits, 2);
    }
  }
  const auto bytes = static_cast<std::size_t>(q_bytes_ + k_bytes_);
  for (std::size_t at = 0; at < bytes; at += pattern.size()) {
    std::memcpy(memory + at, pattern.data(), std::min(pattern.size(), bytes - at));
  }
}

BenchRun::BenchRun(const BenchCase& which, std::string_view kernel, Executor* executor)
    : case_(which),
      executor_(executor),
      q_bytes_(which.tokens * which.heads * which.head_dim * static_cast<std::int64_t>(size_of(which.dtype))),
      k_bytes_(q_bytes_ / which.heads * which.kv_heads),
      in_(bench_memory(q_bytes_ + k_bytes_)),
      rope_(Rope::make(rope_options(which)).value()),
      angles_(rope_.angles(Positions::range(1000, 1000 + which.tokens)).value()),
      plan_(rope_
                .plan(HeadsShape::contiguous(which.layout, which.dtype, 1, which.tokens, which.heads,
                                             which.head_dim))
                .value()) {
  fill(in_.get());
  const auto shape = [&](std::int64_t heads) {
    return HeadsShape::contiguous(which.layout, which.dtype, 1, which.tokens, heads, which.head_dim);
  };
  const HeadsShape q = shape(which.heads), k = shape(which.kv_heads);
  q_ = Operand(Heads{in_.get(), q});
  k_ = Operand(Heads{in_.get() + q_bytes_, k});
  if (which.op == "out_of_place") {
    out_ = bench_memory(q_bytes_ + k_bytes_);
    fill(out_.get());
    q_.out.data = out_.get();
    k_.out.data = out_.get() + q_bytes_;
  }
  plan_ = rope_.plan(q, k, {.kernel = kernel, .executor = executor}).value();
  q_runs_ = runs_of(in_.get(), which.heads);
  k_runs_ = runs_of(in_.get() + q_bytes_, which.kv_heads);
  if (out_) {
    q_out_ = runs_of(out_.get(), which.heads);
    k_out_ = runs_of(out_.get() + q_bytes_, which.kv_heads);
  }
  const std::int64_t window = which.op == "out_of_place" ? which.head_dim : which.rotary_dim;
  bytes_ = 2 * (q_bytes_ + k_bytes_) / which.head_dim * window;
}

ByteRuns BenchRun::runs_of(std::byte* data, std::int64_t heads) const {
  const auto size = static_cast<std::int64_t>(size_of(case_.dtype));
  const std::int64_t count = case_.tokens * heads, head = case_.head_dim * size;
  if (case_.rotary_dim == case_.head_dim || case_.op == "out_of_place") return {data, 1, count * head, 0};
  return {data + case_.rotary_offset * size, count, case_.rotary_dim * size, head};
}

int BenchRun::limit_count() const noexcept {
  return static_cast<int>(case_.op == "out_of_place" ? std::size(copy_ways) : std::size(fetch_distances));
}

/// q's runs and then k's, shared out among the executor's workers where there are some.
void BenchRun::limit(int way) const {
  struct Part {
    const BenchRun& run;
    int way;
    std::int64_t parts;

    void move(const ByteRuns& runs, const ByteRuns& to, std::int64_t begin, std::int64_t end) const {
      ByteRuns mine = runs, other = to;
      const bool one_run = mine.count == 1;
      std::int64_t& amount = one_run ? mine.bytes : mine.count;
      const std::int64_t each = one_run ? amount / parts / 64 * 64 : amount / parts;
      const std::int64_t first = begin * each;
      amount = (end == parts ? amount : end * each) - first;
      const std::int64_t offset = one_run ? first : first * mine.stride;
      mine.first += offset;
      if (other.first != nullptr) other.first += offset;
      other.first == nullptr ? scale_in_place(mine, fetch_distances[way], one)
                             : copy(mine, other, copy_ways[way]);
    }
    static void body(void* context, std::int64_t begin, std::int64_t end) noexcept {
      const Part& part = *static_cast<const Part*>(context);
      part.move(part.run.q_runs_, part.run.q_out_, begin, end);
      part.move(part.run.k_runs_, part.run.k_out_, begin, end);
    }
  };
  Part part{*this, way, 1};
  if (executor_ == nullptr || bytes_ < 2 * 65536) return Part::body(&part, 0, 1);
  part.parts = 4 * std::int64_t{executor_->workers()};
  executor_->run(part.parts, Part::body, &part);
}

double BenchRun::steps_off() const {
  const std::int64_t bytes = q_bytes_ + k_bytes_;
  const BenchMemory source = bench_memory(bytes), got = bench_memory(bytes), want = bench_memory(bytes);
  fill(source.get());
  std::memcpy(got.get(), source.get(), static_cast<std::size_t>(bytes));
  std::memcpy(want.get(), source.get(), static_cast<std::size_t>(bytes));
  const auto place = [&](std::byte* to, std::int64_t offset, const HeadsShape& shape) {
    return Operand(Heads{to + offset, shape});
  };
  rope_
      .rotate(angles_, place(got.get(), 0, q_.in.shape), place(got.get(), q_bytes_, k_.in.shape),
              {.kernel = plan_.kernel(), .executor = executor_})
      .value();
  rope_
      .rotate(angles_, place(want.get(), 0, q_.in.shape), place(want.get(), q_bytes_, k_.in.shape),
              {.kernel = "reference"})
      .value();
  const auto size = static_cast<std::int64_t>(size_of(case_.dtype));
  double largest = 0, difference = 0;
  for (std::int64_t at = 0; at < bytes; at += size) {
    const double a = element(got.get() + at, case_.dtype), b = element(want.get() + at, case_.dtype);
    if (std::isnan(a)) return HUGE_VAL;
    largest = std::fmax(largest, std::fabs(b));
    difference = std::fmax(difference, std::fabs(a - b));
  }
  const int digits = case_.dtype == DType::f32 ? 24 : case_.dtype == DType::f16 ? 11 : 8;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return difference / std::ldexp(1.0, exponent - digits);
}

}  // namespace rotary::tool
