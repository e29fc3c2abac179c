"""Several processes that share one job, started by torchrun.

All processes run the same program, step for step. Where there is work for many people, each
process does it for its share and gathers the results of all, so that every process goes on with
the same state. A single process is a job of one whose share is everything. torch.distributed
knows who takes part; this module keeps no state.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import Store
from torch.distributed.rendezvous import rendezvous

from fairgear import errors
from fairgear.compiled import limit_threads, threads
from fairgear.environment import whole_number
from fairgear.errors import FairgearError, LostRankError, ParameterError, UnfinishedError
from fairgear.files import written_elsewhere
from fairgear.progress import quiet

T = TypeVar("T")

# A process may wait this long for one that is busy. One that has died is noticed at once, since
# its connections close.
TIMEOUT = timedelta(minutes=10)
_MOST_PROCESSES = 100_000


def rank() -> int:
    """The number of this process; rank 0 writes and prints."""
    return dist.get_rank() if _is_joined() else 0


def size() -> int:
    """The number of processes."""
    return dist.get_world_size() if _is_joined() else 1


def share(total: int) -> slice:
    """This process's part of range(total): consecutive parts, equal up to one."""
    return _share(rank(), size(), total)


def all_gather(own: Tensor, total: int) -> Tensor:
    """The rows of all processes in order, where each has those of its `share(total)`."""
    count = size()
    if count == 1 or total == 0:
        return own
    # All send the same length. gloo sends no booleans.
    sent_type = torch.uint8 if own.dtype == torch.bool else own.dtype
    sent = torch.zeros((-(-total // count), *own.shape[1:]), dtype=sent_type, device=own.device)
    sent[: len(own)] = own
    parts = [torch.empty_like(sent) for _ in range(count)]
    with _lost_rank():
        dist.all_gather(parts, sent)
    shares = [_share(number, count, total) for number in range(count)]
    rows = [part[: s.stop - s.start] for part, s in zip(parts, shares, strict=True)]
    return torch.cat(rows).to(own.dtype)


def all_mean(tensors: Sequence[Tensor]) -> None:
    """Replace each tensor by its mean over the processes; all are sent as one."""
    if size() == 1 or not tensors:
        return
    flat = torch.cat([tensor.detach().reshape(-1).double() for tensor in tensors])
    with _lost_rank():
        dist.all_reduce(flat)
    flat /= size()
    parts = torch.split(flat, [tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.detach().copy_(part.view(tensor.shape))


def broadcast(value: T) -> T:
    """Rank 0's value, in all processes; JSON must be able to hold it."""
    if size() == 1:
        return value
    # JSON, since nothing is unpickled: neither from a disk nor from the network.
    content = json.dumps(value if rank() == 0 else None).encode()
    length = torch.tensor([len(content)])
    with _lost_rank():
        dist.broadcast(length, src=0)
        sent = torch.empty(int(length), dtype=torch.uint8)
        if rank() == 0:
            sent.copy_(torch.frombuffer(bytearray(content), dtype=torch.uint8))
        dist.broadcast(sent, src=0)
    found: T = json.loads(bytes(sent.numpy()))
    return value if rank() == 0 else found


def on_rank0(work: Callable[[], T]) -> T:
    """Call `work` on rank 0 alone; all processes get its result, or its `FairgearError`."""
    if size() == 1:
        return work()
    value: Any = None
    error: FairgearError | None = None
    if rank() == 0:
        try:
            value = work()
        except FairgearError as caught:
            error = caught
    value, sent = broadcast([value, None if error is None else _to_json(error)])
    if sent is not None:
        raise error or _from_json(sent)
    found: T = value
    return found


def all_true(flag: bool) -> bool:
    """Whether it is true in all processes."""
    return bool(all_gather(torch.tensor([flag]), size()).all())


def barrier() -> None:
    """Wait until all processes are here."""
    if size() > 1:
        with _lost_rank():
            dist.barrier()


@contextmanager
def process_group(device: str) -> Iterator[None]:
    """Inside, this process shares the work with the others that torchrun started.

    Only rank 0 writes and prints; the first process to fail prints the error. Without torchrun
    nothing changes.

    Args:
        device: "cpu", or "auto" and "cuda", which give each process a GPU of its own.
    """
    if not dist.is_torchelastic_launched():
        yield
        return
    job = _Job.of_environment()
    if job.world_size == 1:
        yield
        return
    store = _join(device, job)
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        with ExitStack() as stack:
            if rank() > 0:
                stack.enter_context(quiet())
                stack.enter_context(written_elsewhere())
                nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
                stack.enter_context(redirect_stdout(nowhere))
            yield
    except (FairgearError, KeyboardInterrupt) as error:
        if _already_failed(store):
            # Another process has printed the same.
            lost = isinstance(error, LostRankError | UnfinishedError | KeyboardInterrupt)
            raise SystemExit(1 if lost else 2) from error
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
    # Not after an error: the group would wait for processes that have ended.
    dist.destroy_process_group()


@dataclass(frozen=True)
class _Job:
    """What torchrun says of this process; its environment variables, checked."""

    world_size: int
    rank: int
    local_world_size: int
    local_rank: int

    @classmethod
    def of_environment(cls) -> _Job:
        count = _whole("WORLD_SIZE", 1, _MOST_PROCESSES)
        number = _whole("RANK", 0, count - 1)
        local = _whole("LOCAL_WORLD_SIZE", 1, count)
        _whole("MASTER_PORT", 0, 2**16 - 1)
        return cls(count, number, local, _whole("LOCAL_RANK", 0, local - 1))


def _whole(name: str, low: int, high: int) -> int:
    step = "start the command with torchrun, which sets it, or unset TORCHELASTIC_RUN_ID"
    return whole_number(name, low, high, step)


def _join(device: str, job: _Job) -> Store:
    local_size = job.local_world_size
    gpus = 0 if device == "cpu" else torch.cuda.device_count()
    on_gpu = device == "cuda" or gpus > 0
    if on_gpu and local_size > gpus:
        raise ParameterError(
            "--nproc-per-node of torchrun",
            local_size,
            f"at most {gpus}, the GPUs of this machine",
            "start fewer processes, or use --device cpu",
        )
    if on_gpu:
        torch.cuda.set_device(job.local_rank)
    # torchrun limits OpenMP only.
    if "NUMBA_NUM_THREADS" not in os.environ:
        limit_threads(threads() // local_size)
    # Values on the CPU, such as what rank 0 has decided, are sent by gloo in any case.
    backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
    try:
        store, number, count = next(rendezvous("env://", timeout=TIMEOUT))
        dist.init_process_group(
            backend, store=store, rank=number, world_size=count, timeout=TIMEOUT
        )
    except (RuntimeError, ValueError) as error:
        raise ParameterError(
            "joining the other processes",
            (str(error).splitlines() or [type(error).__name__])[0],
            f"{job.world_size} processes that meet within {TIMEOUT}",
            "check torchrun's --rdzv-endpoint, and that it runs on every machine",
        ) from error
    found: Store = store
    return found


def _already_failed(store: Store) -> bool:
    try:
        return int(store.add("fairgear/failed", 1)) > 1
    except RuntimeError:
        return False


def _terminated(*_: object) -> NoReturn:
    """SIGTERM: torchrun ends the other processes when one has failed."""
    raise _lost()


def _is_joined() -> bool:
    return dist.is_available() and dist.is_initialized()


def _share(number: int, count: int, total: int) -> slice:
    return slice(number * total // count, (number + 1) * total // count)


@contextmanager
def _lost_rank() -> Iterator[None]:
    """A process that has died shows as an error of the network."""
    try:
        yield
    except RuntimeError as error:
        raise _lost() from error


def _lost() -> LostRankError:
    return LostRankError(
        "a process of this job",
        "no answer",
        "all processes running until the end",
        "start the same command again; it continues from the last checkpoint",
    )


def _to_json(error: FairgearError) -> list[str]:
    parts = (error.what, error.got, error.allowed, error.next_step)
    return [type(error).__name__, *(str(part) for part in parts)]


def _from_json(sent: Sequence[str]) -> FairgearError:
    name, what, got, allowed, next_step = sent
    kind: type[FairgearError] = getattr(errors, name, FairgearError)
    return kind(what, got, allowed, next_step)
