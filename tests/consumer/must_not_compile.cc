// SPDX-License-Identifier: Apache-2.0
// Rotating in place what may only be read. The test compiles this file twice: with the macro it must fail.
#include <rotary/rotary.hpp>

rotary::Status rotate(const rotary::Rope& rope, const rotary::Angles& angles, float* out, const float* in) {
#ifdef ROTARY_MUST_NOT_COMPILE
  static_cast<void>(out);
  return rope.rotate(angles, rotary::bthd(in, 1, 2, 3, 4));
#else
  return rope.rotate(angles, {rotary::bthd(in, 1, 2, 3, 4), rotary::bthd(out, 1, 2, 3, 4)});
#endif
}
