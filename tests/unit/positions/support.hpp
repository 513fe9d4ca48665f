// SPDX-License-Identifier: Apache-2.0
// What the tests of positions read and expect.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <rotary/positions.hpp>
#include <string_view>
#include <vector>

namespace rotary::testing {

using Ids = std::vector<std::int64_t>;
using Numbers = std::vector<double>;
constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

/// Every number of one axis and row.
inline Numbers numbers(const Positions& p, std::int64_t axis = 0, std::int64_t row = 0) {
  Numbers all;
  for (std::int64_t t = 0; t < p.tokens(); ++t) all.push_back(to_double(p.at(axis, row, t)));
  return all;
}

template <class T>
void expect_invalid(const Result<T>& result, std::string_view message) {
  EXPECT_EQ(result.status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(result.status().message(), message);
}

}  // namespace rotary::testing
