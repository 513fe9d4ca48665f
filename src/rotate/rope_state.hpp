// SPDX-License-Identifier: Apache-2.0
// The immutable part of a Rope that its copies, plans and turned forms share.
#pragma once

#include <cstdint>
#include <memory>

#include "angles/angle_source.hpp"

namespace rotary::impl {

struct RopeState {
  std::shared_ptr<const AngleSource> source;
  std::int64_t head_dim = 0;
  std::int64_t rotary_offset = 0;
};

}  // namespace rotary::impl
