"""Where the numbers come from: versions, data, machine, and what each stage cost."""

from __future__ import annotations

from dataclasses import dataclass

from fairgear.report.numbers import megabytes, seconds
from fairgear.report.parts import Part, mapping, number, rows

_NAMES = {
    "version": "fairgear",
    "data_sha256": "data, SHA-256",
    "python": "Python",
    "torch": "PyTorch",
}


@dataclass(frozen=True)
class StageCost:
    """What one stage took; `share` is of all stages' time, in hundredths."""

    name: str
    seconds: str
    share: float
    memory: str


@dataclass(frozen=True)
class Provenance:
    """Everything said about where the numbers come from."""

    stages: tuple[StageCost, ...]
    total: str
    facts: tuple[tuple[str, str], ...]


def provenance_section(run: Part) -> Provenance | None:
    """The section; None where nothing was recorded."""
    found = mapping(run, "provenance")
    if not found:
        return None
    stages = rows(found, "stages")
    spent = [number(stage, "seconds") for stage in stages]
    total = sum(time for time in spent if time is not None)
    return Provenance(
        stages=tuple(
            StageCost(
                name=str(stage.get("stage", "unnamed")),
                seconds=seconds(time),
                share=round(100 * (time or 0.0) / total, 2) if total else 0.0,
                memory=megabytes(number(stage, "peak_memory_mb")),
            )
            for stage, time in zip(stages, spent, strict=True)
        ),
        total=seconds(total),
        facts=tuple(
            # A seed or a thread count is a name more than an amount: no commas.
            (_NAMES.get(key, key.replace("_", " ")), "none" if value is None else str(value))
            for key, value in found.items()
            if key != "stages"
        ),
    )
