// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "run_command.hpp"
#include "support/files.hpp"
#include "tensors.hpp"

namespace rotary::testing {
namespace {

const std::string data = data_path(".");

/// apply with these arguments behind; must end well.
Ran apply(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "apply");
  Ran ran = run_command(arguments);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return ran;
}

/// The largest distance of two pairs, in lengths of the expected pair (half-split heads of 256 lanes).
double worst_pair(const std::vector<float>& got, const std::vector<float>& expected) {
  EXPECT_EQ(got.size(), expected.size());
  double worst = 0;
  for (std::size_t head = 0; head + 256 <= std::min(got.size(), expected.size()); head += 256)
    for (std::size_t x = head, y = head + 128; x < head + 128; ++x, ++y)
      worst = std::max(worst, std::hypot(double{got[x]} - expected[x], double{got[y]} - expected[y]) /
                                  std::hypot(double{expected[x]}, double{expected[y]}));
  return worst;
}

class Recording : public ::testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  std::string in() const { return data + "/gemma3_270m_" + GetParam().first + ".safetensors"; }
  std::vector<std::string> arguments(const std::string& policy) const {
    return {data + "/gemma3_270m_config.json",
            "--layer",
            GetParam().second,
            "--in",
            in(),
            "--out",
            out,
            "--angles",
            policy};
  }
  TemporaryFolder folder;
  const std::string out = folder / "out.safetensors";
};
INSTANTIATE_TEST_SUITE_P(Gemma3, Recording,
                         ::testing::Values(std::pair("local", "7"), std::pair("global", "11")),
                         [](const auto& test) { return std::string(test.param.first); });

// What the model itself computed, in fp32; its angles are off by up to 1.5e-4 at the recorded positions.
TEST_P(Recording, EqualsWhatTheModelComputed) {
  for (const auto& [policy, bound] : {std::pair("fp32", 1e-6), std::pair("exact", 2e-4)}) {
    apply(arguments(policy));
    for (const std::string name : {"q", "k"})
      EXPECT_LT(worst_pair(load(out, name), load(in(), name + "_rotated")), bound) << policy << " " << name;
  }
}

TEST_P(Recording, PassesEverythingElseThrough) {
  apply(arguments("exact"));
  const auto before = formats::Safetensors::open(in()).value(),
             after = formats::Safetensors::open(out).value();
  EXPECT_EQ(after.metadata(), before.metadata());
  ASSERT_EQ(after.tensors().size(), before.tensors().size());
  for (const auto& tensor : before.tensors()) {
    const auto* same = after.find(tensor.name);
    ASSERT_NE(same, nullptr) << tensor.name;
    EXPECT_EQ(same->dtype, tensor.dtype);
    EXPECT_EQ(same->shape, tensor.shape);
    const bool rotated = tensor.name == "q" || tensor.name == "k";
    EXPECT_NE(text_of(same->bytes) == text_of(tensor.bytes), rotated) << tensor.name;
  }
}

TEST_P(Recording, InverseUndoesInTheSameFile) {
  apply(arguments("exact"));
  auto back = arguments("exact");
  back[4] = out;
  back.insert(back.end(), {"--direction", "inverse"});
  apply(back);
  for (const std::string name : {"q", "k"}) EXPECT_LT(worst_pair(load(out, name), load(in(), name)), 1e-6);
}

TEST_P(Recording, ThreadsAndKernelsChangeNoBit) {
  apply(arguments("exact"));
  const std::string one = read_file(out);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--threads", "7"}, std::vector<std::string>{"--kernel", "scalar"}}) {
    auto other = arguments("exact");
    other.insert(other.end(), more.begin(), more.end());
    apply(other);
    EXPECT_EQ(read_file(out), one) << more[0];
  }
}

TEST_P(Recording, ASecondRopeMustBeChosen) {
  EXPECT_REFUSES(2, "choose with --layer or --rope",
                 {"apply", data + "/gemma3_270m_config.json", "--in", in(), "--out", out});
  EXPECT_REFUSES(2, "--layer 18: the model has 18 layers, 0 to 17",
                 {"apply", data + "/gemma3_270m_config.json", "--layer", "18", "--in", in(), "--out", out});
  EXPECT_REFUSES(
      2, "--rope middle: the model's ropes are",
      {"apply", data + "/gemma3_270m_config.json", "--rope", "middle", "--in", in(), "--out", out});
  EXPECT_EQ(folder.files(), 0);
}

// One head of four lanes, base 1: every pair turns one radian a position.
class Small : public ::testing::Test {
 protected:
  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"--base", "1", "--head-dim", "4", "--in", in, "--out", out};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  void refuses_with(int exit_code, const std::string& part, std::vector<std::string> more) {
    auto all = arguments(more);
    all.insert(all.begin(), "apply");
    EXPECT_TRUE(refuses(all, exit_code, part));
    EXPECT_FALSE(std::filesystem::exists(out)) << "something was written";
  }
  TemporaryFolder folder;
  const std::string in = folder / "in.safetensors", out = folder / "out.safetensors";
};

TEST_F(Small, LiteralNumbersInBothPairings) {
  const auto q = counting("q", {2, 1, 4});  // 1 2 3 4 and 5 6 7 8
  save(in, {q.view()});
  const double c = std::cos(1.0), s = std::sin(1.0);
  const Ran ran = apply(arguments({"--positions", "0:2"}));
  EXPECT_NE(ran.err.find("only q of q and k is there"), std::string::npos);
  EXPECT_NE(ran.err.find("q: layout thd assumed for [2, 1, 4]"), std::string::npos);
  auto rotated = load(out, "q");
  const std::vector<double> half = {1, 2, 3, 4, 5 * c - 7 * s, 6 * c - 8 * s, 5 * s + 7 * c, 6 * s + 8 * c};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(rotated[i], half[i], 1e-6) << i;

  apply(arguments({"--positions", "-1:1", "--pairing", "interleaved"}));
  rotated = load(out, "q");
  const std::vector<double> neighbours = {c + 2 * s, -s + 2 * c, 3 * c + 4 * s, -3 * s + 4 * c, 5, 6, 7, 8};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(rotated[i], neighbours[i], 1e-6) << i;
}

TEST_F(Small, EveryLayoutHoldsTheSameHeads) {
  const auto bthd = counting("q", {1, 2, 1, 4}), bhtd = counting("q", {1, 1, 2, 4}),
             thd = counting("q", {2, 1, 4});
  std::vector<std::vector<float>> all;
  for (const auto& [made, layout] : {std::pair(&bthd, "bthd"), {&bhtd, "bhtd"}, {&thd, "thd"}}) {
    save(in, {made->view()});
    apply(arguments({"--positions", "5:7", "--layout", layout}));
    all.push_back(load(out, "q"));
  }
  EXPECT_EQ(all[1], all[0]);
  EXPECT_EQ(all[2], all[0]);
}

TEST_F(Small, PositionsOfEveryTypeAndShape) {
  const auto q = counting("q", {2, 2, 1, 4});
  save(in, {q.view()});
  apply(arguments({"--positions", "3:5"}));
  const auto expected = load(out, "q");
  const Made<std::int64_t> tokens{"positions", {2}, {3, 4}};
  const Made<std::int32_t> rows{"positions", {2, 2}, {3, 4, 3, 4}};
  const Made<double> axes{"positions", {1, 1, 2}, {3, 4}};
  const Made<float> single{"positions", {2}, {3, 4}};
  for (const auto& positions : {tokens.view(), rows.view(), axes.view(), single.view()}) {
    save(in, {q.view(), positions});
    apply(arguments());
    EXPECT_EQ(load(out, "q"), expected) << name(positions.dtype);
    save(folder / "p.safetensors", {positions});
    formats::save_npy(folder / "p.npy", positions).value();
    for (const char* file : {"p.safetensors", "p.npy"}) {
      apply(arguments({"--positions", folder / file}));
      EXPECT_EQ(load(out, "q"), expected) << file;
    }
  }
}

TEST_F(Small, ARangeCountsTheSameOnEveryAxis) {
  const auto q = counting("q", {1, 2, 1, 4});
  save(in, {q.view()});
  apply(arguments({"--positions", "3:5"}));
  const auto expected = load(out, "q");
  apply(arguments({"--positions", "3:5", "--axis-sections", "1,1"}));
  EXPECT_EQ(load(out, "q"), expected);
}

TEST_F(Small, AttentionFactorMakesThreeDirectionsDiffer) {
  const auto q = counting("q", {1, 1, 4});
  save(in, {q.view()});
  const std::vector<std::string> yarn = {
      "--base",   "10000", "--head-dim",         "4",   "--scaling",  "yarn",
      "--factor", "1",     "--attention-factor", "2",   "--in",       in,
      "--out",    out,     "--positions",        "0:1", "--direction"};
  for (const auto& [direction, scale] : {std::pair("forward", 2.F), {"inverse", 0.5F}, {"gradient", 2.F}}) {
    auto all = yarn;
    all.emplace_back(direction);
    apply(all);
    EXPECT_EQ(load(out, "q"), (std::vector<float>{scale, 2 * scale, 3 * scale, 4 * scale})) << direction;
  }
}

TEST_F(Small, NamedTensorsAndNpy) {
  const auto a = counting("a", {2, 1, 4}), b = counting("b", {2, 1, 4});
  save(in, {a.view(), b.view()});
  apply(arguments({"--positions", "1:3", "--tensors", "b"}));
  EXPECT_EQ(load(out, "a"), a.numbers);
  const auto rotated = load(out, "b");
  EXPECT_NE(rotated, b.numbers);
  formats::save_npy(folder / "b.npy", b.view()).value();
  apply({"--base", "1", "--head-dim", "4", "--in", folder / "b.npy", "--out", folder / "r.npy", "--positions",
         "1:3"});
  const auto npy = formats::Npy::open(folder / "r.npy").value();
  EXPECT_EQ(text_of(npy.tensor().bytes), text_of(std::as_bytes(std::span(rotated))));
}

TEST_F(Small, JsonSummary) {
  const auto q = counting("q", {2, 1, 4});
  save(in, {q.view()});
  const auto json =
      nlohmann::json::parse(apply(arguments({"--positions", "0:2", "--kernel", "reference", "--json"})).out);
  EXPECT_EQ(json["schema"], "rotary.apply/1");
  EXPECT_EQ(json["kernel"], "reference");
  EXPECT_EQ(json["tensors"], nlohmann::json::array({"q"}));
  EXPECT_EQ(json["angles"], "exact");
}

TEST_F(Small, PositionsThatDoNotFitAreRefused) {
  const auto q = counting("q", {2, 2, 1, 4});
  save(in, {q.view()});
  refuses_with(2, "--positions 0:3 has 3 tokens, but tensor \"q\" of " + in + " has 2",
               {"--positions", "0:3"});
  refuses_with(2, "--positions is missing, and the input has no tensor \"positions\"", {});
  refuses_with(2, "--positions 4:3: expected first:last", {"--positions", "4:3"});
  refuses_with(2, "--positions 0:99999999999999999999: expected", {"--positions", "0:99999999999999999999"});
  refuses_with(2, "-9223372036854775808:9223372036854775807: expected",
               {"--positions", "-9223372036854775808:9223372036854775807"});
  refuses_with(2, "has 9223372036854775807 tokens", {"--positions", "0:9223372036854775807"});
  refuses_with(3, "none.npy", {"--positions", folder / "none.npy"});
  const Made<std::int64_t> rows{"positions", {3, 2}, {0, 1, 0, 1, 0, 1}};
  const Made<float> nan{"positions", {2}, {0, NAN}};
  const Made<f16> half{"positions", {2}, {{}, {}}};
  const Made<std::int64_t> scalar{"positions", {}, {0}};
  const Made<std::int64_t> deep{"positions", {1, 1, 1, 2}, {0, 1}};
  const std::string from = "tensor \"positions\" of " + in;
  for (const auto& [positions, part] :
       {std::pair(rows.view(), from + " has 3 rows, but tensor \"q\" of " + in + " has 2"),
        {nan.view(), from + ": "},
        {half.view(), from + ": type f16, expected i32, i64, f32 or f64"},
        {scalar.view(), from + ": shape [], expected [tokens], [batch, tokens] or [axes, batch, tokens]"},
        {deep.view(), from + ": shape [1, 1, 1, 2]"}}) {
    save(in, {q.view(), positions});
    refuses_with(3, part, {});
  }
  save(in, {q.view()});
  const Made<std::int64_t> other{"ids", {2}, {0, 1}};
  save(folder / "p.safetensors", {other.view()});
  refuses_with(3, "no tensor \"positions\"; it has ids", {"--positions", folder / "p.safetensors"});
}

TEST_F(Small, TensorsThatDoNotFitAreRefused) {
  const auto q = counting("q", {2, 2, 1, 4}), x = counting("x", {2, 1, 8});
  save(in, {q.view(), x.view()});
  const std::vector<std::string> two = {"--positions", "0:2"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), two.begin(), two.end());
    return more;
  };
  refuses_with(3, "x: head_dim 8, expected 4", with({"--tensors", "x"}));
  refuses_with(3, "q: shape [2, 2, 1, 4] is no thd", with({"--layout", "thd"}));
  refuses_with(3, "x: shape [2, 1, 8] is no bhtd", with({"--layout", "bhtd", "--tensors", "x"}));
  refuses_with(3, "no tensor \"z\"; it has q, x", with({"--tensors", "q,z"}));
  refuses_with(2, "--tensors: q is named twice", with({"--tensors", "q,q"}));
  refuses_with(2, "--kernel simd9: this build has", with({"--kernel", "simd9"}));
  refuses_with(2, "sideways not in", with({"--direction", "sideways"}));
  refuses_with(2, "--threads", with({"--threads", "0"}));
  const Made<std::int64_t> ids{"q", {2, 1, 4}, {0, 1, 2, 3, 4, 5, 6, 7}};
  save(in, {ids.view()});
  EXPECT_NE(
      run_command({"apply", "--head-dim", "4", "--in", in, "--out", out, "--positions", "0:2"}).exit_code, 0);
  save(in, {x.view()}, {{"layout", "dhtb"}});
  refuses_with(3, "metadata \"layout\" is \"dhtb\"", with({"--tensors", "x"}));
}

TEST_F(Small, FilesThatAreNoneAreRefused) {
  refuses_with(3, "in.safetensors", {"--positions", "0:2"});
  write_file(in, std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8));
  refuses_with(3, "in.safetensors", {"--positions", "0:2"});
  const auto q = counting("q", {2, 1, 4});
  save(in, {q.view()});
  EXPECT_REFUSES(2, "expected a file of tensors, whose name ends in .safetensors or .npy",
                 {"apply", "--head-dim", "4", "--in", in, "--out", folder / "out.bin", "--positions", "0:2"});
  EXPECT_REFUSES(3, "nowhere/out.safetensors",
                 {"apply", "--head-dim", "4", "--in", in, "--out", folder / "nowhere/out.safetensors",
                  "--positions", "0:2"});
  save(in, {q.view(), counting("other", {1}).view()});
  EXPECT_REFUSES(2, "a .npy holds one tensor, and there are 2 to write",
                 {"apply", "--head-dim", "4", "--in", in, "--out", folder / "out.npy", "--positions", "0:2"});
  EXPECT_EQ(folder.files(), 1);
}

// Text from a file cannot steer the terminal.
TEST_F(Small, MessagesAreHarmlessToATerminal) {
  const auto evil = counting("\x1b[2J", {2, 1, 4});
  save(in, {evil.view()});
  const Ran ran = run_command({"apply", "--head-dim", "4", "--in", in, "--out", out, "--positions", "0:2"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err.find('\x1b'), std::string::npos) << ran.err;
}

TEST_F(Small, ALayerWithoutARopeCopies) {
  const std::string config = folder / "config.json";
  write_file(config, R"({"model_type": "smollm3", "architectures": ["SmolLM3ForCausalLM"], "hidden_size": 8,
      "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 4, "rope_theta": 5000000.0,
      "max_position_embeddings": 65536, "no_rope_layers": [1, 1, 1, 0]})");
  const auto q = counting("q", {2, 1, 4});
  save(in, {q.view()});
  const Ran ran = apply({config, "--layer", "3", "--in", in, "--out", out, "--positions", "0:2"});
  EXPECT_NE(ran.err.find("a copy, since the layer has no rope"), std::string::npos) << ran.err;
  EXPECT_EQ(load(out, "q"), q.numbers);
  apply({config, "--layer", "2", "--in", in, "--out", out, "--positions", "0:2"});
  EXPECT_NE(load(out, "q"), q.numbers);
}

}  // namespace
}  // namespace rotary::testing
