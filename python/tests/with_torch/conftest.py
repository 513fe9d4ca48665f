# SPDX-License-Identifier: Apache-2.0
"""Small tensors: a second thread would cost more than it gives, most of all on a machine that others use."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    try:
        import torch
    except ImportError:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
