"""A model that reads the table as people have it, asked as a function, a command and a folder."""

from __future__ import annotations

import csv
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.auditing import Audit, CommandAdapter, FolderAdapter, Worlds, audit, export_worlds
from fairgear.graph import from_tables

PROGRAM = """
import csv, sys

JOBS = {"clerk": 0.3, "driver": 0.1, "engineer": 0.35, "nurse": 0.2, "teacher": 0.4}
with open(sys.argv[1] + "/nodes.csv") as file:
    people = {row["node_id"]: row for row in csv.DictReader(file)}
known = {person: [] for person in people}
with open(sys.argv[1] + "/edges.csv") as file:
    for row in csv.DictReader(file):
        known[row["source"]].append(row["target"])
        known[row["target"]].append(row["source"])
with open(sys.argv[2], "w") as file:
    file.write("node_id,score\\n")
    for person, row in people.items():
        near = [people[other]["sex"] == "male" for other in known[person]]
        score = JOBS[row["job"]] + 0.3 * (row["sex"] == "male")
        score += 0.6 * sum(near) / max(1, len(near))
        file.write("%s,%.6f\\n" % (person, min(score, 1)))
"""
JOBS = {"clerk": 0.3, "driver": 0.1, "engineer": 0.35, "nurse": 0.2, "teacher": 0.4}


def score(graph: SensitiveGraph) -> Tensor:
    """The same from features: of the columns of a job, the largest counts."""
    names = graph.feature_names
    jobs = graph.x[:, [names.index(f"job={job}") for job in JOBS]]
    own = torch.tensor(list(JOBS.values()), dtype=torch.float64)[jobs.argmax(dim=1)]
    source, target = graph.edge_index
    total = torch.zeros(len(own), dtype=torch.float64)
    total.index_add_(0, source, graph.sens[target].double())
    degree = torch.bincount(source, minlength=len(own)).clamp(min=1)
    found = (own + 0.3 * graph.sens + 0.6 * total / degree).clamp(max=1)
    # Rounded, as the program writes it: people who are alike must tie.
    return found.mul(1e6).round() / 1e6


@pytest.fixture(scope="module")
def worlds() -> Worlds:
    table = pd.read_csv("examples/people.csv")
    ids, rng = table["id"].to_numpy(), np.random.default_rng(0)
    friends = pd.DataFrame(ids[rng.integers(0, len(ids), (900, 2))], columns=["a", "b"])
    graph = from_tables(table, friends, label="approved", sensitive="sex")
    assert set(JOBS) == set(table["job"])
    return Worlds(graph, draws=2)


def audited(worlds: Worlds, model: object) -> Audit:
    few: dict[str, Any] = {"self_people": 3, "affected_people": 0, "other_causal_models": False}
    return audit(model, worlds, nodes=torch.arange(60), threshold=0.5501, **few)


@pytest.fixture(scope="module")
def by_function(worlds: Worlds) -> Audit:
    return audited(worlds, score)


def command(folder: Path) -> str:
    (folder / "program.py").write_text(PROGRAM)
    return shlex.join([sys.executable, "-I", "-S", str(folder / "program.py")])


def test_a_command_gives_what_the_function_gives(
    worlds: Worlds, by_function: Audit, tmp_path: Path
) -> None:
    found = audited(worlds, CommandAdapter(f"{command(tmp_path)} {{graph}} {{scores}}"))
    same(found, by_function)
    assert any("were rounded to values that somebody could have" in one for one in found.notes)
    assert not any("were rounded" in one for one in by_function.notes)


def test_so_does_a_folder(worlds: Worlds, by_function: Audit, tmp_path: Path) -> None:
    key = export_worlds(worlds, tmp_path, nodes=torch.arange(60), self_people=3)
    program: dict[str, Any] = {"__name__": "program"}
    for entry in key.worlds:
        argv = ["program", str(tmp_path / entry.path), str(tmp_path / entry.scores)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", argv)
            exec(compile(PROGRAM, "program", "exec"), dict(program))
    found = audited(worlds, FolderAdapter(tmp_path))
    same(found, by_function)
    assert any("were rounded to values that somebody could have" in one for one in found.notes)
    readme = (tmp_path / "for-scoring" / "README.txt").read_text()
    assert "people (node_id, node_name, sex, their other columns)" in readme
    assert "words, and numbers in its units" in readme


def test_the_model_is_worth_asking(by_function: Audit) -> None:
    """Otherwise the above could hold for a constant."""
    assert 0 < by_function.metrics["delta_cf"] < 1
    assert by_function.metrics["delta_cf_neighbor"] > 0


def test_the_real_graph_is_the_file(worlds: Worlds, tmp_path: Path) -> None:
    key = export_worlds(worlds, tmp_path, nodes=torch.arange(60), self_people=0)
    (factual,) = [tmp_path / one.path for one in key.worlds if one.protocol == "factual"]
    with (factual / "nodes.csv").open() as file:
        written = list(csv.DictReader(file))
    with Path("examples/people.csv").open() as file:
        given = list(csv.DictReader(file))
    for row, person in zip(written, given, strict=True):
        assert row.pop("node_name") == person.pop("id")
        del row["node_id"], person["approved"]
        assert row == person


def same(found: Audit, other: Audit) -> None:
    assert found.metrics == pytest.approx(other.metrics, abs=1e-12, nan_ok=True)
    for before, after in zip(other.flips, found.flips, strict=True):
        assert (after.key, after.rate, after.interval) == (before.key, before.rate, before.interval)
    for name in map(str, other.people):
        if name.startswith(("score", "flip", "label")):
            np.testing.assert_allclose(found.people[name], other.people[name], atol=1e-6)
