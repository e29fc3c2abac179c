"""What a first run compiles: every function once, with the seconds of its own."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from benchmarks import compiling
from fairgear.compiled import compiled


def inner(value: int) -> int:
    return value + 1


def test_seconds_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    called = compiled(inner)

    def outer(value: int) -> int:
        return called(value) + 1

    def command(arguments: list[str]) -> None:
        assert arguments == ["run"]
        assert compiled(outer)(1) == 3
        raise SystemExit(0)

    monkeypatch.setattr("fairgear.cli.app.main", command)
    begun = time.process_time()
    seconds, whole = compiling.measured(["run"])
    assert whole <= time.process_time() - begun
    assert {name.rpartition(".")[2] for name in seconds} == {"inner", "outer"}
    assert all(own > 0 for own in seconds.values())
    assert sum(seconds.values()) <= whole
