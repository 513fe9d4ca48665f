// SPDX-License-Identifier: Apache-2.0
/// @file
/// Visibility of the public symbols; everything else in a shared build is hidden.
#pragma once

#if defined(__GNUC__) || defined(__clang__)
#define ROTARY_API __attribute__((visibility("default")))
#else
#define ROTARY_API
#endif
