// SPDX-License-Identifier: Apache-2.0
// rotary bench: its schema, its cases, its refusals. The times themselves are the machine's.
#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>
#include <rotary/kernels.hpp>

#include "cli/run_command.hpp"

namespace rotary {
namespace {

using testing::run_command;
using Json = nlohmann::json;

Json bench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"bench", "--rounds", "1", "--json"});
  const auto ran = run_command(arguments);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return Json::parse(ran.out);
}

TEST(Bench, PrintsItsSchema) {
  const Json all = bench({"--filter", "f32 half_split thd tokens=1 "});
  EXPECT_EQ(all.at("schema"), "rotary.bench/1");
  ASSERT_EQ(all.at("rows").size(), 1u);
  const Json& row = all.at("rows").at(0);
  const Json expected = {{"tokens", 1},
                         {"heads", 32},
                         {"kv_heads", 8},
                         {"head_dim", 128},
                         {"rotary_dim", 128},
                         {"dtype", "f32"},
                         {"pairing", "half_split"},
                         {"layout", "thd"},
                         {"rotary_offset", 0},
                         {"op", "rotate"},
                         {"threads", 1}};
  EXPECT_EQ(row.at("case"), expected);
  const double ns = row.at("ns"), limit = row.at("limit_ns");
  EXPECT_GT(ns, 0);
  EXPECT_GT(limit, 0);
  EXPECT_NEAR(row.at("ratio"), ns / limit, 1e-9 * ns / limit);
  EXPECT_NEAR(row.at("gb_per_s"), 2 * 40 * 128 * 4 / ns, 1e-6 * 40960 / ns);
  const auto all_kernels = kernels();
  const auto best = std::find_if(all_kernels.begin(), all_kernels.end(),
                                 [](const KernelVerdict& kernel) { return kernel.accepted; });
  EXPECT_EQ(row.at("kernel"), std::string(best->name));
}

TEST(Bench, FusedFormsAgainstTheirSteps) {
  const Json all = bench({"--fused", "--filter", "tokens=1"});
  EXPECT_EQ(all.at("schema"), "rotary.bench_fused/1");
  ASSERT_EQ(all.at("rows").size(), 15u);
  for (const Json& row : all.at("rows")) {
    const double ns = row.at("ns"), steps = row.at("steps_ns");
    EXPECT_NEAR(row.at("gain"), steps / ns, 1e-9 * steps / ns);  // of one round
    EXPECT_EQ(row.at("tokens"), 1);
  }
  EXPECT_EQ(run_command({"bench", "--fused", "--filter", "nothing"}).exit_code, 2);
  EXPECT_EQ(run_command({"bench", "--fused", "--threads", "2"}).exit_code, 2);
}

TEST(Bench, EveryKindOfCaseRuns) {
  // Partial windows, head sizes, other directions and out of place; every dtype at one token.
  for (const char* filter :
       {"tokens=1 ", "head_dim=80", "rotary_dim=24", "rotary_offset=16", "heads=32+1 "}) {
    const Json rows = bench({"--filter", filter}).at("rows");
    ASSERT_FALSE(rows.empty()) << filter;
    for (const Json& row : rows) EXPECT_GT(row.at("ratio"), 0) << filter;
  }
  for (const char* op :
       {"tokens=256 heads=32+8 head_dim=128 inverse", "tokens=256 heads=32+8 head_dim=128 gradient",
        "tokens=256 heads=32+8 head_dim=128 out_of_place"}) {
    const Json rows = bench({"--filter", op}).at("rows");
    ASSERT_EQ(rows.size(), 1u) << op;
    EXPECT_NE(std::string(op).find(" " + rows.at(0).at("case").at("op").get<std::string>()),
              std::string::npos);
  }
  const Json two =
      bench({"--filter", "f32 half_split thd tokens=256 ", "--threads", "2", "--quick"}).at("rows");
  EXPECT_EQ(two.at(0).at("case").at("threads"), 2);
}

TEST(Bench, TextNamesTheCaseAndTheKernel) {
  const auto ran = run_command(
      {"bench", "--rounds", "1", "--filter", "bf16 interleaved thd tokens=1 ", "--kernel", "scalar"});
  EXPECT_EQ(ran.exit_code, 0);
  for (const char* word :
       {"bf16 interleaved thd tokens=1 heads=32+8 head_dim=128", "scalar", "limit ns", "ratio"})
    EXPECT_NE(ran.out.find(word), std::string::npos) << word;
}

TEST(Bench, Refuses) {
  EXPECT_REFUSES(2, "--filter nothing: no case has this in its name", {"bench", "--filter", "nothing"});
  EXPECT_REFUSES(2, "--kernel mmx: `rotary doctor` lists them", {"bench", "--kernel", "mmx"});
  EXPECT_REFUSES(2, "--rounds", {"bench", "--rounds", "0"});
}

}  // namespace
}  // namespace rotary
