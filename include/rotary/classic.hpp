// SPDX-License-Identifier: Apache-2.0
/// @file
/// The names people know from published code, as thin wrappers over the core.
#pragma once
