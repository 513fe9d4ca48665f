# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays as PyTorch's tensors and back, bf16 too."""

from __future__ import annotations

import numpy as np
import torch

from .case import DTYPES

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def tensor(array: np.ndarray) -> torch.Tensor:
    """A copy in PyTorch's own memory, which begins with a cache line."""
    if array.dtype == DTYPES["bf16"]:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).clone()
    return torch.from_numpy(array).clone()


def arrays(*tensors: torch.Tensor) -> tuple[np.ndarray, ...]:
    return tuple(t.float().numpy() for t in tensors)
