// SPDX-License-Identifier: Apache-2.0
/// @file
/// The version of these headers; CMake reads it from here.
#pragma once

#define ROTARY_VERSION_MAJOR 0
#define ROTARY_VERSION_MINOR 1
#define ROTARY_VERSION_PATCH 0
#define ROTARY_VERSION "0.1.0"
