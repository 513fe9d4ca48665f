# SPDX-License-Identifier: Apache-2.0
"""Rotary embeddings for PyTorch: registered operators with gradients, modules and functions with the signatures people
know.

    rope = rotary.Rope.from_config(config)
    q, k = rotary.torch.rotate(rope, q, k, positions=position_ids)      # differentiable, compiles

CPU tensors go through the library. Tensors of another device go through the same formula in PyTorch's own operations,
on that device. Angles are never computed in the type of the activations."""

from ._functions import apply_rotary_emb, apply_rotary_pos_emb, cos_sin_of, precompute_freqs_cis
from ._modules import LearnedRotary, RotaryEmbedding
from ._ops import rotate

__all__ = [
    "LearnedRotary",
    "RotaryEmbedding",
    "apply_rotary_emb",
    "apply_rotary_pos_emb",
    "cos_sin_of",
    "precompute_freqs_cis",
    "rotate",
]
