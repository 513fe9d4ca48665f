// SPDX-License-Identifier: Apache-2.0
// inv_freq tensors of a checkpoint, against its config.
#include <gtest/gtest.h>

#include <cmath>
#include <rotary/formats/safetensors.hpp>
#include <rotary/model.hpp>

#include "model_checks.hpp"
#include "support/files.hpp"

namespace rotary {
namespace {

using formats::FileTensor;
using testing::find_value;
using testing::llama;
using testing::source_of;

constexpr std::string_view layer_name = "model.layers.0.self_attn.rotary_emb.inv_freq";

/// A folder with a config.json and weights.
class Checkpoint {
 public:
  explicit Checkpoint(const std::string& config) { write("config.json", config); }
  void write(const std::string& name, const std::string& text) const {
    testing::write_file(folder_ / name, text);
  }
  template <class Element>
  void store(const std::vector<std::pair<std::string, std::vector<Element>>>& tensors,
             const std::string& file = "model.safetensors") const {
    std::vector<FileTensor> list;
    for (const auto& [name, numbers] : tensors) {
      list.push_back({name,
                      dtype_of<Element>,
                      {static_cast<std::int64_t>(numbers.size())},
                      std::as_bytes(std::span(numbers))});
    }
    ASSERT_TRUE(formats::save_safetensors(folder_ / file, list).ok());
  }
  Model load(const std::string& file = "") const { return Model::from_path(folder_ / file).value(); }
  std::string path() const { return folder_.path(); }

 private:
  testing::TemporaryFolder folder_;
};

std::vector<float> plain(double base = 10000, std::size_t pairs = 64) {
  std::vector<float> result;
  for (std::size_t i = 0; i < pairs; ++i)
    result.push_back(
        static_cast<float>(std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs))));
  return result;
}
std::string agreement(const Model& model, std::size_t rope = 0) {
  const ModelValue* value = find_value(model, "stored_inv_freq", rope);
  return value ? std::get<std::string>(value->value) : "not there";
}

TEST(Stored, EqualToRounding) {
  const Checkpoint files(llama(R"(, "rope_theta": 10000.0)"));
  files.store<float>({{std::string(layer_name), plain()},
                      {"model.layers.1.self_attn.rotary_emb.inv_freq", plain()},
                      {"model.visual.rotary_pos_emb.inv_freq", {1, 2}},
                      {"lm_head.weight", {1, 2}}});
  for (const auto* file : {"", "model.safetensors"}) {
    const auto model = files.load(file);
    EXPECT_EQ(agreement(model), "equal to fp32 rounding");
    EXPECT_EQ(source_of(model, "stored_inv_freq"),
              "\"" + std::string(layer_name) + "\" and 1 more of model.safetensors");
    EXPECT_TRUE(model.warnings().empty());
  }
  EXPECT_EQ(agreement(files.load("config.json")), "not there") << "the file alone is read alone";
}

TEST(Stored, RoundedToBf16IsSaid) {
  const Checkpoint files(llama(R"(, "rope_theta": 10000.0)"));
  std::vector<bf16> rounded;
  for (float x : plain()) rounded.push_back(to_bf16(x));
  files.store<bf16>({{"rotary_emb.inv_freq", rounded}});
  const auto model = files.load();
  EXPECT_EQ(agreement(model), "equal after rounding to bf16");
  ASSERT_EQ(model.warnings().size(), 1U);
  EXPECT_EQ(model.warnings()[0],
            "model.safetensors: \"rotary_emb.inv_freq\": rounded to bf16: whoever turns by them is off by up "
            "to 0.4 % "
            "of the angle; take the description's");
  rounded[5].bits += 1;
  files.store<bf16>({{"rotary_emb.inv_freq", rounded}});
  EXPECT_EQ(agreement(files.load()), "differ") << "one step is no rounding";
  rounded[5].bits -= 1;
  // The same numbers widened again, as a model that was cast and cast back holds them.
  std::vector<float> widened;
  for (bf16 x : rounded) widened.push_back(to_float(x));
  files.store<float>({{"rotary_emb.inv_freq", widened}});
  EXPECT_EQ(agreement(files.load()), "equal after rounding to bf16");
  EXPECT_FAILS(Model::from_path(files.path(), {.strict = true}), StatusCode::malformed, "rounded to bf16");
}

TEST(Stored, DifferentNumbersAreNamed) {
  const Checkpoint files(llama(R"(, "rope_theta": 10000.0)"));
  files.store<float>({{std::string(layer_name), plain(500000)}});
  const auto model = files.load();
  EXPECT_EQ(agreement(model), "differ");
  ASSERT_EQ(model.warnings().size(), 1U);
  EXPECT_EQ(model.warnings()[0].find("model.safetensors: \"" + std::string(layer_name) +
                                     "\": pair 1: expected 0.865"),
            0U)
      << model.warnings()[0];
  files.store<float>({{std::string(layer_name), plain(10000, 32)}});
  EXPECT_NE(files.load().warnings()[0].find("32 numbers, the rope has 64 pairs"), std::string::npos);
  files.store<std::int64_t>({{std::string(layer_name), {1, 2}}});
  EXPECT_NE(files.load().warnings()[0].find("of type i64, must be f64, f32, f16 or bf16"), std::string::npos);
  auto last = plain();
  last.back() *= 1.01F;
  files.store<float>({{std::string(layer_name), last}});
  EXPECT_NE(files.load().warnings()[0].find("pair 63: expected "), std::string::npos);
}

TEST(Stored, WhatAScalingLeavesToThePositions) {
  const Checkpoint files(
      llama(R"(, "rope_theta": 10000.0, "rope_scaling": {"type": "linear", "factor": 4})"));
  files.store<float>({{std::string(layer_name), plain()}});
  const auto model = files.load();
  EXPECT_EQ(agreement(model), "those without scaling linear");
  EXPECT_TRUE(model.warnings().empty());
}

TEST(Stored, LocalAndGlobal) {
  const Checkpoint files(R"({"model_type": "gemma3_text", "num_hidden_layers": 6})");
  files.store<float>({{"model.rotary_emb.inv_freq", plain(1e6, 128)},
                      {"model.rotary_emb_local.inv_freq", plain(1e4, 128)},
                      {"model.rotary_emb.sliding_attention_inv_freq", plain(1e4, 128)},
                      {"model.rotary_emb.full_attention_inv_freq", plain(1e6, 128)},
                      {"model.layers.5.self_attn.rotary_emb.inv_freq", plain(1e6, 128)}});
  const auto model = files.load();
  EXPECT_EQ(agreement(model, 0), "equal to fp32 rounding");
  EXPECT_EQ(agreement(model, 1), "equal to fp32 rounding");
  EXPECT_TRUE(model.warnings().empty());
}

TEST(Stored, OfLayersThatHaveNoRopeIsSaid) {
  const Checkpoint files(llama(R"(, "no_rope_layers": [1, 0])"));
  const auto name = [](int layer) {
    return "model.layers." + std::to_string(layer) + ".self_attn.rotary_emb.inv_freq";
  };
  files.store<float>({{name(0), plain()}, {name(1), plain()}, {name(40), plain()}});
  const auto model = files.load();
  EXPECT_EQ(agreement(model), "equal to fp32 rounding");
  ASSERT_EQ(model.warnings().size(), 2U);
  EXPECT_EQ(model.warnings()[0], "model.safetensors: \"" + name(1) +
                                     "\": of layer 1, which has no rope by the description, so it is not "
                                     "compared");
  EXPECT_EQ(model.warnings()[1], "model.safetensors: \"" + name(40) +
                                     "\": of layer 40, where the description has 2, so it is not compared");
  files.store<float>({{"model.rotary_emb_local.inv_freq", plain()}});
  EXPECT_NE(files.load().warnings()[0].find("of a rope \"local\", which the description lacks"),
            std::string::npos);
}

TEST(Stored, SplitCheckpoints) {
  const Checkpoint files(llama(R"(, "rope_theta": 10000.0)"));
  const auto index = [&](const std::string& file) {
    files.write("model.safetensors.index.json",
                "{\"weight_map\": {\"lm_head.weight\": \"model-00001-of-00002.safetensors\", \"" +
                    std::string(layer_name) + "\": \"" + file + "\"}}");
  };
  index("model-00002-of-00002.safetensors");
  files.store<float>({{std::string(layer_name), plain()}}, "model-00002-of-00002.safetensors");
  EXPECT_EQ(agreement(files.load()), "equal to fp32 rounding");
  index("model-00009-of-00002.safetensors");
  EXPECT_NE(files.load().warnings()[0].find("; its stored frequencies are not read"), std::string::npos);
  index("../config.json");
  EXPECT_NE(files.load().warnings()[0].find("must name a file of the same folder"), std::string::npos);
  files.write("model.safetensors.index.json", "{");
  EXPECT_NE(files.load().warnings()[0].find("not JSON"), std::string::npos);
  files.write("model.safetensors.index.json", "{}");
  EXPECT_NE(files.load().warnings()[0].find("weight_map: expected an object"), std::string::npos);
}

}  // namespace
}  // namespace rotary
