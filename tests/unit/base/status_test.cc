// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <rotary/status.hpp>

#include "base/checked.hpp"
#include "base/message.hpp"
#include "support/status_matchers.hpp"

namespace rotary {
namespace {

TEST(Status, ValueThrowsTheMessage) {
  const Result<int> failed = impl::invalid("rotary_dim ", 65, ": must be even and at most head_dim ", 128);
  EXPECT_FALSE(failed);
  EXPECT_FAILS(failed, StatusCode::invalid_argument, "rotary_dim 65: must be even and at most head_dim 128");
  try {
    (void)failed.value();
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rotary_dim 65: must be even and at most head_dim 128");
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
  }
  EXPECT_EQ(Result<int>(7).value(), 7);
  EXPECT_NO_THROW(Status().value());
  EXPECT_EQ(name(StatusCode::malformed), "malformed");
}

TEST(Message, NumbersReadBackAndTextStaysText) {
  const std::string word = "word";
  EXPECT_EQ(
      impl::message("literal ", word, ' ', true, ' ', 0.1, ' ', 500000.0, ' ', -3, ' ', 1.0f / 3, ' ', 1e300),
      "literal word true 0.1 500000 -3 0.33333334 1e+300");
}

TEST(Checked, SaysWhenItWouldOverflow) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(impl::checked_add<std::int64_t>(most, 1), std::nullopt);
  EXPECT_EQ(impl::checked_mul<std::int64_t>(most / 2, 3), std::nullopt);
  EXPECT_EQ(impl::checked_mul<std::int64_t>(1 << 20, 1 << 20), std::int64_t{1} << 40);
}

}  // namespace
}  // namespace rotary
