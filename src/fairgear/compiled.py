"""Compiled functions, and threads to run them on."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

import numba
from numba.core import event

from fairgear.code_cache import CodeCache
from fairgear.progress import bar

F = TypeVar("F", bound=Callable[..., object])


@cache
def _sources(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def compiled(function: F) -> F:
    """`function` as machine code that is kept on disk and leaves other threads free to run.

    All files of its folder count as its source, and those of no other: compiled functions call
    only those of their own folder. `code_cache` says where it is kept, and what is loaded.
    """
    dispatcher = numba.njit(nogil=True, error_model="numpy")(function)
    if hasattr(dispatcher, "_cache") and function.__closure__ is None:
        sources = _sources(Path(inspect.getfile(function)).parent)
        dispatcher._cache = CodeCache(function, sources)
    # Else a numba that keeps things otherwise, or keeps nothing: better slow to start than wrong.
    return cast(F, dispatcher)


class _Compiling(event.Listener):  # type: ignore[misc]  # numba has no types
    """Says what the first run of a version waits for."""

    def __init__(self) -> None:
        # Compiling is done under a lock of numba's, one function within another.
        self._depth, self._shown = 0, ExitStack()

    def on_start(self, event: event.Event) -> None:
        if not self._depth:
            self._shown.enter_context(bar("compiling, once per version", total=1))
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if not self._depth:
            self._shown.close()


event.register("numba:compile", _Compiling())


def threads() -> int:
    """How many threads to use: one a core, or NUMBA_NUM_THREADS."""
    return int(numba.config.NUMBA_NUM_THREADS)


def limit_threads(count: int) -> None:
    """Let `in_chunks` use at most so many threads in this process."""
    # Not numba.set_num_threads, which starts numba's own pool and gives torch as many threads.
    numba.config.NUMBA_NUM_THREADS = min(threads(), max(1, count))


def in_chunks(work: Callable[[int, int], None], total: int, chunk: int, description: str) -> None:
    """Call work(start, stop) for consecutive chunks of range(total) on all cores.

    Plain threads, which compiled code does not block, take the place of numba's own pool: a free
    thread takes the next chunk, so that a hub delays nobody; several callers may run at once; and
    no pool outlives the call, which is what breaks forked children.
    """
    starts = range(0, total, chunk)
    if len(starts) <= 1:
        work(0, total)
        return
    with (
        bar(description, total) as shown,
        ThreadPoolExecutor(min(threads(), len(starts))) as pool,
    ):
        sizes = {
            pool.submit(work, start, min(start + chunk, total)): min(chunk, total - start)
            for start in starts
        }
        try:
            for done in as_completed(sizes):
                done.result()
                shown.advance(sizes[done])
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
