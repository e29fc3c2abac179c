"""What a command leaves of people is their owner's to read, whatever the umask allows."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairgear.cli import main
from fairgear.graph.stored import write_stored
from tests.graphs import random_graph
from tests.hostile.faults import tiny_inputs, tiny_run

# Counts, settings and hashes: of nobody alone.
OPEN = {"config.yaml", "model-card.md", "SHA256SUMS", "model.json", "README.txt", "meta.json"}
OPEN |= {"ll144.md", "ll144.csv"}


@pytest.fixture(autouse=True)
def readable_by_all() -> Iterator[None]:
    """New files would be readable by all, and folders open to all."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in files(folder)}


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def check(folder: Path, *expected: str) -> None:
    found = modes(folder)
    assert set(expected) <= set(found)
    for name, mode in found.items():
        assert mode == (0o644 if name in OPEN else 0o600), name


def test_runs_and_audits(tmp_path: Path) -> None:
    tiny_inputs(tmp_path)
    run, out = tmp_path / "run", tmp_path / "audit"
    assert tiny_run(tmp_path, run)[0] == 0
    people = ("people.csv", "people.parquet", "predictions.parquet", "audit.json", "report.html")
    check(run, *people, "weights.safetensors", "encoding.json", *(OPEN & {"config.yaml"}))
    typed = ["audit", str(run), "--self-people", "3", "--no-other-causal-models"]
    assert main([*typed, "--what-if-people", "1", "--format", "ll144", "--out", str(out)]) == 0
    check(out, *people[:2], *people[3:], "ll144.md")
    z = tmp_path / "embedded"
    for name in ("z.npy", "z.parquet"):
        assert main(["embed", str(run / "model"), str(tmp_path / "p.csv"), "--edges",
                     str(tmp_path / "f.csv"), "--sensitive", "sex", "--drop", "approved",
                     "--out", str(z / name)]) == 0  # fmt: skip
    check(z, "z.npy", "z.parquet")


def test_exported_worlds_and_stored_graphs(tmp_path: Path) -> None:
    out = tmp_path / "worlds"
    typed = ["audit", "export", "synthetic", "--self-people", "1", "--no-other-causal-models"]
    assert main([*typed, "--draws", "1", "--nodes", "test", "--out", str(out)]) == 0
    check(out, "key.json", "nodes.csv", "edges.csv")
    write_stored(random_graph(), tmp_path / "stored")
    assert stat.S_IMODE((tmp_path / "stored").stat().st_mode) == 0o700
