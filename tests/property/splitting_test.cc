// SPDX-License-Identifier: Apache-2.0
// One set of bits however the work is cut: into tokens, chunks, rows, sequences, threads, calls.
#include <atomic>
#include <thread>

#include "support.hpp"

namespace rotary::testing {
namespace {

RC_GTEST_PROP(Splitting, PrefillEqualsSingleSteps, ()) {
  const Rope rope = draw_rope();
  const HeadsShape shape = draw_shape(rope);
  const auto first = *position().as("first position");
  const Tensor x = random_tensor(shape, draw_seed(), Values::any);
  const Rows rows = draw_chance("held", 50) ? Rows::held : Rows::on_the_way;
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    const Tensor whole = rotated(rope, Positions::range(first, first + shape.tokens), x, {.kernel = kernel});
    Angles angles = rope.angles(Positions::range(0, 1), rows).value();
    for (std::int64_t t = 0; t < shape.tokens; ++t) {
      check(angles.refill(Positions::range(first + t, first + t + 1)));
      RC_ASSERT(same_bits(rotated(rope, angles, cut_tokens(x, t, t + 1), {.kernel = kernel}),
                          cut_tokens(whole, t, t + 1)));
    }
  });
}

RC_GTEST_PROP(Splitting, AnyChunksEqualTheWhole, ()) {
  const Rope rope = draw_rope();
  HeadsShape shape = draw_shape(rope);
  shape = dense(shape.dtype, shape.batch, draw("many tokens", 1, 90), shape.heads, shape.head_dim);
  const auto first = *position().as("first position");
  const Tensor x = random_tensor(shape, draw_seed(), Values::any);
  std::vector<std::int64_t> ends;
  for (std::int64_t end = 0; end < shape.tokens;) {
    ends.push_back(end = std::min(shape.tokens, end + draw("chunk", 1, 40)));
  }
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    const Tensor whole = rotated(rope, Positions::range(first, first + shape.tokens), x, {.kernel = kernel});
    std::int64_t begin = 0;
    for (const std::int64_t end : ends) {
      const Tensor chunk = rotated(rope, Positions::range(first + begin, first + end),
                                   cut_tokens(x, begin, end), {.kernel = kernel});
      RC_ASSERT(same_bits(chunk, cut_tokens(whole, begin, end)));
      begin = end;
    }
  });
}

/// Ranges of odd sizes, the last ones first.
struct OddExecutor : Executor {
  explicit OddExecutor(std::int64_t of_size) : size(of_size) {}
  int workers() const noexcept override { return 5; }
  bool inside() const noexcept override { return false; }
  void run(std::int64_t tasks, Body body, void* context) noexcept override {
    ++calls;
    const std::int64_t ranges = (tasks + size - 1) / size;
    for (std::int64_t i = ranges; i-- > 0;) {
      const std::int64_t scattered = ranges % 2 == 1 ? i : i ^ 1;  // neighbours change places
      body(context, scattered * size, std::min(tasks, (scattered + 1) * size));
    }
  }
  std::int64_t size;
  int calls = 0;
};

/// Three threads, each taking the next task.
struct ThreadExecutor : Executor {
  int workers() const noexcept override { return 3; }
  bool inside() const noexcept override { return false; }
  void run(std::int64_t tasks, Body body, void* context) noexcept override {
    ++calls;
    std::atomic<std::int64_t> next{0};
    const auto work = [&]() noexcept {
      for (std::int64_t task; (task = next++) < tasks;) body(context, task, task + 1);
    };
    std::thread a(work), b(work);
    work();
    a.join();
    b.join();
  }
  int calls = 0;
};

// Work above the size where a plan begins to use threads.
RC_GTEST_PROP(Splitting, AnyExecutorGivesTheSameBits, ()) {
  const Rope rope = draw_rope();
  const DType dtype = draw_dtype();
  const std::int64_t batch = draw("batch", 1, 3), tokens = draw("tokens", 40, 100);
  const std::int64_t heads = 1 + 128 * 1024 / (batch * tokens * rope.head_dim()),
                     kv_heads = draw("kv_heads", 1, 2);
  const std::uint64_t seed = draw_seed();
  const Tensor q = random_tensor(dense(dtype, batch, tokens, heads, rope.head_dim()), seed);
  const Tensor k = random_tensor(with_heads(q.shape, kv_heads), seed + 1);
  const Rows rows = draw_chance("held", 50) ? Rows::held : Rows::on_the_way;
  const Angles angles = rope.angles(draw_positions(batch, tokens), rows).value();
  OddExecutor odd(draw("tasks at once", 1, 3));
  ThreadExecutor threads;
  for_each_kernel(rope, q.shape, [&](std::string_view kernel) {
    Tensor q_serial = q, k_serial = k;
    check(rope.rotate(angles, q_serial.heads(), k_serial.heads(), {.kernel = kernel}));
    for (Executor* executor : {static_cast<Executor*>(&odd), static_cast<Executor*>(&threads)}) {
      Tensor q_out = q, k_out = k;
      check(rope.rotate(angles, q_out.heads(), k_out.heads(), {.kernel = kernel, .executor = executor}));
      RC_ASSERT(q_out.memory == q_serial.memory);
      RC_ASSERT(k_out.memory == k_serial.memory);
    }
  });
  RC_ASSERT(odd.calls > 0 && odd.calls == threads.calls);
}

RC_GTEST_PROP(Splitting, QAndKTogetherEqualQAndKApart, ()) {
  const Rope rope = draw_rope({.directions = {Direction::forward, Direction::inverse}});
  const HeadsShape q_packed = draw_shape(rope);
  const HeadsShape q_shape = draw_strides(q_packed);
  const HeadsShape k_shape = draw_strides(with_heads(q_packed, draw("kv_heads", 1, 4)));
  const std::uint64_t seed = draw_seed();
  const Tensor q = random_tensor(q_shape, seed, Values::any),
               k = random_tensor(k_shape, seed + 1, Values::any);
  const Angles angles = rope.angles(draw_positions(q_shape.batch, q_shape.tokens)).value();
  for_each_kernel(rope, q_shape, k_shape, [&](std::string_view kernel) {
    Tensor q_out = q, k_out = k;
    check(rope.rotate(angles, q_out.heads(), k_out.heads(), {.kernel = kernel}));
    RC_ASSERT(same_bits(q_out, rotated(rope, angles, q, {.kernel = kernel})));
    RC_ASSERT(same_bits(k_out, rotated(rope, angles, k, {.kernel = kernel})));
    RC_ASSERT(guards_untouched(q, q_out) && guards_untouched(k, k_out));
  });
}

RC_GTEST_PROP(Splitting, HeldRowsEqualRowsMadeOnTheWay, ()) {
  const Rope rope = draw_rope({.directions = {Direction::forward, Direction::inverse, Direction::gradient}});
  HeadsShape shape = draw_shape(rope);
  shape = dense(shape.dtype, shape.batch, draw("many tokens", 1, 70), 1, shape.head_dim);
  const Positions positions = draw_positions(shape.batch, shape.tokens);
  const Tensor x = random_tensor(shape, draw_seed(), Values::any);
  const Angles held = rope.angles(positions, Rows::held).value();
  const Angles made = rope.angles(positions, Rows::on_the_way).value();
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    RC_ASSERT(
        same_bits(rotated(rope, held, x, {.kernel = kernel}), rotated(rope, made, x, {.kernel = kernel})));
  });
}

RC_GTEST_PROP(Splitting, RowsOfABatchEqualSingleRows, ()) {
  const Rope rope = draw_rope();
  const HeadsShape shape = draw_shape(rope);
  const auto ids = draw_ids("ids", shape.batch * shape.tokens);
  const Tensor x = random_tensor(shape, draw_seed(), Values::any);
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    const Tensor all = rotated(rope, ids_of(ids, shape.batch, shape.tokens), x, {.kernel = kernel});
    for (std::int64_t row = 0; row < shape.batch; ++row) {
      const auto row_of = [&](const Tensor& from) {
        Tensor view = from;
        view.first += row * from.shape.batch_stride;
        view.shape.batch = 1;
        return view;
      };
      const auto own = std::span(ids).subspan(static_cast<std::size_t>(row * shape.tokens),
                                              static_cast<std::size_t>(shape.tokens));
      const Positions positions = Positions::ids(own).value();
      RC_ASSERT(same_bits(rotated(rope, positions, row_of(x), {.kernel = kernel}), row_of(all)));
    }
  });
}

RC_GTEST_PROP(Splitting, PackedSequencesEqualSeparateCalls, ()) {
  const Rope rope = draw_rope();
  const std::int64_t count = draw("sequences", 1, 5);
  std::vector<std::int32_t> cu_seqlens{0};
  for (std::int64_t s = 0; s < count; ++s) {
    const auto length = static_cast<std::int32_t>(draw_chance("empty", 25) ? 0 : draw("length", 1, 9));
    cu_seqlens.push_back(cu_seqlens.back() + length);
  }
  const auto starts = draw_chance("from zero", 50) ? std::vector<std::int64_t>()
                                                   : draw_ids("starts", count, (std::int64_t{1} << 31) - 9);
  const Positions packed = Positions::packed(std::span<const std::int32_t>(cu_seqlens), starts).value();
  const Tensor x = random_tensor(dense(draw_dtype(), 1, cu_seqlens.back(), 2, rope.head_dim()), draw_seed());
  for_each_kernel(rope, x.shape, [&](std::string_view kernel) {
    const Tensor whole = rotated(rope, packed, x, {.kernel = kernel});
    for (std::size_t s = 0; s < static_cast<std::size_t>(count); ++s) {
      const std::int64_t begin = cu_seqlens[s], end = cu_seqlens[s + 1];
      const std::int64_t start = starts.empty() ? 0 : starts[s];
      const Tensor alone = rotated(rope, Positions::range(start, start + end - begin),
                                   cut_tokens(x, begin, end), {.kernel = kernel});
      RC_ASSERT(same_bits(alone, cut_tokens(whole, begin, end)));
    }
  });
}

RC_GTEST_PROP(Splitting, LeftPaddedRowsEqualUnpaddedOnes, ()) {
  const Rope rope = draw_rope();
  HeadsShape shape = draw_shape(rope);
  const std::int64_t tokens = shape.tokens, pad = draw("pad", 0, 4);
  shape = dense(shape.dtype, 1, pad + tokens, shape.heads, shape.head_dim);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(pad), 1);  // what Transformers gives a pad
  for (std::int64_t t = 0; t < tokens; ++t) ids.push_back(t);
  const Tensor x = random_tensor(shape, draw_seed());
  for_each_kernel(rope, shape, [&](std::string_view kernel) {
    const Tensor padded = rotated(rope, ids_of(ids, 1, pad + tokens), x, {.kernel = kernel});
    const Tensor alone =
        rotated(rope, Positions::range(0, tokens), cut_tokens(x, pad, pad + tokens), {.kernel = kernel});
    RC_ASSERT(same_bits(cut_tokens(padded, pad, pad + tokens), alone));
    const std::int64_t first[] = {-pad};
    const Tensor by_offset =
        rotated(rope, Positions::offsets(first, pad + tokens).value(), x, {.kernel = kernel});
    RC_ASSERT(same_bits(cut_tokens(by_offset, pad, pad + tokens), alone));
  });
}

RC_GTEST_PROP(Splitting, TheTypeOfAnIdChangesNothing, ()) {
  const Rope rope = draw_rope();
  const HeadsShape shape = draw_shape(rope);
  const auto wide = draw_ids("ids", shape.batch * shape.tokens, (std::int64_t{1} << 31) - 1);
  const std::vector<std::int32_t> narrow(wide.begin(), wide.end());
  const std::vector<double> real(wide.begin(), wide.end());
  const Tensor x = random_tensor(shape, draw_seed());
  const auto turned = [&](auto ids) {
    return rotated(rope, Positions::ids(ids, shape.batch, shape.tokens).value(), x);
  };
  const Tensor expected = turned(std::span<const std::int64_t>(wide));
  RC_ASSERT(same_bits(turned(std::span<const std::int32_t>(narrow)), expected));
  RC_ASSERT(same_bits(turned(std::span<const double>(real)), expected));
}

RC_GTEST_PROP(Splitting, ARangeEqualsItsIds, ()) {
  const Rope rope = draw_rope();
  const HeadsShape shape = draw_shape(rope);
  const auto first = draw_ids("offsets", shape.batch, (std::int64_t{1} << 31) - shape.tokens);
  std::vector<std::int64_t> ids;
  for (const std::int64_t begin : first) {
    for (std::int64_t t = 0; t < shape.tokens; ++t) ids.push_back(begin + t);
  }
  const Tensor x = random_tensor(shape, draw_seed());
  RC_ASSERT(same_bits(rotated(rope, Positions::offsets(first, shape.tokens).value(), x),
                      rotated(rope, ids_of(ids, shape.batch, shape.tokens), x)));
}

}  // namespace
}  // namespace rotary::testing
