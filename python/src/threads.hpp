// SPDX-License-Identifier: Apache-2.0
// Who does the work of a call: the caller's thread, a pool of the module's own, or PyTorch's threads.
#pragma once

#include "common.hpp"

namespace rotary::python {

/// 1: null, the caller's thread. More: a pool of so many, made once and kept. 0: the threads of PyTorch, where its
/// OpenMP is in this process, else a pool of as many as the machine runs at once. ValueError outside [0, 1024].
Executor* threads_of(std::int64_t count);

}  // namespace rotary::python
