"""What the tests of `fairgear audit` type, what they type it about, and what it leaves."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from fairgear.cli import main

FILES = {"audit.json", "people.parquet", "people.csv", "report.html", "model-card.md", "SHA256SUMS"}
# Little to do: one draw, two people alone, two one by one, no other causal model.
# What a quick audit or run does not measure.
UNUSUAL = [f"delta_cf_{which}" for which in ("min", "max", "any", "all", "released")]
QUICK = ["--draws", "1", "--self-people", "2", "--what-if-people", "2", "--no-other-causal-models"]
COLUMNS = ["--label", "approved", "--sensitive", "sex"]
OWN = ["people.csv", *COLUMNS, "--edges", "friends.csv"]

MODELS = """
import torch

def features(graph):
    return torch.sigmoid(graph.x.double().sum(dim=1))

def copies(graph):
    return 0.1 + 0.8 * graph.sens.double()

def constant(graph):
    return torch.full((len(graph.x),), 0.7)

def logits(graph):
    return 9 * graph.x.double().sum(dim=1)

def short(graph):
    return constant(graph)[1:]

def missing(graph):
    return torch.where(torch.arange(len(graph.x)) % 9 > 0, 0.7, torch.nan)

def talks(graph):
    print("asked")
    return constant(graph)

def raises(graph):
    raise RuntimeError("it broke\\nhere")

def later(graph):
    if graph.sens.min() == graph.sens.max():
        raise RuntimeError("never seen")
    return constant(graph)

number = 3
"""

PROGRAM = """
import csv, math, sys, time

kind, graph = sys.argv[1:3]
if kind == "hangs":
    time.sleep(60)
if kind == "rubbish":
    print("Loading the model ...")
    sys.exit()
if kind == "fails":
    sys.exit("no weights")
with open(graph + "/nodes.csv") as file:
    rows = list(csv.reader(file))[1:]
if kind == "missing":
    rows = rows[:100]
with open(sys.argv[3], "w") as file:
    file.write("node_id,score\\n")
    for row in rows:
        total = sum(float(cell) for cell in row[1:])
        file.write("%s,%r\\n" % (row[0], 1 / (1 + math.exp(-total))))
"""


def command(kind: str) -> str:
    words = [sys.executable, "-I", "-S", "program.py", kind]
    return shlex.join(words) + " {graph} {scores}"


def audit(*typed: str, out: Path | str) -> int:
    return main(["audit", *typed, "--out", str(out)])


def results(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "audit.json").read_text())
    return found


def refused(capsys: pytest.CaptureFixture[str], said: str) -> None:
    """One line of ours, the last on stderr, and nothing on stdout."""
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert [line for line in lines if line.startswith("fairgear: ")] == lines[-1:]
    assert said in lines[-1]
    assert "Next:" in lines[-1]
    assert "Traceback" not in captured.err
