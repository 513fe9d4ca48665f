// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "run_command.hpp"
#include "support/files.hpp"
#include "tensors.hpp"

namespace rotary::testing {
namespace {

class Table : public ::testing::Test {
 protected:
  Ran table(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "table");
    arguments.insert(arguments.end(), {"--out", out});
    Ran ran = run_command(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran;
  }
  TemporaryFolder folder;
  const std::string out = folder / "t.safetensors";
};

TEST_F(Table, RowsOfCosAndSin) {
  table({"--base", "10000", "--head-dim", "8", "--positions", "-2:3"});
  const auto file = formats::Safetensors::open(out).value();
  EXPECT_EQ(file.find("cos")->shape, (std::vector<std::int64_t>{5, 4}));
  const auto cos = load(out, "cos"), sin = load(out, "sin");
  ASSERT_EQ(cos.size(), 20U);
  for (std::size_t t = 0; t < 5; ++t) {
    for (std::size_t i = 0; i < 4; ++i) {
      const double angle = (static_cast<double>(t) - 2) * std::pow(10.0, -static_cast<double>(i));
      EXPECT_NEAR(cos[4 * t + i], std::cos(angle), 3e-8);
      EXPECT_NEAR(sin[4 * t + i], std::sin(angle), 3e-8);
    }
  }
}

// Far out, where single precision has lost the phase: cos and sin of 2^24 + 1 radians, and of 4095.
TEST_F(Table, FarPositionsAndPolicies) {
  table({"--head-dim", "2", "--positions", "16777217:16777218"});
  EXPECT_NEAR(load(out, "cos")[0], 0.9943839639136522, 3e-8);
  table({"--head-dim", "2", "--positions", "4095:4096"});
  EXPECT_NEAR(load(out, "cos")[0], -0.0659759965580649, 3e-8);
  EXPECT_NEAR(load(out, "sin")[0], -0.9978212103769744, 3e-8);

  const std::vector<std::string> far = {"--head-dim", "128", "--positions", "131000:131001", "--angles"};
  std::vector<std::vector<float>> rows;
  for (const char* policy : {"exact", "fp32", "ggml"}) {
    auto arguments = far;
    arguments.emplace_back(policy);
    const Ran ran = table(arguments);
    EXPECT_NE(ran.err.find(std::string("angles ") + policy), std::string::npos) << ran.err;
    rows.push_back(load(out, "cos"));
  }
  const auto worst = [&](std::size_t a) {
    double gap = 0;
    for (std::size_t i = 0; i < rows[0].size(); ++i)
      gap = std::max(gap, std::fabs(double{rows[a][i]} - rows[0][i]));
    return gap;
  };
  EXPECT_GT(worst(1), 1e-4);
  EXPECT_LT(worst(1), 1e-2);
  EXPECT_GT(worst(2), worst(1));
  EXPECT_LT(worst(2), 3e-2);
}

TEST_F(Table, AttentionFactorIsIncluded) {
  table({"--head-dim", "8", "--scaling", "yarn", "--factor", "1", "--attention-factor", "1.5", "--positions",
         "0:1"});
  EXPECT_EQ(load(out, "cos"), (std::vector<float>(4, 1.5F)));
  EXPECT_EQ(load(out, "sin"), (std::vector<float>(4, 0.F)));
}

TEST_F(Table, PositionsFromAFileAndJson) {
  const Made<double> ids{"positions", {3}, {0.25, 1e6, -7}};
  formats::save_npy(folder / "ids.npy", ids.view()).value();
  const auto json =
      nlohmann::json::parse(table({"--head-dim", "2", "--positions", folder / "ids.npy", "--json"}).out);
  EXPECT_EQ(json["schema"], "rotary.table/1");
  EXPECT_EQ(json["tokens"], 3);
  EXPECT_EQ(json["pairs"], 1);
  const auto cos = load(out, "cos");
  for (std::size_t t = 0; t < 3; ++t) EXPECT_NEAR(cos[t], std::cos(ids.numbers[t]), 3e-8);
}

TEST_F(Table, Refusals) {
  EXPECT_REFUSES(4, "are more than 4 GiB a tensor; make the table in parts",
                 {"table", "--head-dim", "128", "--positions", "0:9223372036854775807", "--out", out});
  EXPECT_REFUSES(2, "a .npy holds one tensor, and there are 2 to write",
                 {"table", "--head-dim", "8", "--positions", "0:4", "--out", folder / "t.npy"});
  const Made<std::int64_t> rows{"positions", {2, 1}, {0, 1}};
  save(folder / "p.safetensors", {rows.view()});
  EXPECT_REFUSES(3, "2 rows; a table is made of one",
                 {"table", "--head-dim", "8", "--positions", folder / "p.safetensors", "--out", out});
  const Made<std::int64_t> ids{"positions", {2}, {0, 1}};
  save(folder / "p.safetensors", {ids.view()});
  EXPECT_REFUSES(3, "tensor \"positions\" of " + (folder / "p.safetensors") + ": ",
                 {"table", "--head-dim", "8", "--axis-sections", "2,2", "--positions",
                  folder / "p.safetensors", "--out", out});
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace rotary::testing
