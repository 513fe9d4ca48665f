// SPDX-License-Identifier: Apache-2.0
#include "model/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/status_matchers.hpp"

namespace rotary::impl {
namespace {

TEST(Json, KeepsTheOrderAndTheKindsOfNumbers) {
  const auto document =
      parse_json(R"({"b": 1, "a": [1.5, true, null, "x"], "big": 18446744073709551615})").value();
  const auto& object = *document.get<Json::Object>();
  ASSERT_EQ(object.size(), 3U);
  EXPECT_EQ(object[0].key, "b");
  EXPECT_EQ(*object[0].value.get<std::int64_t>(), 1);
  const auto& list = *object[1].value.get<Json::Array>();
  EXPECT_EQ(*list[0].get<double>(), 1.5);
  EXPECT_TRUE(*list[1].get<bool>());
  EXPECT_TRUE(list[2].is_null());
  EXPECT_EQ(*list[3].get<std::string>(), "x");
  EXPECT_EQ(*object[2].value.get<double>(), 18446744073709551615.0);
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text :
       {"", "{", "{\"a\": nan}", "{\"a\": +Infinity}", "{\"a\": 1e999}", "NaN", "{NaN: 1}", "{\"a\": NaNs}",
        "{\"a\" Infinity}", "{\"a\": 1} x", "{} {}", "{\"a\": 1,}", "{'a': 1}", "{\"a\": 01}", "[1 2]",
        "\xff", "{\"a\": \"\xc3\x28\"}", "{\"a\": \"\xed\xa0\x80\"}"}) {
    EXPECT_FAILS(parse_json(text), StatusCode::malformed, "not JSON at byte ");
  }
}

// json.dumps(float("nan")) writes NaN, and json.loads reads it.
TEST(Json, WhatPythonWritesForNumbersThatJsonHasNot) {
  const auto json = parse_json(R"({"NaN": NaN, "b\\\" Infinity": [ -Infinity,Infinity
      , "NaN", ", NaN "], "c": {"d":NaN}})");
  ASSERT_SUCCEEDS(json);
  const auto& object = *json->get<Json::Object>();
  ASSERT_EQ(object.size(), 3U);
  EXPECT_EQ(object[0].key, "NaN");
  EXPECT_TRUE(std::isnan(*object[0].value.get<double>()));
  EXPECT_EQ(object[1].key, "b\\\" Infinity");
  const auto& list = *object[1].value.get<Json::Array>();
  EXPECT_EQ(*list[0].get<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(*list[1].get<double>(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(*list[2].get<std::string>(), "NaN");
  EXPECT_EQ(*list[3].get<std::string>(), ", NaN ");
  EXPECT_TRUE(std::isnan(*object[2].value.get<Json::Object>()->front().value.get<double>()));
  EXPECT_EQ(kind(list[0]), "-Infinity");
  EXPECT_FAILS(parse_json(R"({"a": NaN, "b": x})"), StatusCode::malformed, "not JSON at byte 17");
}

TEST(Json, ANulIsNotTheEnd) {
  using namespace std::string_literals;
  EXPECT_FAILS(parse_json("{\"a\": 1}\0{\"b\""s), StatusCode::malformed, "not JSON at byte 9: a NUL");
  EXPECT_SUCCEEDS(parse_json("{\"a\": \"\\u0000\"}"));
}

TEST(Json, NamesAKeyThatAppearsTwice) {
  EXPECT_FAILS(parse_json(R"({"x": {"rope_theta": 1, "a": 2, "rope_theta": 1}})"), StatusCode::malformed,
               "the key \"rope_theta\" appears twice in one object");
  EXPECT_SUCCEEDS(parse_json(R"({"a": {"k": 1}, "b": {"k": 1}})"));
}

TEST(Json, LimitsTheDepth) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_SUCCEEDS(parse_json(nested(64)));
  EXPECT_FAILS(parse_json(nested(65)), StatusCode::malformed, "nested deeper than 64 levels");
  EXPECT_FAILS(parse_json(std::string(1'000'000, '[')), StatusCode::malformed,
               "nested deeper than 64 levels");
}

TEST(Json, ManyKeysAreNoTrouble) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += "\"k" + std::to_string(i) + "\": 0, ";
  EXPECT_FAILS(parse_json(text + "\"k77\": 0}"), StatusCode::malformed, "\"k77\" appears twice");
}

}  // namespace
}  // namespace rotary::impl
