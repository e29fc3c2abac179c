"""The processes that share one job: which part is whose, and how the parts come together.

A job of several processes runs the same program in each of them, step for step. Where there is
much to do for many people, each process does it for its share of them and hands the result to
all, so that what follows is again the same everywhere. A job of one process is one whose share is
everything. Who takes part is torch's to know; nothing is kept here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from fairgear import errors
from fairgear.errors import FairgearError, LostRankError

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """This process among those of the job."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def share(self, total: int) -> slice:
        """The part of range(total) that is this process's: consecutive, and as long as others."""
        return slice(self._begin(self.rank, total), self._begin(self.rank + 1, total))

    def gathered(self, own: Tensor, total: int) -> Tensor:
        """The rows of all processes in order, where each has those of its `share(total)`."""
        if self.size == 1 or total == 0:
            return own
        longest = -(-total // self.size)
        # What crosses the network has one length, and no booleans.
        sent = torch.zeros((longest, *own.shape[1:]), dtype=_sent_type(own), device=own.device)
        sent[: len(own)] = own
        parts = [torch.empty_like(sent) for _ in range(self.size)]
        with _noticing():
            dist.all_gather(parts, sent)
        counts = [self._begin(r + 1, total) - self._begin(r, total) for r in range(self.size)]
        rows = [part[:count] for part, count in zip(parts, counts, strict=True)]
        return torch.cat(rows).to(own.dtype)

    def mean_(self, tensors: Sequence[Tensor]) -> None:
        """Put into each tensor its mean over the processes; all are sent as one."""
        if self.size == 1 or not tensors:
            return
        flat = torch.cat([tensor.detach().reshape(-1).double() for tensor in tensors])
        with _noticing():
            dist.all_reduce(flat)
        flat /= self.size
        parts = torch.split(flat, [tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.detach().copy_(part.view(tensor.shape))

    def agreed(self, value: T) -> T:
        """The first process's value, in all of them; it must be one that JSON can hold."""
        if self.size == 1:
            return value
        # No pickles, from the network as little as from a disk.
        content = json.dumps(value if self.first else None).encode()
        length = torch.tensor([len(content)])
        with _noticing():
            dist.broadcast(length, src=0)
            sent = torch.empty(int(length), dtype=torch.uint8)
            if self.first:
                sent.copy_(torch.frombuffer(bytearray(content), dtype=torch.uint8))
            dist.broadcast(sent, src=0)
        found: T = json.loads(bytes(sent.numpy()))
        return value if self.first else found

    def of_first(self, work: Callable[[], T]) -> T:
        """What `work` gives in the first process, the only one to do it, in all of them.

        So is an error that the user can put right: one that the first alone could see would
        leave the others waiting.
        """
        if self.size == 1:
            return work()
        value: Any = None
        error: FairgearError | None = None
        if self.first:
            try:
                value = work()
            except FairgearError as caught:
                error = caught
        value, said = self.agreed([value, None if error is None else _told(error)])
        if said is not None:
            raise error or _heard(said)
        found: T = value
        return found

    def everywhere(self, flag: bool) -> bool:
        """Whether it is so in all processes; a disk need not be the same on all machines."""
        return bool(self.gathered(torch.tensor([flag]), self.size).all())

    def wait(self) -> None:
        """Go on when all are here."""
        if self.size > 1:
            with _noticing():
                dist.barrier()

    def _begin(self, rank: int, total: int) -> int:
        return rank * total // self.size


def ranks() -> Ranks:
    """The job that this process takes part in."""
    if dist.is_available() and dist.is_initialized():
        return Ranks(dist.get_rank(), dist.get_world_size())
    return Ranks()


@contextmanager
def _noticing() -> Iterator[None]:
    """A process that is gone shows as an error of the network; say what it means."""
    try:
        yield
    except RuntimeError as error:
        raise LostRankError(
            "a process of this job",
            "no answer any more",
            "all of them to the end",
            "start the same command again; it goes on from the last checkpoint",
        ) from error


def _sent_type(tensor: Tensor) -> torch.dtype:
    return torch.uint8 if tensor.dtype == torch.bool else tensor.dtype


def _told(error: FairgearError) -> list[str]:
    """An error as words that can be sent."""
    parts = (error.what, error.got, error.allowed, error.next_step)
    return [type(error).__name__, *(str(part) for part in parts)]


def _heard(said: Sequence[str]) -> FairgearError:
    """The error that another process has told of."""
    name, what, got, allowed, next_step = said
    kind: type[FairgearError] = getattr(errors, name, FairgearError)
    return kind(what, got, allowed, next_step)
