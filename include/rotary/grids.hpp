// SPDX-License-Identifier: Apache-2.0
/// @file
/// Coordinates of the axes of an image or a video, for Positions::grid. A coordinate is a Positions of one row,
/// so range and spaced are two of them already; these are the others that models use.
///
///     range(0, 4)                             0     1     2     3      rows, columns, frames
///     centred_cells(4)                       -2    -1     0     1      Qwen-Image
///     patch_centres(4)                       -0.75 -0.25  0.25  0.75   DINOv3
///     evenly_between(0, 3, 4)                 0     0.75  1.5   2.25   CogVideoX: 4 cells over a base of 3
///     spaced(0, 24.0 / fps, 4)                                         Cosmos: frames at another rate
///     whole_steps(1.5, 4)                     0     1     3     4      Qwen2.5-VL: seconds a frame
#pragma once

#include <cstdint>
#include <rotary/export.hpp>
#include <rotary/positions.hpp>
#include <rotary/status.hpp>
#include <vector>

namespace rotary {

/// As many cells before 0 as from it on; of an odd number one more before: -(n - n / 2) ... n / 2 - 1. Error:
/// cells negative.
ROTARY_API Result<Positions> centred_cells(std::int64_t cells);

/// The middles of n cells of equal size that fill [-1, 1]: (2 i + 1) / n - 1. Error: cells negative.
ROTARY_API Result<Positions> patch_centres(std::int64_t cells);

/// first + i (last - first) / n: n cells of equal size that begin at `first` and end at `last`, each at its
/// beginning. Error: cells negative, a number beyond 2^53.
ROTARY_API Result<Positions> evenly_between(double first, double last, std::int64_t cells);

/// i * step, cut to the whole number towards 0. The product is one of fp32, as Transformers and vLLM compute
/// it. Error: cells negative or more than 2^24, step not finite, a position beyond 2^53.
ROTARY_API Result<Positions> whole_steps(double step, std::int64_t cells);

/// The order in which towers of the Qwen2-VL kind hold the patches of each frame: blocks of block * block
/// patches, row-major, and row-major within a block. For Positions::take on a row-major grid (frames, height,
/// width), or to reorder the patches themselves. Of 2 by 4 patches in blocks of 2:
///
///     row-major   0 1 2 3      tokens in order   0 1 4 5  2 3 6 7
///                 4 5 6 7
///
/// Errors: an extent negative, block under 1 or no divisor of height and width, more than 2^26 runs.
ROTARY_API Result<std::vector<TokenSegment>> block_order(std::int64_t frames, std::int64_t height,
                                                         std::int64_t width, std::int64_t block);

}  // namespace rotary
