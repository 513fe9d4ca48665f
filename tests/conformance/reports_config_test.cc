// SPDX-License-Identifier: Apache-2.0
// Reports about configs: names that changed, keys that are missing, ignored or of another type, and which layers a
// scaling is for.
#include <algorithm>
#include <rotary/model.hpp>
#include <string>

#include "reports.hpp"

namespace rotary::testing {
namespace {

constexpr const char* llama3_keys =
    R"("factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192)";

std::string llama(const std::string& keys) {
  return R"({"model_type": "llama", "head_dim": 128, "num_hidden_layers": 2, "max_position_embeddings": 131072)" +
         (keys.empty() ? "" : ", " + keys) + "}";
}
Result<Model> read(const std::string& keys) { return Model::from_config(llama(keys), "config.json"); }
const Rope& rope_of(const Model& model) { return model.ropes()[0].rope; }
std::string source_of(const Model& model, std::string_view key, std::size_t rope = 0) {
  const auto found = std::ranges::find_if(
      model.values(), [&](const ModelValue& v) { return v.key == key && v.rope == rope; });
  return found == model.values().end() ? "" : found->from + (found->assumed ? " (assumed)" : "");
}

TEST(Report57, KeysOfAnotherBaseAreTurnedBackAndTurnedAgain) {
  const auto rope = [](std::int64_t length) {
    return Model::from_config(llama(R"("rope_theta": 10000, "rope_scaling": {"type": "dynamic", "factor": 2,
                                       "max_position_embeddings": 131072})"),
                              "config.json", {.length = length})
        .value()
        .ropes()[0]
        .rope;
  };
  const Rope before = rope(131072), after = rope(300000);
  ASSERT_FALSE(before == after) << "the base depends on the length";
  const Tensor k = random_tensor(dense(DType::f64, 1, 1, 1, 128), 57);
  const auto again = turned(after, at(1000), turned(before.inverse(), at(1000), turned(before, at(1000), k)));
  EXPECT_LT(worst_of_pair(after, again, turned(after, at(1000), k)), 1e-14);
  EXPECT_GT(worst_of_pair(after, turned(before, at(1000), k), turned(after, at(1000), k)), 1e-3);
  Tensor refused = k;
  EXPECT_FALSE(after.rotate(before.angles(at(1000)).value(), refused.heads()).ok())
      << "a cache of keys of base A";
}

TEST(Report62, NothingStatedMeansNothingScaled) {
  const auto model = read(R"("rope_theta": 10000)").value();
  EXPECT_EQ(name(rope_of(model).spectrum().scaling()), "default");
  EXPECT_EQ(rope_of(model).spectrum().inv_freq()[0], 1);
  const auto linear = read(R"("rope_theta": 10000, "rope_scaling": {"type": "linear", "factor": 4})").value();
  EXPECT_EQ(rope_of(linear).spectrum().base(), 10000) << "linear never changes the base";
  EXPECT_EQ(rope_of(linear).spectrum().inv_freq()[0], 0.25);
}

TEST(Report63, Gemma3sFactorBelongsToItsGlobalLayers) {
  const auto model = Model::from_preset("gemma-3-4b").value();
  for (std::int64_t layer = 0; layer < 34; ++layer) {
    const Spectrum spectrum = model.rope_for_layer(layer).value().spectrum();
    const bool full = layer % 6 == 5;
    EXPECT_EQ(spectrum.base(), full ? 1e6 : 1e4) << layer;
    EXPECT_EQ(spectrum.inv_freq()[0], full ? 0.125 : 1) << layer;
  }
}

TEST(Report65, Llama3DividesFrom29To34AndByEightFrom35) {
  const auto scaled = Model::from_preset("llama-3.1-8b").value();
  const auto plain = Spectrum::make({.rotary_dim = 128, .base = 500000}).value();
  const auto divisor = [&](std::size_t i) {
    return plain.inv_freq()[i] / rope_of(scaled).spectrum().inv_freq()[i];
  };
  const std::pair<std::size_t, double> expected[] = {
      {28, 1}, {29, 1.20748}, {30, 1.55341}, {32, 2.69453}, {33, 3.68425}, {34, 5.25733}, {35, 8}, {63, 8}};
  for (const auto& [pair, value] : expected) EXPECT_NEAR(divisor(pair), value, 6e-6) << pair;
}

TEST(Report66, Llama3OfOneBillionInFixedNumbers) {
  const auto scaled = Model::from_preset("llama-3.2-1b").value();
  const auto plain = Spectrum::make({.rotary_dim = 64, .base = 500000}).value();
  const std::pair<std::size_t, double> expected[] = {{14, 1},       {15, 1.65133}, {16, 3.29226},
                                                     {17, 9.66673}, {18, 32},      {31, 32}};
  for (const auto& [pair, value] : expected) {
    EXPECT_NEAR(plain.inv_freq()[pair] / rope_of(scaled).spectrum().inv_freq()[pair], value, 6e-6) << pair;
  }
}

TEST(Report78, Llama31sFiveKeysAndMore) {
  const auto model = read(R"("rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", )" +
                          std::string(llama3_keys) + "}");
  ASSERT_TRUE(model) << model.status().message();
  EXPECT_TRUE(model->warnings().empty());
  const auto more =
      read(R"("rope_scaling": {"rope_type": "llama3", "author": "me", )" + std::string(llama3_keys) + "}");
  ASSERT_TRUE(more) << "a key more is a warning";
  EXPECT_EQ(more->warnings().size(), 1U);
}

TEST(Report79, TypeAndRopeType) {
  const auto with = [](const std::string& type) {
    return read(R"("rope_scaling": {)" + type + R"(, "factor": 2})");
  };
  const auto old = with(R"("type": "linear")").value(), now = with(R"("rope_type": "linear")").value(),
             both = with(R"("type": "linear", "rope_type": "linear")").value();
  EXPECT_EQ(rope_of(old), rope_of(now));
  EXPECT_EQ(rope_of(old), rope_of(both));
  EXPECT_TRUE(both.warnings().empty());
  EXPECT_FAILS(with(R"("type": "linear", "rope_type": "dynamic")"), StatusCode::malformed,
               "rope_scaling.type \"linear\" and rope_scaling.rope_type \"dynamic\": must agree");
}

TEST(Report81, SectionsOfThreeAxesWithTypeDefaultOrMrope) {
  for (const std::string type : {"default", "mrope"}) {
    const auto model =
        read(R"("rope_scaling": {"type": ")" + type + R"(", "mrope_section": [16, 24, 24]})").value();
    EXPECT_EQ(rope_of(model).spectrum().axes(), 3) << type;
    EXPECT_TRUE(model.warnings().empty()) << type;
  }
}

TEST(Report82, TheBaseInItsThreePlaces) {
  const auto top = read(R"("rope_theta": 1e6)").value(),
             old = read(R"("rope_scaling": {"rope_type": "default", "rope_theta": 1e6})").value(),
             now = read(R"("rope_parameters": {"rope_type": "default", "rope_theta": 1e6})").value();
  EXPECT_EQ(rope_of(top), rope_of(old));
  EXPECT_EQ(rope_of(top), rope_of(now));
  EXPECT_FAILS(read(R"("rope_theta": 1e6, "rope_parameters": {"rope_theta": 1e4})"), StatusCode::malformed,
               "rope_parameters.rope_theta 10000 and rope_theta 1000000: must agree");
}

TEST(Report83, AMissingBaseIsAssumedAloud) {
  EXPECT_EQ(source_of(read("").value(), "base"), "default: the file states no base (assumed)");
  EXPECT_EQ(source_of(read(R"("rope_theta": 1e4)").value(), "base"), "rope_theta");
}

TEST(Report85, ADictionaryOfTypeDefaultScalesNothing) {
  const auto model = read(R"("rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 1.0,
                             "rope_type": "default"})");
  ASSERT_TRUE(model) << model.status().message();
  EXPECT_EQ(name(rope_of(*model).spectrum().scaling()), "default");
}

TEST(Report86, YarnWithoutItsOriginalLength) {
  const auto model = read(R"("rope_scaling": {"type": "yarn", "factor": 4})").value();
  EXPECT_EQ(source_of(model, "original_max_position_embeddings"),
            "max_position_embeddings, since no original length is stated (assumed)");
}

TEST(Report87, CodeLlamasBase) {
  EXPECT_EQ(rope_of(Model::from_preset("code-llama-7b").value()).spectrum().base(), 1e6);
}

TEST(Report90, NamesOfOtherEnginesAreAskedAbout) {
  for (const std::string key : {"rotary_scaling", "rope_scale", "rope-scaling"}) {
    const auto model = read("\"" + key + R"(": {"factor": 2})").value();
    ASSERT_EQ(model.warnings().size(), 1U) << key;
    EXPECT_EQ(model.warnings()[0], key + ": not a key that is read; did you mean rope_scaling?");
  }
}

TEST(Report91, TheBaseReachesTheRotation) {
  const Tensor q = random_tensor(dense(DType::f32, 1, 1, 1, 128), 91);
  const auto by = [&](const std::string& base) {
    return turned(rope_of(read(R"("rope_theta": )" + base).value()), at(100), q);
  };
  const Rope any = rope_of(read(R"("rope_theta": 1e4)").value());
  EXPECT_GT(worst_of_pair(any, by("1e6"), by("1e4")), 0.01);
}

TEST(Report93, EveryTypeIsReachableFromAConfig) {
  const auto reach = [&]<class Type>(const Type&) {
    std::string numbers = "[4";
    for (int pair = 1; pair < 64; ++pair) numbers += ", 4";
    std::string dict;
    Type::fields(Type(), [&](std::string_view key, const auto& field) {
      constexpr bool is_list = std::is_same_v<std::decay_t<decltype(field)>, std::vector<double>>;
      const bool required = std::ranges::find(Type::required, key) != Type::required.end();
      if (required && key != "max_position_embeddings")
        dict += ", \"" + std::string(key) + "\": " + (is_list ? numbers + "]" : "4");
    });
    const auto model =
        read(R"("rope_scaling": {"rope_type": ")" + std::string(Type::name) + '"' + dict + "}");
    ASSERT_TRUE(model) << Type::name << ": " << model.status().message();
    EXPECT_TRUE(std::holds_alternative<Type>(rope_of(*model).spectrum().scaling())) << Type::name;
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (reach(std::variant_alternative_t<I, Scaling>()), ...); }
  (std::make_index_sequence<std::variant_size_v<Scaling>>());
}

TEST(Report94, AFactorAsIntegerNumberOrText) {
  const auto with = [](const std::string& factor) {
    return read(R"("rope_scaling": {"type": "linear", "factor": )" + factor + "}");
  };
  for (const char* factor : {"4", "4.0", "\"4.0\"", "4e0"}) {
    const auto model = with(factor);
    ASSERT_TRUE(model) << factor;
    EXPECT_EQ(rope_of(*model).spectrum().inv_freq()[0], 0.25) << factor;
  }
  for (const char* factor : {"\"NaN\"", "0", "-4", "true", "[4, 0]", "{}"})
    EXPECT_FALSE(with(factor)) << factor;
}

TEST(Report95, RopesAreValues) {
  const auto one = read(R"("rope_theta": 1e6)").value(),
             same = read(R"("rope_parameters": {"rope_theta": 1000000})").value(),
             other = read(R"("rope_theta": 1000001)").value();
  EXPECT_EQ(rope_of(one), rope_of(same));
  EXPECT_FALSE(rope_of(one) == rope_of(other));
  const Tensor q = random_tensor(dense(DType::f32, 1, 1, 1, 128), 95);
  const Angles angles = rope_of(one).angles(at(5)).value();
  Tensor out = q;
  EXPECT_TRUE(rope_of(same).rotate(angles, out.heads()).ok()) << "equal ropes share angles";
  EXPECT_FALSE(rope_of(other).rotate(angles, out.heads()).ok()) << "different ones never do";
}

TEST(Report97, BasesOfEveryNumberType) {
  for (const char* base : {"10000", "10000.0", "1e6", "500000.5"})
    EXPECT_TRUE(read(R"("rope_theta": )" + std::string(base))) << base;
  EXPECT_FAILS(read(R"("rope_theta": true)"), StatusCode::malformed, "expected a number, got a truth value");
  EXPECT_FAILS(read(R"("rope_theta": -10000)"), StatusCode::malformed, "base -10000: must be positive");
}

}  // namespace
}  // namespace rotary::testing
