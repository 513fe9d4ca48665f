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

// A view cut from what may only be read.
rotary::Status cut(const rotary::Rope& rope, const rotary::Angles& angles, float* out, const float* qkv) {
  return rope.rotate(angles, {rotary::thd(qkv, 2, 3, 4).with_token_stride(20), rotary::thd(out, 2, 3, 4)});
}
