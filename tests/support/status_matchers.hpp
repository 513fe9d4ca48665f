// SPDX-License-Identifier: Apache-2.0
// EXPECT_FAILS(result, StatusCode::malformed, "part of the message").
#pragma once

#include <gtest/gtest.h>

#include <rotary/status.hpp>
#include <string>

namespace rotary::testing {

inline const Status& status_of(const Status& status) { return status; }
template <class T>
Status status_of(const Result<T>& result) {
  return result.status();
}

template <class Outcome>
::testing::AssertionResult fails_with(const Outcome& outcome, StatusCode code, const std::string& part) {
  const Status status = status_of(outcome);
  if (status.ok()) return ::testing::AssertionFailure() << "succeeded, expected \"" << part << '"';
  if (status.code() != code || status.message().find(part) == std::string::npos) {
    return ::testing::AssertionFailure() << name(status.code()) << ": \"" << status.message()
                                         << "\", expected " << name(code) << " with \"" << part << '"';
  }
  return ::testing::AssertionSuccess();
}

template <class Outcome>
::testing::AssertionResult succeeds(const Outcome& outcome) {
  const Status status = status_of(outcome);
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << name(status.code()) << ": " << status.message();
}

}  // namespace rotary::testing

#define EXPECT_FAILS(outcome, code, part) EXPECT_TRUE(::rotary::testing::fails_with(outcome, code, part))
#define EXPECT_SUCCEEDS(outcome) EXPECT_TRUE(::rotary::testing::succeeds(outcome))
#define ASSERT_SUCCEEDS(outcome) ASSERT_TRUE(::rotary::testing::succeeds(outcome))
