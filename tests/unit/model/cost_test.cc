// SPDX-License-Identifier: Apache-2.0
// What reading costs in memory, counted: every byte asked for, given back or not.
#include <gtest/gtest.h>

#include <chrono>
#include <rotary/model.hpp>
#include <string>

#include "model_checks.hpp"
#include "support/allocations.hpp"

namespace rotary {
namespace {

using testing::allocated_bytes;

constexpr std::size_t megabyte = 1 << 20;

template <class Read>
std::size_t bytes_of(Read&& read) {
  const std::size_t before = allocated_bytes();
  EXPECT_SUCCEEDS(read());
  return allocated_bytes() - before;
}

TEST(Cost, TheLengthOfTheContextCostsNothing) {
  const auto config = [](std::string_view length) {
    return R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32,
        "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}, "max_position_embeddings": )" +
           std::string(length) + "}";
  };
  const auto shorter = bytes_of([&] { return Model::from_config(config("10485")); });
  const auto longer = bytes_of([&] { return Model::from_config(config("10485760")); });
  EXPECT_GT(shorter, 0U);
  EXPECT_LT(longer, shorter + 1024);
  EXPECT_LT(longer, megabyte);
}

TEST(Cost, EveryPresetIsReadWithinAMegabyte) {
  std::size_t most = 0;
  auto slowest = std::chrono::nanoseconds::zero();
  for (const Preset& preset : presets()) {
    most = std::max(most, bytes_of([&] { return Model::from_preset(preset.name); }));
    auto best = std::chrono::nanoseconds::max();
    for (int i = 0; i < 5; ++i) {
      const auto start = std::chrono::steady_clock::now();
      EXPECT_SUCCEEDS(Model::from_preset(preset.name));
      best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - start);
    }
    slowest = std::max(slowest, best);
  }
  EXPECT_LT(most, megabyte);
  RecordProperty("bytes", static_cast<int>(most));
  RecordProperty("microseconds", static_cast<int>(slowest.count() / 1000));
}

}  // namespace
}  // namespace rotary
