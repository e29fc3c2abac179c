from __future__ import annotations

import torch

from fairgear.auditing.adapters.base import one_thread


def test_the_threads_come_back() -> None:
    torch.set_num_threads(2)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
            raise KeyError
    except KeyError:
        assert torch.get_num_threads() == 2
