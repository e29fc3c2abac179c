"""What the settings of methods on egos have in common. Imports no torch."""

from __future__ import annotations

from fairgear.errors import ParameterError

# People up to which "auto" computes exact egos.
EXACT_UP_TO = 50_000
# Restart probability of the personalised PageRank that picks the members of egos.
ALPHA = 0.15


def ego_precision(egos: str, people: int) -> str:
    """`exact` or `close`, for the setting `egos` and a graph of that many people."""
    if egos != "auto":
        return egos
    return "exact" if people <= EXACT_UP_TO else "close"


def check_micro_batches(count: int, smallest: int, processes: int) -> None:
    """Refuse micro-batches that the processes cannot share evenly, or of a single person.

    Batch norm cannot normalise the latter. `smallest` is the size of the smallest batch.
    """
    if count % processes:
        got, allowed = f"{count} for {processes} processes", f"a multiple of {processes}"
        step = f"use {processes}, or another number of processes"
        raise ParameterError("micro_batches", got, allowed, step)
    if count > 1 and smallest < 2 * count:
        got = f"{count} of batches that may have {smallest} people"
        step = "use fewer micro-batches, or larger batches"
        raise ParameterError("micro_batches", got, "at least two people in each", step)
