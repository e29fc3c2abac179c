"""One thread for work made of many small steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, torch works on one thread.

    A step that takes microseconds gains nothing from a second one. On a machine that is busy
    with something else it waits for it each time: a loop of seconds was seen to take minutes.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads_for(small_steps: bool) -> AbstractContextManager[None]:
    """One thread where every answer is a small step, as many as there are where it is not."""
    return one_thread() if small_steps else nullcontext()
