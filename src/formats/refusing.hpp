// SPDX-License-Identifier: Apache-2.0
// How every parser here says no: the file, where in it, what is wrong.
#pragma once

#include <rotary/status.hpp>
#include <string>

#include "base/message.hpp"

namespace rotary::impl {

class Refusing {
 public:
  const Status& status() const noexcept { return status_; }

 protected:
  explicit Refusing(const std::string& origin) : origin_(origin) {}

  template <class... Pieces>
  bool fail_as(StatusCode code, const Pieces&... pieces) {
    status_ = failure(code, origin_, ": ", where_, pieces...);
    return false;
  }
  template <class... Pieces>
  bool fail(const Pieces&... pieces) {
    return fail_as(StatusCode::malformed, pieces...);
  }

  std::string where_;  ///< "key "x": ", while that is read

 private:
  const std::string& origin_;
  Status status_;
};

}  // namespace rotary::impl
