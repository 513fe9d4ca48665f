// SPDX-License-Identifier: Apache-2.0
/// @file
/// The whole library in one include.
///
///     auto model = rotary::Model::from_path("config.json").value();            // once: what the model says
///     auto rope = model.rope_for_layer(0).value();                             // spectrum, pairing, ...
///     auto angles = rope.angles(rotary::Positions::range(0, tokens)).value();  // once a forward pass
///     rope.rotate(angles, q, k).value();                                       // every layer, in place
#pragma once

#include <rotary/angles.hpp>
#include <rotary/attention.hpp>
#include <rotary/axes.hpp>
#include <rotary/classic.hpp>
#include <rotary/dtype.hpp>
#include <rotary/dual_chunk.hpp>
#include <rotary/executor.hpp>
#include <rotary/fope.hpp>
#include <rotary/formats/gguf.hpp>
#include <rotary/formats/npy.hpp>
#include <rotary/formats/safetensors.hpp>
#include <rotary/grids.hpp>
#include <rotary/kernels.hpp>
#include <rotary/length_rule.hpp>
#include <rotary/model.hpp>
#include <rotary/multimodal.hpp>
#include <rotary/operand.hpp>
#include <rotary/peer.hpp>
#include <rotary/positions.hpp>
#include <rotary/rope.hpp>
#include <rotary/rotate.hpp>
#include <rotary/scaling.hpp>
#include <rotary/shards.hpp>
#include <rotary/spectrum.hpp>
#include <rotary/status.hpp>
#include <rotary/store.hpp>
#include <rotary/temperature.hpp>
#include <rotary/tensor.hpp>
#include <rotary/version.hpp>
