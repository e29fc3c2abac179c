"""Environment variables: whole numbers that torchrun, schedulers and users set."""

from __future__ import annotations

import os

from fairgear.errors import ParameterError

# Those that libraries read when they are loaded, and that would end them.
_THREADS = ("NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
_MOST = 100_000


def whole_number(name: str, low: int, high: int, next_step: str) -> int:
    """The whole number that an environment variable holds; anything else is refused."""
    text = os.environ.get(name)
    if text is not None and text.isascii() and text.isdecimal() and len(text) < 10:
        number = int(text)
        if low <= number <= high:
            return number
    got = "nothing" if text is None else repr(text)
    allowed = f"a whole number from {low} to {high}"
    raise ParameterError(f"environment variable {name}", got, allowed, next_step)


def check_threads() -> None:
    """Refuse numbers of threads that are none, before the libraries that read them are loaded."""
    for name in _THREADS:
        if name in os.environ:
            whole_number(name, 1, _MOST, f"correct it, or unset {name}")
