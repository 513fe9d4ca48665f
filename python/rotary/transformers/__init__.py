# SPDX-License-Identifier: Apache-2.0
"""One line that gives a loaded Hugging Face model the library's rotation, and one that takes it back.

    report = rotary.transformers.accelerate(model)
    print(report)                       # what was replaced, what was left alone and why
    ...
    rotary.transformers.restore(model)

What each function of the model does is not guessed from its name: it is called on small numbers and compared with every
convention of the library, and only what agrees is replaced."""

from ._accelerate import accelerate, restore
from ._tables import Report

__all__ = ["Report", "accelerate", "restore"]
